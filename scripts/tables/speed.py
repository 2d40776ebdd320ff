"""Tables of throughput, from scripts/bench on this machine."""

import json
import subprocess
import tempfile
from pathlib import Path

from .pages import Cell, Table, digits
from .program import Problem

NAMES = {"flash_d": "FLASH-D", "fa2": "FA2"}


def bench(context, *flags):
    """Figures of scripts/bench, which runs once for all tables with the same flags."""
    command = " ".join(["scripts/bench", *flags])
    context.commands.append(command)

    def measure():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "bench.json"
            if subprocess.run(["scripts/bench", *flags, "--out", out], cwd=context.root).returncode != 0:
                raise Problem("scripts/bench failed")
            return json.loads(out.read_text())["runs"]

    return context.once(command, measure)


def rate(run, engine):
    """Keys a second."""
    return run["engines"][engine]["keys"] / run["engines"][engine]["seconds"]


def title(core):
    """A core as the pages call it."""
    name, _, d = core.rpartition("_d")
    design = "flash_d" if name.startswith("flash_d") else "fa2"
    return f"{NAMES[design]} {name[len(design) + 1:].replace('_', '-')}, {d}"


def verilators(run):
    """Keys a second of each Verilator, by version; other columns are relative to the faster one."""
    prefix = "verilator Verilator "
    return {name.removeprefix(prefix): rate(run, name) for name in run["engines"] if name.startswith(prefix)}


def over_verilator(run, engine):
    """The cells of an engine: keys a second, in millions, and over the faster Verilator's."""
    own = rate(run, engine)
    over = own / rate(run, "verilator")
    return [Cell(digits(own / 1e6), (own / 1e6,)), Cell(f"{over:.1f}" if over < 100 else f"{over:.0f}", (over,))]


def of_plain(run):
    """The cell of the model's keys a second as a part of plain f32 attention's."""
    part = rate(run, "plain") / rate(run, "vector")
    return Cell(f"1/{part:.1f}", (1, part))


def streams(runs):
    """The runs of 64 queries on one thread, one for each core, which all engines and Verilator share."""
    return [run for run in runs if (run["queries"], run["threads"]) == (64, 1)]


def engines(context):
    """Keys a second of the RTL engine against Verilator."""
    runs = streams(bench(context))
    versions = list(verilators(runs[0]))
    table = Table(["core, d", "one stimulus", "over Verilator", "64 stimuli", "over Verilator", "start, ms", *(f"Verilator {version}" for version in versions)], labels=1)
    for run in runs:
        cells = over_verilator(run, "rtl") + over_verilator(run, "beside")
        start = 1000 * run["engines"]["rtl"]["start_seconds"]
        cells.append(Cell(f"{start:.0f}", (start,)))
        of = verilators(run)
        table.add([title(run["core"])], [*cells, *(Cell(digits(of[version] / 1e6), (of[version] / 1e6,)) for version in versions)])
    return table


def avx2(context):
    """Keys a second of the engine that runs the RTL, the model and attention in plain f32 with AVX2 alone, d = 64."""
    table = Table(["core, d", "engine, one stimulus", "over Verilator", "64 stimuli", "over Verilator", "model, 64 queries", "over Verilator", "of plain f32"], labels=1)
    for run in streams(bench(context, "--quick", "--isa", "AVX2")):
        engine = over_verilator(run, "rtl") + over_verilator(run, "beside")
        table.add([title(run["core"])], [*engine, *over_verilator(run, "vector"), of_plain(run)])
    return table


def throughput(context):
    """Keys a second of the model against Verilator and plain f32."""
    return of_runs(bench(context))


def of_runs(runs):
    """The table of what scripts/bench wrote."""
    find = lambda core, queries, threads: next(r for r in runs if (r["core"], r["queries"], r["threads"]) == (core, queries, threads))
    table = Table(["core, d", "64 queries", "over Verilator", "of plain f32", "one query", "over Verilator", "of plain f32",
                   "two threads over one (plain f32)", "reference simulator, 1000 keys/s"], labels=1)
    for core in dict.fromkeys(run["core"] for run in runs):
        cells = []
        for queries in (64, 1):
            run = find(core, queries, 1)
            cells += [*over_verilator(run, "vector"), of_plain(run)]
        clock = lambda threads, engine: find(core, 1024, threads)["engines"][engine]["clock_seconds"]
        gains = [clock(1, engine) / clock(2, engine) for engine in ("vector", "plain")]
        cells.append(Cell(f"{gains[0]:.2f} ({gains[1]:.2f})", tuple(gains)))
        sweeps = rate(find(core, 64, 1), "reference") / 1000
        table.add([title(core)], [*cells, Cell(f"{sweeps:.1f}", (sweeps,))])
    return table
