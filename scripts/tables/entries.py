"""Every table that scripts/reproduce makes: its function, sources and time, and the tolerance between its figures and the page's."""

from dataclasses import dataclass
from typing import Callable

from . import derived, errors, faults, power, savings, speed


@dataclass
class Entry:
    """A table."""

    what: str
    measure: Callable
    time: str
    """Of processor time on a machine of 2026, from nothing."""
    limit: float = 0.0
    """Tolerance between a figure and the page's, as a fraction of it, in addition to rounding. It is 0 for errors and counts, which come from
    bit-exact models and f64. Mappings and powers depend on the versions of Yosys, ABC and OpenSTA (the pages have Debian 12's). Times depend on
    the machine."""
    heads: bool = False
    """Whether it is of recorded heads, and has a form on the bundled ones."""
    tools: tuple = ()
    asap7: bool = False
    """Whether all of it is of ASAP7."""
    made_of: tuple = ()
    """The tables whose kept runs it is made of; none if it is measured."""
    chart: Callable | None = None
    """Draws its table as SVG."""

    @property
    def needs_text(self):
        needs = [f"a folder of heads, or the sample" for _ in [1] if self.heads]
        needs += [tool for tool in self.tools if "/" not in tool]
        needs += ["--liberty" for _ in [1] if self.asap7]
        return f"; needs {', '.join(needs)}" if needs else ""


def _mapped(what, measure, time, **named):
    return Entry(what, measure, time, limit=0.02, tools=power.TOOLS, **named)


ENTRIES = {
    "accuracy": Entry("errors by group of heads", errors.heads, "10 min", heads=True),
    "accuracy-pairs": Entry("errors of the cores whose area and power are compared", errors.pairs, "5 min", heads=True),
    "accuracy-lengths": Entry("errors over the number of keys", errors.lengths, "5 min"),
    "accuracy-widths": Entry("errors by the precision of lanes", errors.widths, "20 min", heads=True),
    "channels": Entry("errors where one channel of V is large", errors.channels, "1 min"),
    "skips": Entry("value reads that rules save", errors.skips, "2 min; on the sample 1 s", heads=True),
    "hold-rules": Entry("the same for all rules", errors.skips_all, "10 min; on the sample 1 s", heads=True),
    "hold-best": Entry("the best rule by group of heads", errors.skips_best, "10 min; on the sample 1 s", heads=True),
    "hold-lengths": Entry("hold rules over the number of keys", errors.hold_lengths, "5 min"),
    "hold-bounds": Entry("rules at their worst distance", errors.worst_bounds, "10 s"),
    "hold-streams": Entry("rules on constructed streams", errors.worst_streams, "10 s"),
    "savings-formats": _mapped("what FLASH-D saves at equal error, by format and length", savings.formats, "20 min", heads=True, asap7=True,
                               chart=savings.chart({str(d): f"d = {d}" for d in savings.LENGTHS})),
    "savings-keys": _mapped("the same by the number of keys", savings.keys, "5 min", heads=True, asap7=True),
    "savings-clocks": _mapped("the same by the clock", savings.clocks, "15 min", heads=True, asap7=True,
                              chart=savings.chart({clock: clock for clock in savings.CLOCKS})),
    "savings-osu018": _mapped("the same in osu018, by format and length", savings.osu018, "20 min", heads=True),
    "savings-limits": _mapped("smallest cores under other limits of the rule", savings.limits, "30 min", heads=True, asap7=True),
    "area-paper": _mapped("both algorithms as the paper draws them", power.papers, "2 min", asap7=True),
    "area-gates": _mapped("clock gates in place of enables; ASAP7's file with its clock gates", power.gates, "5 min", asap7=True),
    "area-variants": _mapped("every variant at one clock", power.variants, "15 min", asap7=True),
    "area-spread": _mapped("energy by head, with glitches", power.spread, "15 min", heads=True, asap7=True),
    "area-periods": _mapped("shortest periods of all variants", power.periods, "15 min", asap7=True),
    # Made of kept runs, whose figures may move; nothing is measured.
    "beside-paper": Entry("the paper's figures next to the kept runs'", derived.beside_paper, "1 s",
                          made_of=("area-periods", "area-paper", "savings-formats", "savings-clocks")),
    "area-arrays": _mapped("arrays against single cores", power.arrays, "5 min", asap7=True),
    "operands": Entry("errors by the formats of operands", errors.operands, "3 min", heads=True),
    "operands-added": Entry("errors of cores in addition to the rounded inputs'", errors.added, "3 min", heads=True),
    "operands-area": _mapped("area and power by the formats of operands", power.operands, "15 min", asap7=True),
    # A netlist's faults follow the version of Yosys.
    "mutation-units": Entry("faults of units that testbenches find", faults.units, "30 min", limit=0.02, tools=faults.TOOLS),
    "mutation-cores": Entry("faults of cores that testbenches find", faults.cores, "30 min", limit=0.02, tools=faults.TOOLS),
    "throughput-rtl": Entry("keys a second of the engine that runs the RTL", speed.engines, "1 h, most of it Verilator's", limit=0.5, tools=("verilator", "g++", "make")),
    "throughput-avx2": Entry("keys a second of the model with AVX2 alone", speed.avx2, "20 min, most of it Verilator's", limit=0.5,
                             tools=("verilator", "g++", "make")),
    "throughput": Entry("keys a second", speed.throughput, "1 h, most of it Verilator's", limit=0.5, tools=("verilator", "g++", "make")),
}
