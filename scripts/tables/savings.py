"""What FLASH-D saves over FA2 at equal error: both sized for the same number of keys by the same rule. They take Yosys and OpenSTA."""

from .chart import bars
from .errors import percent, stem
from .pages import Cell, Table, number, places
from .power import area, asap7, points, shortest

FORMATS = {
    "bf16": "--format bf16",
    "fp8-e4m3": "--format fp8-e4m3",
    "fp8-e5m2": "--format fp8-e5m2",
    "fp16, 16,384 keys": "--format fp16 --max-keys 16384",
    "int8": "--format int8",
    "bf16 over int8": "--format bf16 --k-format int8 --v-format int8",
}
"""Formats of operands by their names in tables. In fp16 FLASH-D keeps the rule of equal error up to 16,384 keys."""
LENGTHS = (16, 64, 256)
CYCLES = {16: 1600, 64: 1600, 256: 800}
"""Cycles with glitches by d, of all heads together."""
KEYS = (512, 4096, 65536)
LIMITS = (1.05, 1.1, 1.25)
"""Limits of the geometric mean of errors over those that the formats cost; 1.1 is the rule's."""
CLOCKS = ("slow", "1.25 of FA2's shortest", "FA2's shortest")
SIZED = ("bf16", "fp8-e4m3", "int8")
COLUMNS = ["FLASH-D um2", "pJ", "with glitches", "FA2 um2", "pJ", "with glitches", "saved: area", "energy", "with glitches"]


def figures_of(figures, clock):
    """Area in um2, and energy of a cycle, which takes a key, without and with glitches in pJ."""
    power = figures["power"]
    return figures["area"]["total"], power["total"] * clock, power["glitches"]["total"] * clock


def measured(context, flags, d, clock, library, others=("fa2",)):
    """Figures of FLASH-D, and of the smallest of some FA2 that meets the clock."""
    cores = [f"--design {core} {flags}" for core in ("flash-d", *others)]
    own, *candidates = context.flashd(f"ppa --d {d} --clock {clock:g} {library} --glitches {CYCLES[d]}", heads=True, cores=cores)
    meeting = [figures for figures in candidates if figures["timing"]["slack"] >= 0] or candidates
    best = min(meeting, key=lambda figures: figures["area"]["total"])
    return figures_of(own, clock), figures_of(best, clock)


def saved(own, other):
    """Savings in percent."""
    return [percent(1 - a / b) for a, b in zip(own, other)]


def cells_of(own, other):
    """The cells of COLUMNS."""
    both = [number(x, area) if i == 0 else number(x) for figures in (own, other) for i, x in enumerate(figures)]
    return both + [points(x) for x in saved(own, other)]


def by_length(context, library, clock, lengths):
    """Rows of all formats and some lengths, and mean savings."""
    table = Table(["format", "d", *COLUMNS], labels=2)
    for name, flags in FORMATS.items():
        all_saved = []
        for d in lengths:
            own, other = measured(context, flags, d, clock, library)
            table.add([name, str(d)], cells_of(own, other))
            all_saved.append(saved(own, other))
        mean = [points(sum(column) / len(column)) for column in zip(*all_saved)]
        table.add([name, "mean"], [Cell("")] * 6 + mean)
    return table


def formats(context):
    """All formats and lengths in ASAP7 at a slow clock."""
    return by_length(context, asap7(context), 4, LENGTHS)


def chart(series):
    """Draws a table of COLUMNS, a bar for each of its second labels."""
    return lambda table: bars(table, ((len(table.columns) - 3, "area that FLASH-D saves, %"), (len(table.columns) - 1, "energy with glitches that it saves, %")), series)


def osu018(context):
    """All formats and two lengths in osu018 at a slow clock."""
    return by_length(context, "", 30, LENGTHS[:2])


def keys(context):
    """All formats by the number of keys, d = 16, in ASAP7 at a slow clock."""
    table = Table(["format", "keys", *COLUMNS], labels=2)
    for name, flags in FORMATS.items():
        for keys in KEYS:
            if "--max-keys" in flags and keys == KEYS[-1]:
                continue
            of_keys = f"{flags.split(' --max-keys')[0]} --max-keys {keys}"
            own, other = measured(context, of_keys, 16, 4, asap7(context))
            table.add([name.split(",")[0], f"{keys:,}"], cells_of(own, other))
    return table


def clocks(context):
    """All formats by the clock, d = 16, in ASAP7: 4 ns, 1.25 times the shortest period of the fastest FA2, and that period. Against the smallest FA2 that meets it."""
    table = Table(["format", "clock", "ns", "FLASH-D's shortest", *COLUMNS], labels=2)
    for name, flags in FORMATS.items():
        others = ("fa2",) if "int8" in name else ("fa2", "fa2 --fa2 shared-scale")
        cores = [f"--design {core} {flags}" for core in ("flash-d", *others)]
        own_fast, *fast = [shortest(f) for f in context.flashd(f"ppa --d 16 {asap7(context)} --cycles 0", cores=cores)]
        # A mapping for a clock may be slower than one for speed.
        least = min(fast) * 1.01
        for clock, ns in zip(CLOCKS, (4.0, 1.25 * least, least)):
            ns = round(ns + 0.005, 2)
            own, other = measured(context, flags, 16, ns, asap7(context), others)
            table.add([name, clock], [number(ns, places(2)), number(own_fast, places(2)), *cells_of(own, other)])
    return table


def limits(context):
    """The smallest core of both designs under other limits of the rule, d = 16, in ASAP7 at a slow clock."""
    table = Table(["format", "limit", "FLASH-D", "um2", "mean", "FA2", "um2", "mean", "saved: area"], labels=2)
    for name in SIZED:
        sizes = [context.flashd(f"size --design {design} --d 16 {FORMATS[name]} --every 4 --clock 4 {asap7(context)} "
                                f"--limit {','.join(map(str, LIMITS))}", heads=True) for design in ("flash-d", "fa2")]
        for limit in LIMITS:
            cores = [next(choice["core"] for choice in report["choices"] if choice["rule"]["mean"] == limit) for report in sizes]
            cells = []
            for core in cores:
                if core:
                    cells += [Cell(f"`{stem(core['core'])}`"), number(core["measured"]["area_um2"], area), number(core["mean"], places(3))]
                else:
                    cells += [Cell("none"), Cell(""), Cell("")]
            both = [core["measured"]["area_um2"] for core in cores if core]
            table.add([name, str(limit)], cells + [points(percent(1 - both[0] / both[1])) if len(both) == 2 else Cell("")])
    return table
