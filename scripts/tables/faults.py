"""Tables of single faults in the emitted Verilog."""

from .pages import Table, number, places

TOOLS = ("yosys", "verilator", "g++", "make")
CORES = ("--design flash-d --d 4 --format bf16", "--design fa2 --d 4 --format bf16")


def _measured(context, options, selections):
    table = Table(["design", "faults", "equal: unit", "step", "outputs", "found", "at first", "share, %", "left"], labels=1)
    whole = places(0)
    chosen = " ".join(f'--selection "{selection}"' for selection in selections)
    for row in context.xtask(f"mutate {options} {chosen}"):
        equal = [row[f"proved_{where}"] for where in ("in_unit", "in_step", "at_outputs")]
        counts = [row["faults"], *equal, row["found"], row["found_at_first"]]
        cells = [number(n, whole) for n in counts] + [number(row["share_percent"], places(1)), number(len(row["survivors"]), whole)]
        table.add([f"`{row['design']}`"], cells)
    return table


def units(context):
    """Faults of units in fp8-e4m3 that the emitted testbenches find."""
    return _measured(context, "--seconds 200 --check 20", [f"--unit {unit} --format fp8-e4m3" for unit in context.flashd("list")["units"]])


def cores(context):
    """The same of both cores of d = 4 in bf16."""
    # A fifth of mutate's default count, which takes hours of proofs.
    return _measured(context, "--count 100", CORES)
