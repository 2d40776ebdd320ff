"""A language model with the hardware's attention: its perplexity and text against f32, and its error by layer and head.

    python errors_by_head.py [MODEL] [--text FILE] [--design D] [--format F] [--tokens N] [--png FILE]

MODEL is a name or folder that transformers reads; without it, a small Llama with random weights on bytes, which shows that everything works
and nothing about a trained model. Needs torch and transformers; --png needs matplotlib.
"""

# %% Parameters

import argparse
import math

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

import flashd.torch

parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("model", nargs="?")
parser.add_argument("--text", help="file with the text (default: this script)")
parser.add_argument("--design", default="flash-d")
parser.add_argument("--format", default="bf16")
parser.add_argument("--tokens", type=int, default=128)
parser.add_argument("--png")
options = parser.parse_args()
with open(options.text or __file__, encoding="utf-8") as file:
    text = file.read()

# %% The model, twice: with PyTorch's attention, and with the hardware's

hardware = flashd.torch.register("hardware", options.design, options.format, record=True)
if options.model:
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    tokens = tokenizer(text, return_tensors="pt").input_ids
    decode = tokenizer.decode
    exact = AutoModelForCausalLM.from_pretrained(options.model, attn_implementation="sdpa", torch_dtype=torch.float32)
else:
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=256, hidden_size=128, intermediate_size=256, num_hidden_layers=4, num_attention_heads=8,
                         num_key_value_heads=4, max_position_embeddings=1024)
    exact = LlamaForCausalLM(config)
    # Larger than they begin, so that attention has something to choose from.
    with torch.no_grad():
        for name, weight in exact.named_parameters():
            if "q_proj" in name or "k_proj" in name:
                weight.mul_(12)
    exact.set_attn_implementation("sdpa")
    tokens = torch.tensor([list(text.encode())])
    decode = lambda ids: bytes(ids).decode(errors="replace")  # noqa: E731
exact.eval()
tokens = tokens[:, : options.tokens]


def measure(model, implementation):
    """Perplexity, and the tokens that the model goes on with."""
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        loss = model(input_ids=tokens, labels=tokens).loss.item()
        logits = model(input_ids=tokens).logits
        more = model.generate(tokens[:, :16], max_new_tokens=16, do_sample=False, pad_token_id=0)
    return math.exp(loss), logits, more[0, 16:].tolist()


perplexity, logits, more = measure(exact, "sdpa")
own_perplexity, own_logits, own_more = measure(exact, "hardware")
print(f"perplexity    f32 {perplexity:.4f}, {hardware.core(64).name} {own_perplexity:.4f}")
print(f"logits        largest difference {(logits - own_logits).abs().max():.4f} of {logits.abs().max():.2f}")
print(f"greedy text   {'the same' if more == own_more else 'differs'}: {decode(more)!r}, {decode(own_more)!r}")

# %% Errors by layer and head

totals = {}
for record in hardware.records:
    # Whole sequences, not single tokens.
    if record["queries"] > 1:
        totals.setdefault((record["layer"], record["head"]), []).append(record["mean_error"])
layers, heads = (1 + max(place[i] for place in totals) for i in (0, 1))
table = [[sum(totals[layer, head]) / len(totals[layer, head]) for head in range(heads)] for layer in range(layers)]
print("\nmean error, % of max|v|: a row for each layer, a column for each head")
for layer, row in enumerate(table):
    print(f"{layer:3} " + " ".join(f"{100 * error:7.4f}" for error in row))
if options.png:
    import matplotlib.pyplot as plt

    plt.imshow([[100 * error for error in row] for row in table], cmap="viridis")
    plt.colorbar(label="mean error, % of max|v|")
    plt.xlabel("head"), plt.ylabel("layer"), plt.title(hardware.core(64).name)
    plt.savefig(options.png, dpi=150, bbox_inches="tight")
