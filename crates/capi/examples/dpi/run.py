#!/usr/bin/env python3
"""Runs an emitted core in Verilator against its model, which a scoreboard in SystemVerilog calls by DPI.

    run.py --flashd PROGRAM --library libflashd_core.a [--keys N] [--fault K] [--build DIR] -- CORE...

CORE are the flags of the core, as `flashd generate` takes them. --fault K changes the Verilog: with the key of that number the sign of its
first element is wrong. The scoreboard must find that at this key, and not before.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMATS = {"bf16": (8, 7), "fp16": (5, 10), "fp8-e4m3": (4, 3), "fp8-e5m2": (5, 2), "fp32": (8, 23)}


def run(command, **options):
    """Runs a program; its output goes where it may only if it fails."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout


def must(command, **options):
    status, output = run(command, **options)
    if status != 0:
        sys.exit(f"run.py: {' '.join(map(str, command))} failed:\n{output}")


def defines(manifest, testbench):
    """Macros that describe the core to the scoreboard."""
    core = manifest["configuration"]
    others = [name for name in ("q_format", "k_format", "v_format", "o_format", "dk", "dv") if core.get(name) is not None]
    if others or core["format"] not in FORMATS:
        what = others[0] if others else f"format {core['format']}"
        sys.exit(f"run.py: {what}: this scoreboard has vectors of one float format and one length; flashd_dpi itself takes every core")
    exponent, fraction = FORMATS[core["format"]]
    ports = {port["name"] for port in manifest["ports"]}
    text = json.dumps(core, separators=(",", ":")).replace('"', '\\"')
    values = {
        "TOP": manifest["name"],
        "D": core["d"],
        "WIDTH": 1 + exponent + fraction,
        "FRACTION_BITS": fraction,
        "BIAS": 2 ** (exponent - 1) - 1,
        "VALUE_LATENCY": manifest["value_latency"],
        "JSON": f'"{text}"',
    }
    for port in ("k_mask", "v_exponent", "o_saturated"):
        if port in ports:
            values[f"HAS_{port.upper()}"] = ""
    # The names that the emitted testbench reads inside the core.
    for name, what in (("score_valid", "SCORE_VALID"), ("score", "SCORE"), ("weight_valid", "WEIGHT_VALID"), ("weight", "WEIGHT")):
        found = re.search(rf"wire (?:\[[^]]*\] )?inside_{name} = (.*);", testbench)
        if found:
            values[what] = found[1]
    return "".join(f"`define FLASHD_{name} {value}\n" for name, value in values.items())


def with_fault(verilog, name, key, width):
    """The same core with a wrong sign in one key."""
    top = verilog.index(f"module {name}")
    end = verilog.index(");", top) + 2
    fault = (
        "\n    // The fault.\n    integer fault_keys = 0;\n    always @(posedge clk) if (k_valid) fault_keys <= fault_keys + 1;\n"
        f"    wire fault = fault_keys == {key};\n"
    )
    place = verilog.index(".k(k)", end)
    return verilog[:end] + fault + verilog[end:place] + f".k(k ^ (fault << {width - 1}))" + verilog[place + 5 :]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flashd", required=True)
    parser.add_argument("--library", required=True, type=Path)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", type=int, action="append", default=[])
    parser.add_argument("--build", type=Path)
    parser.add_argument("core", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        build = args.build or Path(temporary)
        build.mkdir(parents=True, exist_ok=True)
        must([args.flashd, "generate", *args.core, "--testbench", "--keys", "200", "--out", build])
        (manifest,) = [json.loads(p.read_text()) for p in build.glob("*.json")]
        name = manifest["name"]
        (build / "dut.svh").write_text(defines(manifest, (build / f"{name}_tb.v").read_text()))
        verilog = (build / f"{name}.v").read_text()
        for fault in [None, *args.fault]:
            if fault is not None:
                width = 1 + sum(FORMATS[manifest["configuration"]["format"]])
                (build / f"{name}.v").write_text(with_fault(verilog, name, fault, width))
            # A short run does not pay for optimised compilation.
            long = args.keys > 1_000_000 and fault is None
            make = "OPT_FAST=-O1" if long else "OPT_FAST=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0"
            optimised = [*(["-O1"] if long else []), "-MAKEFLAGS", make]
            # The static library, so that the simulation runs anywhere.
            must(
                ["verilator", "--binary", "--timing", "-j", "1", *optimised, "-Wno-fatal", "-Wno-lint", "--top-module", "scoreboard"]
                + ["-LDFLAGS", f"{args.library.resolve()} -ldl -lm -lpthread", f"-I{build}", "--Mdir", build / "obj"]
                + [HERE.parent.parent / "sv" / "flashd_dpi.sv", HERE / "scoreboard.sv", build / f"{name}.v"]
            )
            plus = [f"+keys={args.keys}", f"+seed={args.seed}"] + ([] if fault is None else [f"+seen={fault}"])
            status, output = run([build / "obj" / "Vscoreboard", *plus])
            verdict = next((line for line in output.splitlines() if line.startswith("SCOREBOARD")), output)
            print(f"{name}: {verdict}" if fault is None else f"{name} with a fault at key {fault}: {verdict}")
            found = verdict.startswith(f"SCOREBOARD FAILED: key {fault}: ")
            if (status != 0 or "PASSED" not in verdict) if fault is None else not found:
                sys.exit(1)


main()
