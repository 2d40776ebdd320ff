"""The table of throughput: scripts/bench, whose times are those of this machine."""

import json
import subprocess
import tempfile
from pathlib import Path

from .pages import Cell, Table, digits
from .program import Problem

NAMES = {"flash_d": "FLASH-D", "fa2": "FA2"}


def throughput(context):
    """Keys a second of the model beside Verilator and plain f32."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bench.json"
        if subprocess.run(["scripts/bench", "--out", out], cwd=context.root).returncode != 0:
            raise Problem("scripts/bench failed")
        return of_runs(json.loads(out.read_text())["runs"])


def of_runs(runs):
    """The table of what scripts/bench wrote."""
    rate = lambda run, engine: run["engines"][engine]["keys"] / run["engines"][engine]["seconds"]
    find = lambda core, queries, threads: next(r for r in runs if (r["core"], r["queries"], r["threads"]) == (core, queries, threads))
    table = Table(["core, d", "64 queries", "over Verilator", "of plain f32", "one query", "over Verilator", "of plain f32",
                   "two threads over one (plain f32)", "RustHDL's sweeps, 1000 cycles/s"], labels=1)
    for core in dict.fromkeys(run["core"] for run in runs):
        name, _, d = core.rpartition("_d")
        design = "flash_d" if name.startswith("flash_d") else "fa2"
        cells = []
        for queries in (64, 1):
            run = find(core, queries, 1)
            own, verilator, plain = (rate(run, engine) for engine in ("vector", "verilator", "plain"))
            cells += [Cell(digits(own / 1e6), (own / 1e6,)), Cell(f"{own / verilator:.0f}", (own / verilator,)), Cell(f"1/{plain / own:.1f}", (1, plain / own))]
        clock = lambda threads, engine: find(core, 1024, threads)["engines"][engine]["clock_seconds"]
        gains = [clock(1, engine) / clock(2, engine) for engine in ("vector", "plain")]
        cells.append(Cell(f"{gains[0]:.2f} ({gains[1]:.2f})", tuple(gains)))
        sweeps = find(core, 64, 1)["engines"].get("rusthdl") or find(core, 64, 1)["engines"]["cycle"]
        cycles = sweeps["cycles"] / sweeps["seconds"] / 1000
        table.add([f"{NAMES[design]} {name[len(design) + 1:].replace('_', '-')}, {d}"], [*cells, Cell(f"{cycles:.1f}", (cycles,))])
    return table
