"""Tables of errors and of held steps. Errors are printed in percent of max|v|."""

from .pages import Cell, Table, digits, number, places

FORMATS = "--format bf16 --format fp8-e4m3"


def percent(x):
    return None if x is None else 100 * x


def stem(core):
    """A core's name without format and vector length."""
    return core.rsplit("_d", 1)[0].removesuffix("_bf16").removesuffix("_fp8_e4m3")


def heads(context):
    """Mean and largest errors by group of heads, of both designs and of the paper's own."""
    cores = ("--design flash-d", "--design flash-d --weight paper", "--design fa2", "--design fa2 --fa2 literal")
    names = ("lse", "paper", "fa2", "literal")
    report = context.flashd(f"accuracy --every 4 --no-lengths --check 0 {FORMATS}", heads=True, cores=cores)
    table = Table(["format", "group", "heads", "rounding", "input", *(f"mean: {n}" if n == "lse" else n for n in names), "lse / fa2", "input / fa2",
                   *(f"largest: {n}" if n == "lse" else n for n in names)], labels=3)
    for of_format in report["traces"]["formats"]:
        for row in of_format["rows"]:
            means = [core["mean"] for core in row["cores"]]
            cells = [number(percent(error), lambda x: digits(x, 4)) for error in (row["rounding"]["mean"], row["input"]["mean"], *means)]
            cells += [number(x / means[2], places(3)) for x in (means[0], row["input"]["mean"])]
            cells += [number(percent(core["max"])) for core in row["cores"]]
            table.add([of_format["format"], row["name"], str(row["heads"])], cells)
    return table


def pair(errors):
    """A mean error, and in brackets the largest."""
    mean, largest = percent(errors["mean"]), percent(errors["max"])
    return Cell(f"{digits(mean, 4)} ({digits(largest, 4)})", (mean, largest))


def lengths(context):
    """Errors over the number of keys."""
    cores = ("--design flash-d", "--design flash-d --hold 12", "--design fa2")
    report = context.flashd(f"accuracy --no-traces {FORMATS}", cores=cores)
    table = Table(["format", "keys", "equal: FLASH-D, mean (largest)", "FA2", "spread: input", "FLASH-D", "FLASH-D, `--hold 12`", "FA2"], labels=2)
    for of_format in report["lengths"]:
        flash_d, held, fa2 = of_format["cores"]
        for i, errors in enumerate(of_format["input"]):
            spread = [errors, flash_d["spread"][i], held["spread"][i], fa2["spread"][i]]
            cells = [pair(flash_d["equal"][i]), pair(fa2["equal"][i])]
            cells += [number(percent(e["mean"]), lambda x: digits(x, 4)) for e in spread]
            table.add([of_format["format"], str(errors["keys"])], cells)
    return table


WIDTHS = {
    "fp8-e4m3": ("flash-d --update fixed", "flash-d --update fixed --lane 23,14,9", "flash-d --update fixed --lane 14,10,5",
                 "flash-d --update rounded --accumulator 3", "flash-d --update rounded",
                 "flash-d --update rounded --accumulator bf16 --weight-bits 8", "fa2", "fa2 --fa2 shared-scale --accumulator 3",
                 "fa2 --fa2 shared-scale --accumulator bf16 --weight-bits 8", "fa2 --fa2 shared-scale --accumulator fp32 --weight-bits 8", "fa2 --fa2 log-reference"),
    "bf16": ("flash-d --update fixed", "flash-d --update fixed --lane 18,14,9", "flash-d --update rounded --accumulator 7", "flash-d --update rounded",
             "flash-d --update rounded --accumulator fp32", "flash-d --update rounded --accumulator fp32 --weight-bits 12", "fa2 --fa2 shared-scale --accumulator 7",
             "fa2", "fa2 --fa2 shared-scale --accumulator fp32", "fa2 --fa2 shared-scale --accumulator fp32 --weight-bits 12", "fa2 --fa2 log-reference"),
}
"""Cores whose precision is compared, by format."""


def widths(context):
    """Errors by the precision of lanes and weights."""
    keys = (256, 4096, 65536)
    counts = ",".join(map(str, keys))
    table = Table(["core", "heads", *(f"equal: {n:,}" if n == 256 else f"{n:,}" for n in keys),
                   *(f"spread: {n:,}" if n == 256 else f"{n:,}" for n in keys)], labels=1)
    for fmt, cores in WIDTHS.items():
        report = context.flashd(f"accuracy --every 8 --check 0 --n {counts} --format {fmt}", heads=True, cores=[f"--design {c}" for c in cores])
        (of_format,), (of_lengths,) = report["traces"]["formats"], report["lengths"]
        groups = of_format["rows"]
        for i, core in enumerate(of_lengths["cores"]):
            mean = sum(row["cores"][i]["mean"] for row in groups) / len(groups)
            errors = [mean, *(e["mean"] for e in core["equal"]), *(e["mean"] for e in core["spread"])]
            table.add([f"`{core['core']}` {fmt}"], [number(percent(e), places(4)) for e in errors])
    return table


PAIRED = ("flash-d", "flash-d --update rounded", "flash-d --update fixed --value-stage true", "fa2", "fa2 --fa2 shared-log-reference",
          "flash-d --weight paper", "fa2 --fa2 literal")
"""Cores whose area and power are compared in pairs."""


def pairs(context):
    """Mean errors of the cores that are compared in area and power, and of the best and the worst group of heads."""
    reports = [context.flashd(f"accuracy --every 8 --check 0 --no-lengths --format {fmt} -q", heads=True, cores=[f"--design {core}" for core in PAIRED])
               for fmt in ("bf16", "fp8-e4m3")]
    rows = [report["traces"]["formats"][0]["rows"] for report in reports]
    table = Table(["core", "bf16: mean", "best group", "worst", "fp8-e4m3: mean", "best group", "worst"], labels=1)
    for i, core in enumerate(rows[0][0]["cores"]):
        means = [[row["cores"][i]["mean"] for row in groups] for groups in rows]
        cells = [number(percent(x), lambda x: digits(x, 4)) for of in means for x in (sum(of) / len(of), min(of), max(of))]
        table.add([f"`{core['core']}`"], cells)
    return table


OPERANDS = {
    "bf16": "--format bf16",
    "bf16 over int8": "--k-format int8 --v-format int8",
    "int8, results in bf16": "--format int8",
    "MXINT8, results in bf16": "--format int8 --scales mx",
    "e4m3, results in bf16": "--format fp8-e4m3 --o-format bf16",
    "e4m3": "--format fp8-e4m3",
    "MXFP8 e4m3": "--format fp8-e4m3 --scales mx",
}
"""Formats of operands that are compared, and the flags of both designs for them."""
RESULTS = {"int8, results in int8": "--format int8 --o-format int8", "bf16, results in int8": "--o-format int8"}
"""Formats whose results are integers, likewise."""
OPERAND_HEADS = ("bytes-d64", "mixhead-d32")
"""Models whose heads count; on the sample, which has not both of them, all heads do."""


def by_model(context, cores):
    """Errors of cores by the model of the heads, a row each."""
    report = context.flashd("accuracy --every 16 --check 0 --by model --no-lengths", heads=True, cores=cores)
    return report["traces"]["formats"][0]["rows"]


def over_heads(rows, error):
    """The mean of an error over the heads of rows."""
    return sum(row["heads"] * error(row) for row in rows) / sum(row["heads"] for row in rows)


def operands(context):
    """Mean errors by the formats of operands, next to exact attention on the rounded operands."""
    table = Table(["operands", "flags", "input", "FLASH-D", "over input", "FA2", "over input"], labels=2)
    for name, flags in (OPERANDS | RESULTS).items():
        rows = by_model(context, [f"--design {design} {flags}" for design in ("flash-d", "fa2")])
        if context.data is not None:
            rows = [row for row in rows if row["name"] in OPERAND_HEADS]
        exact = over_heads(rows, lambda row: row["input"]["mean"])
        cells = [number(percent(exact), lambda x: digits(x, 4))]
        for i in range(2):
            error = over_heads(rows, lambda row: row["cores"][i]["mean"])
            cells += [number(percent(error), lambda x: digits(x, 4)), number(error / exact, places(3))]
        table.add([name, f"`{flags}`"], cells)
    return table


ADDED = ("bf16", "e4m3", "fp8-e5m2", "MXFP8 e4m3", "fp16", "int8, results in bf16")
"""Formats whose cores' own errors are compared."""


def added(context):
    """What cores add to the error of the rounded inputs, in percent of it: over all heads, and for the group of heads with the most."""
    table = Table(["operands", "FLASH-D: all heads", "worst group", "its name", "FA2: all heads", "worst group", "its name"], labels=1)
    for name in ADDED:
        flags = OPERANDS.get(name, f"--format {name}")
        cores = [f"--design flash-d {flags}", f"--design fa2 {flags}"]
        rows = by_model(context, cores)
        above = lambda of, exact: percent(of / exact - 1)
        exact = over_heads(rows, lambda row: row["input"]["mean"])
        cells = []
        for i in range(len(cores)):
            of_group = lambda row: above(row["cores"][i]["mean"], row["input"]["mean"])
            worst = max(rows, key=of_group)
            of_all = above(over_heads(rows, lambda row: row["cores"][i]["mean"]), exact)
            cells += [number(of_all, places(1)), number(of_group(worst), places(1)), Cell(worst["name"])]
        table.add([name], cells)
    return table


def hold_lengths(context):
    """Errors of hold rules over the number of keys."""
    rules = ("budget:9", "12", "none")
    report = context.flashd(f"accuracy --no-traces {FORMATS} --n 1024,4096,16384,65536", cores=[f"--design flash-d --hold {rule}" for rule in rules])
    table = Table(["format", "keys", "input", *(f"`--hold {rule}`" for rule in rules)], labels=2)
    for of_format in report["lengths"]:
        for i, errors in enumerate(of_format["input"]):
            if of_format["format"] == "bf16" or errors["keys"] == 65536:
                all_errors = [errors, *(core["spread"][i] for core in of_format["cores"])]
                table.add([of_format["format"], str(errors["keys"])], [number(percent(e["mean"]), places(4)) for e in all_errors])
    return table


def channels(context):
    """Errors where one channel of V is larger than the others, over FA2's."""
    updates = ("fixed", "ranged")
    cores = [f"--design flash-d --update {update}" for update in updates] + ["--design fa2"]
    report = context.flashd("accuracy --channels --format bf16", cores=cores)
    (of_format,) = report["channels"]
    factors = sorted({e["factor"] for e in of_format["cores"][0]["errors"]})
    table = Table(["factor", *map(str, factors)], labels=1)
    for update, core in zip(updates, of_format["cores"]):
        by_factor = {e["factor"]: e["over_fa2"] for e in core["errors"] if e["large"] == "one"}
        write = lambda x: digits(x) if x < 10 else f"{x:.0f}"
        table.add([f"`{update}`"], [number(by_factor[factor], write) for factor in factors])
    return table


SHIPPED_RULES = ("static", "hold:8", "hold:10", "hold:11", "hold:12", "budget-exact:9:2", "budget-shift:9:2")


def share_and_error(figures):
    """The share of value reads saved, and the largest added error."""
    share, error = percent(figures["held"]), percent(figures["max_error"])
    small = "0" if error == 0 else f"{error:.0e}" if error < 0.001 else digits(error, 3)
    return Cell(f"{digits(share, 3)}, {small}", (share, error))


def rules(groups):
    table = Table(["rule", *(group["group"] for group in groups)], labels=1)
    for i, rule in enumerate(groups[0]["rules"]):
        table.add([f"`{rule['rule']}`"], [share_and_error(group["rules"][i]["exact"]) for group in groups])
    return table


def skips(context):
    """Value reads that the shipped rules and the paper's save, and the errors that they add."""
    return rules(context.flashd(f"skips --rules {','.join(SHIPPED_RULES)}", heads=True)["groups"])


def skips_all(context):
    """The same for every rule."""
    return rules(context.flashd("skips", heads=True)["groups"])


def skips_best(context):
    """The rule that saves most at a largest added error below the limit, by group of heads."""
    report = context.flashd("skips", heads=True)
    most, least = sorted((percent(share) for share in report["paper_skipped"]), reverse=True)
    table = Table(["heads of", "static skips", "best T", "saves", "best of all", "saves", "over the paper", "best below 0.1 % for any N", "saves"], 1)
    for group in report["groups"]:
        allowed = [r for r in group["rules"] if r["exact"]["max_error"] < report["limit"]]
        best = lambda which: max((r for r in allowed if which(r)), key=lambda r: r["exact"]["held"], default=None)
        static = next(r for r in group["rules"] if r["rule"] == "static")
        # As in the paper's table: steps that hold o and steps that replace it.
        skipped = percent(static["exact"]["held"] + static["exact"]["loaded"])
        share = lambda r: number(percent(r and r["exact"]["held"]))
        name = lambda r: Cell(f"`{r['rule']}`" if r else "none")
        fixed, any_rule = best(lambda r: r["rule"].startswith("hold:")), best(lambda r: True)
        bounded = best(lambda r: r["bound_for_any_n"] and r["bound"] < report["limit"])
        over = [percent(any_rule["exact"]["held"]) / paper for paper in (most, least)]
        cells = [number(skipped), name(fixed), share(fixed), name(any_rule), share(any_rule), Cell(f"{over[0]:.1f} to {over[1]:.1f}", tuple(over))]
        table.add([group["group"]], [*cells, name(bounded), share(bounded)])
    return table


def general(x):
    return f"{x:.3g}"


def worst_bounds(context):
    """Rules at their worst distance, next to their bounds."""
    report = context.flashd("skips --worst-case")
    counts = (256, 4096, 65536)
    table = Table(["rule", *(c for n in counts for c in (f"{n} keys", "bound", "core"))], labels=1)
    for rule in dict.fromkeys(case["rule"] for case in report["worst_cases"]):
        cells = []
        for n in counts:
            case = next(c for c in report["worst_cases"] if (c["rule"], c["keys"]) == (rule, n))
            cells += [number(percent(case[name]), general) if case[name] is not None else Cell("-") for name in ("error", "bound", "core_error")]
        table.add([f"`{rule}`"], cells)
    return table


def worst_streams(context):
    """Rules on constructed streams."""
    report = context.flashd("skips --worst-case")
    exact, of_cores = ("static", "hold:8", "hold:12", "budget-exact:9:2", "budget-shift:9:2"), ("static", "hold:8", "hold:12", "budget-shift:9:2")
    table = Table(["stream", "keys", *(f"`{r}`" for r in exact), *(f"cores: `{r}`" if r == "static" else f"`{r}`" for r in of_cores)], labels=2)
    for stream in dict.fromkeys(s["stream"] for s in report["streams"]):
        of = {s["rule"]: s for s in report["streams"] if s["stream"] == stream}
        cells = [number(percent(of[r]["max_error"]), general) for r in exact] + [number(percent(of[r]["core_max_error"]), general) for r in of_cores]
        table.add([stream, str(of["static"]["keys"])], cells)
    return table
