"""A recorded head for an attention unit: its tensors, and the results that are expected."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "axis" / "cocotb_tests"))
from formats import encode, vector_bytes  # noqa: E402


def parser(text):
    """The parser of the arguments that all benches of units have."""
    command = argparse.ArgumentParser(description=text)
    command.add_argument("--flashd", required=True, nargs="+", help="the executable, and words between it and the command")
    command.add_argument("--manifest", required=True, type=Path, help="the unit's .json; its other files are beside it")
    command.add_argument("--head", required=True, help="what the names of the .npy files begin with")
    command.add_argument("--work", required=True, type=Path, help="folder to build in")
    command.add_argument("--tokens", type=int, default=23, help="tokens of the head that are used")
    return command


def expected_of_unit(options, manifest, causal):
    """The results of the unit, whose job has SCALE, from `flashd simulate`."""
    config, file, result = options.work / "unit.json", options.work / "job.json", options.work / f"o{int(causal)}.npy"
    config.write_text(json.dumps(manifest["configuration"]))
    for name in "qkv":
        np.save(options.work / f"{name}.npy", np.load(f"{options.head}-{name}.npy")[: options.tokens])
    file.write_text(json.dumps({"tensors": {name: f"{name}.npy" for name in "qkv"}, "flags": ["causal"] if causal else []}))
    command = [*options.flashd, "simulate", "--config", config, "--job", file, "--tensor-scale", "none", "--o", result]
    subprocess.run([str(x) for x in command], check=True, stdout=subprocess.DEVNULL)
    return np.load(result)[0]


def expected(options, manifest, causal):
    """The results of the array, from `flashd simulate`."""
    block = manifest["configuration"]["block"]
    if block["core"].get("q_scales") == "row-q16":
        return expected_of_unit(options, manifest, causal)
    config, result = options.work / "core.json", options.work / f"o{int(causal)}.npy"
    config.write_text(json.dumps(block["core"]))
    command = [*options.flashd, "simulate", "--config", config, "--queries", block["queries"], "--tensor-scale", "none"]
    command += ["--first-queries", options.tokens, "--first-keys", options.tokens, "--o", result]
    command += [x for name in "qkv" for x in (f"--{name}", f"{options.head}-{name}.npy")]
    command += ["--causal"] if causal else []
    subprocess.run([str(x) for x in command], check=True, stdout=subprocess.DEVNULL)
    return np.load(result)


def header(options, manifest):
    """Writes `head.h`: rows of q, k, v and of the results, of all keys and of causal attention, as the unit has them in memory."""
    tensors = {f"head_{name}": np.load(f"{options.head}-{name}.npy")[: options.tokens] for name in "qkv"}
    tensors |= {"head_o": expected(options, manifest, False), "head_o_causal": expected(options, manifest, True)}
    form = manifest["configuration"]["block"]["core"]["format"]
    lines = ["#include <stdint.h>", f"#define HEAD_TOKENS {options.tokens}u"]
    for name, tensor in tensors.items():
        rows = b"".join(vector_bytes(encode(row, form), form) for row in tensor)
        lines.append(f"static const uint8_t {name}[{len(rows)}] = {{{','.join(map(str, rows))}}};")
    (options.work / "head.h").write_text("\n".join(lines) + "\n")
