"""The results that `flashd sweep merge` writes, as a table with a row for each shard (of explorations, for each core) and a chart.

    python3 workflow/table.py merged.json table.csv chart.svg [--x COLUMN] [--y COLUMN]

Columns are fields of the core, options, and figures by their place in the result; those that are equal in all rows are left out. The chart
shows column y over column x; without these the first column of numbers from the options, and the first from the results.
"""
import argparse
import csv
import json

from matplotlib.figure import Figure


def flat(value, name):
    """The leaves of JSON by their names, `lanes.0.o`."""
    if not isinstance(value, (dict, list)):
        return {name: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return {leaf: x for key, below in pairs for leaf, x in flat(below, f"{name}.{key}" if name else str(key)).items()}


def number(value):
    """A value as a number, if it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def rows(merged):
    """Of each row the options, and the figures."""
    for entry in merged["results"]:
        if entry["kind"] != "explore":
            words = [word[2:].partition("=") for word in entry["command"][2:] if not word.startswith("--core=")]
            options = {name: value or True for name, _, value in words}
            yield {"kind": entry["kind"], **flat(entry.get("core", {}), "core"), **options}, flat(entry["result"], "")
    for i, exploration in enumerate(merged.get("explorations", [])):
        for point in (point for result in exploration["formats"] for point in result["points"]):
            core = flat(point.pop("configuration"), "core")
            yield {"kind": "explore", "exploration": i, "name": point.pop("core"), **core}, flat(point, "")


def varying(dicts):
    """The columns of some rows that are not the same in all, in order."""
    names = dict.fromkeys(name for row in dicts for name in row)
    return [name for name in names if len(dicts) == 1 or len({str(row.get(name)) for row in dicts}) > 1]


def numeric(columns, table):
    """The first column of numbers."""
    of = (name for name in columns if all(number(row[name]) is not None for row in table if name in row))
    return next(of, columns[0])


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name in ("merged", "table", "chart", "--x", "--y"):
    parser.add_argument(name)
args = parser.parse_args()
with open(args.merged) as file:
    options, figures = zip(*rows(json.load(file)))
columns = ["kind", *(name for name in varying(options) if name != "kind")], varying(figures)
table = [{**of, **result} for of, result in zip(options, figures)]
with open(args.table, "w", newline="") as file:
    writer = csv.DictWriter(file, dict.fromkeys([*columns[0], *columns[1]]), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)

x = args.x or numeric(columns[0], table)
y = args.y or numeric(columns[1], table)
axes = (figure := Figure()).subplots()
for kind in dict.fromkeys(row["kind"] for row in table):
    shown = [row for row in table if row["kind"] == kind and x in row and number(row.get(y)) is not None]
    axis = [row[x] if number(row[x]) is None else number(row[x]) for row in shown]
    axes.plot(axis, [number(row[y]) for row in shown], "o", label=kind)
axes.set(xlabel=x, ylabel=y)
axes.legend()
figure.savefig(args.chart, bbox_inches="tight")
