#!/usr/bin/env python3
"""Runs the cocotb tests of one attention unit under Icarus or Verilator.

    run.py --flashd FLASHD --manifest NAME.json --head PREFIX --work DIR [--simulator icarus] [--tokens N] [--seed N]

PREFIX-q.npy, -k.npy and -v.npy hold the data; `flashd simulate` says what is expected: of the array, or of the unit if the factor of scores is its job's.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent


def expected_of_unit(options, manifest, tensors, causal):
    """The results of the unit, whose job has SCALE, from `flashd simulate`."""
    config, file, result = options.work / "unit.json", options.work / "job.json", options.work / f"o{int(causal)}.npy"
    config.write_text(json.dumps(manifest["configuration"]))
    for name, tensor in tensors.items():
        np.save(options.work / f"{name}.npy", tensor)
    file.write_text(json.dumps({"tensors": {name: f"{name}.npy" for name in tensors}, "flags": ["causal"] if causal else []}))
    command = [*options.flashd, "simulate", "--config", config, "--job", file, "--tensor-scale", "none", "--o", result]
    subprocess.run([str(x) for x in command], check=True, stdout=subprocess.DEVNULL)
    return np.load(result)[0]


def expected(options, manifest, tensors, causal):
    """The results of the array, from `flashd simulate`."""
    block = manifest["configuration"]["block"]
    if block["core"].get("q_scales") == "row-q16":
        return expected_of_unit(options, manifest, tensors, causal)
    config, result = options.work / "core.json", options.work / f"o{int(causal)}.npy"
    config.write_text(json.dumps(block["core"]))
    command = [*options.flashd, "simulate", "--config", config, "--queries", block["queries"], "--tensor-scale", "none"]
    command += ["--first-queries", options.tokens, "--first-keys", options.tokens, "--o", result]
    command += [x for name in "qkv" for x in (f"--{name}", f"{options.head}-{name}.npy")]
    command += ["--causal"] if causal else []
    subprocess.run([str(x) for x in command], check=True, stdout=subprocess.DEVNULL)
    return np.load(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--flashd", required=True, nargs="+", help="the executable, and words between it and the command")
    parser.add_argument("--manifest", required=True, type=Path, help="the unit's .json; its .v is beside it")
    parser.add_argument("--head", required=True, help="what the names of the .npy files begin with")
    parser.add_argument("--work", required=True, type=Path, help="folder to build in")
    parser.add_argument("--simulator", choices=["icarus", "verilator"], default="icarus", help="the simulator")
    parser.add_argument("--tokens", type=int, default=23, help="tokens of the head that are used")
    parser.add_argument("--seed", type=int, default=1, help="seed of pauses and of data in memory")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    manifest = json.loads(options.manifest.read_text())
    tensors = {name: np.load(f"{options.head}-{name}.npy")[: options.tokens] for name in "qkv"}
    data = options.work / "data.npz"
    np.savez(data, o=expected(options, manifest, tensors, False), causal=expected(options, manifest, tensors, True), **tensors)

    runner = get_runner(options.simulator)
    arguments = {"icarus": ["-g2005"], "verilator": ["-Wno-fatal", "--no-timing", "-O3"]}
    runner.build(
        sources=[options.manifest.with_suffix(".v").resolve()],
        hdl_toplevel=manifest["name"],
        build_args=arguments[options.simulator],
        build_dir=options.work / "build",
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        hdl_toplevel=manifest["name"],
        test_module="test_unit",
        build_dir=options.work / "build",
        test_dir=options.work.resolve(),
        extra_env={
            "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "UNIT_MANIFEST": str(options.manifest.resolve()),
            "UNIT_DATA": str(data.resolve()),
            "UNIT_SEED": str(options.seed),
        },
    )
    tests, failed = get_results(results)
    print(f"cocotb: {tests - failed} of {tests} tests passed")
    sys.exit(0 if tests and not failed else 1)


if __name__ == "__main__":
    main()
