"""Tables of area, timing and power. They take Yosys and OpenSTA, and for rows of ASAP7 its Liberty file."""

import re

from .errors import OPERANDS, RESULTS, percent, stem
from .pages import Cell, Table, digits, number, places
from .program import OSU018

TOOLS = ("yosys", "sta", str(OSU018))


def points(x):
    """A difference of two figures in percent: figures that differ by a limit move it by a point or so, however small it is."""
    return Cell(f"{x:.1f}", (x,), slack=1.0)


def spare(x):
    """A slack in ns. One near zero may change by more than any fraction of it."""
    return Cell(f"{x:.2f}", (x,), slack=0.1)


def area(x):
    """Areas as the pages have them: whole um2, with commas."""
    return f"{x:,.0f}"


def asap7(context):
    """The flag for ASAP7's file; a table of nothing else cannot be made without it."""
    from .program import Problem

    if context.liberty is None:
        raise Problem("this table is of ASAP7: --liberty names its file, see docs/guide/data.md")
    return f"--liberty {context.liberty}"


RANGES = {"ranged": "each lane", "fixed": "one for all channels", "shared-log-reference": "one for all channels",
          "log-reference": "one for all channels"}


def reach(configuration):
    """The reference of a core's lanes, as the pages name it."""
    return RANGES.get(configuration.get("update") or configuration.get("fa2"), "float")


def shortest(figures):
    """The shortest period: of a core mapped for speed, which is one without --clock."""
    return figures["timing"]["shortest_period"]


def measures(figures):
    """Area, slack at the clock, power without and with glitches."""
    power = figures["power"]
    return figures["area"]["total"], figures["timing"]["slack"], power["total"], power["glitches"]["total"]


def gates(context):
    """Enables against clock gates, in a library that has such a cell."""
    table = Table(["format", "core", "um2", "with gates", "mW", "with gates", "mW with glitches", "with gates", "slack ns", "with gates"], labels=2)
    for fmt in ("bf16", "fp8-e4m3"):
        plain, gated = (context.flashd(f"ppa --d 16 --format {fmt} --clock 4 --glitches 1000 {asap7(context)}{flag}",
                                       cores=[f"--design {core}" for core in ("flash-d", "fa2", "fa2 --fa2 shared-scale")])
                        for flag in ("", " --clock-gates"))
        for pair in zip(plain, gated):
            (um2, slack, mw, glitches), others = (measures(figures) for figures in pair)
            cells = [number(um2, area), number(others[0], area), number(mw), number(others[2]), number(glitches), number(others[3]),
                     spare(slack), spare(others[1])]
            table.add([fmt, f"`{stem(pair[0]['core'])}`"], cells)
    return table


def papers(context):
    """Both algorithms as the paper draws them, in ASAP7 at a clock that both meet with time to spare."""
    table = Table(["format", "core", "um2", "slack ns", "mW without glitches", "with", "FLASH-D saves: area", "power", "with glitches"], labels=2)
    for fmt in ("bf16", "fp8-e4m3"):
        report = context.flashd(f"ppa --d 16 --format {fmt} --clock 8 --glitches 1000 {asap7(context)}",
                                cores=("--design flash-d --weight paper", "--design fa2 --fa2 literal"))
        own, literal = (measures(figures) for figures in report)
        saved = [points(percent(1 - own[i] / literal[i])) for i in (0, 2, 3)]
        for figures, cells in zip(report, (saved, [Cell("")] * 3)):
            um2, slack, plain, glitches = measures(figures)
            table.add([fmt, f"`{stem(figures['core'])}`"], [number(um2, area), spare(slack), number(plain), number(glitches), *cells])
    return table


def variants(context):
    """Every variant of both designs at one clock in ASAP7."""
    table = Table(["core", "range", "um2", "slack ns", "mW without glitches", "with"], labels=2)
    for figures in context.flashd(f"ppa --variants --d 16 --format bf16 --clock 4 --glitches 1000 {asap7(context)}"):
        um2, slack, plain, glitches = measures(figures)
        table.add([f"`{stem(figures['core'])}`", reach(figures["configuration"])], [number(um2, area), spare(slack), number(plain), number(glitches)])
    return table


def spread(context):
    """Energy of a cycle by head, of recorded heads of d = 16: mean and standard deviation."""
    table = Table(["core", "osu018, 30 ns: without", "with", "times", "ASAP7, 4 ns: without", "with", "times"], labels=1)
    chosen = ("flash-d", "flash-d --update fixed --value-stage true", "fa2", "fa2 --fa2 shared-log-reference", "fa2 --fa2 log-reference")
    columns = []
    for flags in ("--clock 30", f"--clock 4 {asap7(context)}"):
        columns.append(context.flashd(f"ppa --d 16 --format bf16 {flags} --glitches 8000", heads=True, cores=[f"--design {core}" for core in chosen]))
    for pair in zip(*columns):
        cells = []
        for figures in pair:
            heads = figures["power"]["glitches"]["heads"]
            mean = lambda name: sum(head[name] for head in heads) / len(heads)
            plain, glitches = mean("zero_delay"), mean("glitches")
            deviation = (sum((head["glitches"] - glitches) ** 2 for head in heads) / max(1, len(heads) - 1)) ** 0.5
            write = places(0) if plain > 100 else places(2)
            cells += [number(plain, write), Cell(f"{write(glitches)} ± {write(deviation)}", (glitches, deviation)), number(glitches / plain, places(2))]
        table.add([f"`{stem(pair[0]['core'])}`"], cells)
    return table


def units_of(path):
    """The units that a path goes through, by their names in the module that has them."""
    names = [re.sub(r"_\d+$", "", instance.rsplit("/", 1)[-1].removeprefix("u_")) for instance in path]
    return ", ".join(dict.fromkeys(names))


def periods(context):
    """Shortest periods of all variants."""
    table = Table(["core", "ns", "MHz", "area um2", "worst path"], labels=1)
    for figures in context.flashd(f"ppa --variants --d 16 --format bf16 --cycles 0 {asap7(context)}"):
        ns = shortest(figures)
        through = units_of(name for name, _ in figures["timing"]["path"]["through"][1:])
        table.add([f"`{stem(figures['core'])}`"], [number(ns, places(2)), number(1000 / ns, places(0)), number(figures["area"]["total"], area), Cell(through)])
    return table


def port_bytes(manifest):
    """Bytes that a key and its value take on the ports, the words of their scales among them."""
    widths = {port["name"]: port["width"] for port in manifest["ports"]}
    return sum(widths[port] for port in ("k", "v")) / 8


def operands(context):
    """Area and power by the formats of operands, d = 64, and the bytes of a key with its value."""
    table = Table(["operands", "FLASH-D: um2", "mW", "with glitches", "FA2: um2", "mW", "with glitches", "bytes a key"], labels=1)
    for name, flags in (OPERANDS | RESULTS).items():
        report = context.flashd(f"ppa --d 64 --clock 4 --glitches 300 {asap7(context)}", cores=[f"--design {design} {flags}" for design in ("flash-d", "fa2")])
        cells = []
        for figures in report:
            um2, _, plain, glitches = measures(figures)
            cells += [number(um2, area), number(plain), number(glitches)]
        table.add([name], cells + [number(port_bytes(context.manifest(f"--design flash-d --d 64 {flags}")), places(0))])
    return table


def arrays(context):
    """Arrays against the same number of cores."""
    table = Table(["queries", "FLASH-D um2", "over cores alone", "pJ", "over", "FA2 um2", "over", "pJ", "over"], labels=1)
    report = context.flashd(f"ppa --d 16 --format bf16 --queries 1,2,4,8,16 --clock 4 {asap7(context)} --glitches 0", cores=("--design flash-d", "--design fa2"))
    single = {f["configuration"]["design"]: f for f in report if not f.get("array")}
    energy = lambda f: f["power"]["total"] / f["power"]["clock"] * 1000
    for queries in sorted({f["array"]["queries"] for f in report if f.get("array")}):
        cells = []
        for design in ("flash-d", "fa2"):
            own = next(f for f in report if f.get("array") and (f["configuration"]["design"], f["array"]["queries"]) == (design, queries))
            for value, alone, write in ((own["area"]["total"], single[design]["area"]["total"], area), (energy(own), energy(single[design]), digits)):
                over = percent(value / (queries * alone) - 1)
                cells += [number(value, write), Cell(f"{over:.1f} %", (over,), slack=1.0)]
        table.add([str(queries)], cells)
    return table
