#!/usr/bin/env python3
"""Writes Q, K and V of a model, after the rotary embedding, as a folder of heads that all commands with --data read.

    scripts/dump-attention.py MODEL FOLDER < TEXT
    scripts/dump-attention.py --random FOLDER < TEXT

MODEL is a causal language model that transformers reads; --random stands for a small Llama with random weights, on bytes, that needs
nothing from outside. Grouped keys and values are kept as they are. Needs torch, transformers and safetensors.
"""

import argparse
import json
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", nargs="?", help="name or folder of the model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--random", action="store_true", help="a small Llama with random weights in place of a model")
    options = parser.parse_args()
    if options.random == bool(options.model):
        parser.error("give a model, or --random")

    import torch
    from safetensors.torch import save_file
    from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    # Names of models end at the first dash.
    name = "random" if options.random else options.model.rstrip("/").split("/")[-1].replace("-", "_")
    options.folder.mkdir(parents=True, exist_ok=True)
    meta = []

    def dump(module, q, k, v, mask, **settings):
        """q is [1, heads, N, d], k and v are [1, key heads, N, d]."""
        file = f"{name}-layer{module.layer_idx:02}"
        tensors = {entry: tensor.float().contiguous() for entry, tensor in zip("qkv", (q, k, v))}
        save_file(tensors, options.folder / f"{file}.safetensors")
        meta.append({"file": file, "model": name, "causal": True, "N": k.shape[2], "d": q.shape[3]})
        return sdpa_attention_forward(module, q, k, v, mask, **settings)

    AttentionInterface.register("dump", dump)
    AttentionMaskInterface.register("dump", sdpa_mask)
    text = sys.stdin.read()
    if options.random:
        torch.manual_seed(1)
        config = LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                             num_key_value_heads=2)
        model = LlamaForCausalLM(config)
        model.set_attn_implementation("dump")
        inputs = {"input_ids": torch.tensor([list(text.encode())])}
    else:
        model = AutoModelForCausalLM.from_pretrained(options.model, attn_implementation="dump")
        inputs = AutoTokenizer.from_pretrained(options.model)(text, return_tensors="pt")
    with torch.no_grad():
        model.eval()(**inputs)
    # Last: a folder with it is whole.
    (options.folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


main()
