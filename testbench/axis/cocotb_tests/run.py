#!/usr/bin/env python3
"""Runs the cocotb tests of one stream wrapper under Icarus.

    run.py --flashd FLASHD --manifest NAME.json --head PREFIX --work DIR [--queries N] [--keys N] [--causal] [--seed N]

PREFIX-q.npy, -k.npy and -v.npy hold the data; `flashd simulate` says what is expected.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--flashd", required=True, nargs="+", help="the executable, and words between it and the command")
    parser.add_argument("--manifest", required=True, type=Path, help="the wrapper's .json; its .v is beside it")
    parser.add_argument("--head", required=True, help="what the names of the .npy files begin with")
    parser.add_argument("--work", required=True, type=Path, help="folder to build in")
    parser.add_argument("--queries", type=int, default=8, help="queries of the head that are used")
    parser.add_argument("--keys", type=int, default=12, help="keys of the head that are used")
    parser.add_argument("--causal", action="store_true", help="causal masks")
    parser.add_argument("--seed", type=int, default=1, help="seed of the pauses and latencies")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    manifest = json.loads(options.manifest.read_text())
    block = manifest["configuration"]["block"]
    config, vectors, result, data = (options.work / n for n in ("core.json", "core.vec", "o.npy", "data.npz"))
    config.write_text(json.dumps(block["core"]))
    heads = {name: f"{options.head}-{name}.npy" for name in "qkv"}
    command = [*options.flashd, "simulate", "--config", config, "--queries", block["queries"], "--tensor-scale", "none"]
    command += ["--first-queries", options.queries, "--first-keys", options.keys, "--vectors", vectors, "--o", result]
    command += [x for name, file in heads.items() for x in (f"--{name}", file)]
    command += ["--causal"] if options.causal else []
    subprocess.run([str(x) for x in command], check=True, stdout=subprocess.DEVNULL)
    q, k, v = (np.load(heads[name]) for name in "qkv")
    np.savez(data, q=q[: options.queries], k=k[: options.keys], v=v[: options.keys], o=np.load(result))

    runner = get_runner("icarus")
    runner.build(
        sources=[options.manifest.with_suffix(".v").resolve()],
        hdl_toplevel=manifest["name"],
        build_args=["-g2005"],
        build_dir=options.work / "build",
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        hdl_toplevel=manifest["name"],
        test_module="test_axis",
        build_dir=options.work / "build",
        test_dir=options.work.resolve(),
        extra_env={
            "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "AXIS_MANIFEST": str(options.manifest.resolve()),
            "AXIS_VECTORS": str(vectors.resolve()),
            "AXIS_DATA": str(data.resolve()),
            "AXIS_CAUSAL": str(int(options.causal)),
            "AXIS_SEED": str(options.seed),
        },
    )
    tests, failed = get_results(results)
    print(f"cocotb: {tests - failed} of {tests} tests passed")
    sys.exit(0 if tests and not failed else 1)


if __name__ == "__main__":
    main()
