"""Tables of single faults in the emitted Verilog."""

from .pages import Table, number, places

TOOLS = ("yosys", "verilator", "g++", "make")


def _measured(context, units):
    table = Table(["design", "faults", "equal: unit", "step", "outputs", "found", "at first", "share, %", "left"], labels=1)
    whole = places(0)
    for row in context.xtask("mutate --seconds 200 --check 20"):
        if row["design"].startswith(("flash_d", "fa2")) != units:
            equal = [row[f"proved_{where}"] for where in ("in_unit", "in_step", "at_outputs")]
            counts = [row["faults"], *equal, row["found"], row["found_at_first"]]
            cells = [number(n, whole) for n in counts] + [number(row["share_percent"], places(1)), number(len(row["survivors"]), whole)]
            table.add([f"`{row['design']}`"], cells)
    return table


def units(context):
    """Faults of units in fp8-e4m3 that the emitted testbenches find."""
    return _measured(context, units=True)


def cores(context):
    """The same of both cores of d = 4 in bf16."""
    return _measured(context, units=False)
