#!/usr/bin/env python3
"""Runs the cocotb tests of one attention unit under Icarus or Verilator.

    run.py --flashd FLASHD --manifest NAME.json --head PREFIX --work DIR [--simulator icarus] [--tokens N] [--seed N]

PREFIX-q.npy, -k.npy and -v.npy hold the data; `flashd simulate` says what is expected: of the array, or of the unit if the factor of scores is its job's.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from head import expected, parser  # noqa: E402


def main():
    command = parser(__doc__.split("\n\n")[0])
    command.add_argument("--simulator", choices=["icarus", "verilator"], default="icarus", help="the simulator")
    command.add_argument("--tests", help="names of tests, with commas between them; all by default")
    command.add_argument("--seed", type=int, default=1, help="seed of pauses and of data in memory")
    options = command.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    manifest = json.loads(options.manifest.read_text())
    tensors = {name: np.load(f"{options.head}-{name}.npy")[: options.tokens] for name in "qkv"}
    data = options.work / "data.npz"
    np.savez(data, o=expected(options, manifest, False), causal=expected(options, manifest, True), **tensors)

    runner = get_runner(options.simulator)
    flags = {"icarus": ["-g2005"], "verilator": ["-Wno-fatal", "--no-timing", "-O3"]}
    runner.build(
        sources=[options.manifest.with_suffix(".v").resolve()],
        hdl_toplevel=manifest["name"],
        build_args=flags[options.simulator],
        build_dir=options.work / "build",
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        hdl_toplevel=manifest["name"],
        test_module="test_unit",
        testcase=options.tests.split(",") if options.tests else None,
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
