"""Tables that are made of others: they measure nothing, and read the kept runs."""

from . import runs
from .pages import Cell, Table, number, places, places_of
from .power import points


def kept(name):
    """The rows of a table's kept run: by their labels the figures of their other cells, not rounded."""
    from .program import Problem

    place = places_of().get((name, False))
    found = place and runs.read(runs.path_of(name, False, place))
    if not found:
        raise Problem(f"{name}: no run is kept, of which this table is made")
    table = runs.table_of(found)
    return {tuple(cell.text for cell in row[: table.labels]): [cell.values[0] if cell.values else None for cell in row[table.labels:]] for row in table.rows}


def beside_paper(context):
    """The paper's figures next to the kept runs', all of d = 16."""
    table = Table(["figure", "the paper", "here", "bf16", "fp8-e4m3"], labels=3)
    periods = kept("area-periods")
    for name, words in (("flash_d", "FLASH-D as shipped"), ("fa2", "FA2 as shipped"), ("flash_d_paper", "the paper's FLASH-D"), ("fa2_literal", "the paper's FA2")):
        mhz = periods[f"`{name}`",][1]
        table.add(["clock, MHz", "500, 28 nm", f"{words}: `{name}`, ASAP7, mapped for speed"], [number(mhz, places(0)), Cell("")])
    papers, clocks = kept("area-paper"), kept("savings-clocks")
    formats = ("bf16", "fp8-e4m3")
    # Area, power, and power with glitches follow each other in all tables.
    rows = [("the paper's own pair, ASAP7", [papers[fmt, "`flash_d_paper`"][4:] for fmt in formats]),
            ("at equal error, ASAP7, FA2's shortest period", [clocks[fmt, "FA2's shortest"][-3:] for fmt in formats])]
    lengths = kept("savings-formats")
    rows.append(("at equal error, ASAP7, 4 ns", [lengths[fmt, "16"][-3:] for fmt in formats]))
    for i, (figure, paper) in enumerate((("area saved, %", "22.8"), ("power saved, %", "20.3"), ("power saved with glitches, %", "20.3"))):
        for words, saved in rows:
            table.add([figure, paper, words], [points(of_format[i]) for of_format in saved])
    return table
