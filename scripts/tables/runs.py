"""Runs: figures with their date, commit, tools and machine. A run is kept as JSON in the folder `runs` of a month's results. A table of the documents
is written from it, with the origin of its figures in a line beneath.

    {"table": ..., "columns": [...], "labels": N, "runs": [{"date": ..., "commit": ..., ..., "rows": [[[text, figure, ...], ...], ...]}, ...]}

A row is a list of cells, a cell its printed text and then the figures in it, not rounded. There is more than one run where the last one could
not measure all rows: it comes first, and rows that it left out are in those before it. Rows that are older than runs have `said` in place of the rest.
"""

import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
from pathlib import Path

from .pages import ROOT, Cell, Table, as_markdown, label, places_of, replace

VERSIONS = {"yosys": ("Yosys", ["yosys", "-V"]), "sta": ("OpenSTA", ["sta", "-version"]), "verilator": ("Verilator", ["verilator", "--version"]),
            "g++": ("g++", ["g++", "-dumpfullversion"])}
"""Tools whose versions are kept: names, and the commands that print versions."""


def _printed(command):
    """A command's output; empty if there is no such command, or it fails."""
    try:
        ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def _commit():
    """The commit that is checked out, with a plus sign if sources have been changed since; none outside of a clone."""
    commit = _printed(["git", "rev-parse", "--short=10", "HEAD"])
    changed = _printed(["git", "status", "--porcelain", "--untracked-files=no", "--", "crates", "configs", "Cargo.lock"])
    return f"{commit}+" if commit and changed else commit or None


def _processor():
    """The processor's name."""
    try:
        names = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _digest(paths):
    """SHA-256 of files: of their names and contents, in the order of the names."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n".encode())
    return whole.hexdigest()


def _heads(context):
    folder = context.data or ROOT / "testbench/data"
    files = [path for path in folder.iterdir() if path.suffix in (".npy", ".npz", ".safetensors")]
    return {"folder": "testbench/data" if context.data is None else "traces", "files": len(files), "sha256": _digest(files)}


def run_of(table, entry, context):
    """A run: a measured table, and all that its figures depend on."""
    rows = [[[cell.text, *cell.values] for cell in row] for row in table.rows]
    if entry.made_of:
        return {"said": f"nothing is measured: made of the runs of {', '.join(entry.made_of)}", "rows": rows}
    number = lambda text: next(iter(re.findall(r"\d+(?:\.\d+)+", text)), "unknown")
    run = {"date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}", "commit": _commit(), "flashd": number(_printed([context.program, "--version"])),
           "tools": {VERSIONS[tool][0]: number(_printed(VERSIONS[tool][1])) for tool in entry.tools if tool in VERSIONS},
           "machine": {"cpu": _processor(), "processors": os.cpu_count()}, "commands": list(context.commands)}
    if entry.heads:
        run["heads"] = _heads(context)
    if context.liberty is not None and entry.tools:
        run["liberty"] = {"asap7.lib": hashlib.sha256(context.liberty.read_bytes()).hexdigest()}
    run["rows"] = rows
    return run


def path_of(name, sample, place):
    """Where the runs of a table are: in the month of its page, or in the newest one if the page is of no month."""
    months = ROOT / "docs/results"
    folder = place.path.parent if place.path.parent.parent == months else max(path for path in months.iterdir() if path.is_dir())
    return folder / "runs" / f"{name}{'-sample' if sample else ''}.json"


def read(path):
    """Kept runs of a table; none if there are none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _written(kept):
    """Kept runs as text: a line for each row, so that changes are seen."""
    line = lambda value: json.dumps(value, ensure_ascii=False)
    runs = []
    for run in kept["runs"]:
        fields = [f"   {line(key)}: {line(value)}" for key, value in run.items() if key != "rows"]
        rows = ",\n".join(f"    {line(row)}" for row in run["rows"])
        runs.append("  {\n" + ",\n".join([*fields, f'   "rows": [\n{rows}\n   ]']) + "\n  }")
    fields = [f" {line(key)}: {line(value)}" for key, value in kept.items() if key != "runs"]
    return "{\n" + ",\n".join([*fields, ' "runs": [\n' + ",\n".join(runs) + "\n ]"]) + "\n}\n"


def table_of(kept):
    """The table of kept runs."""
    table = Table(kept["columns"], kept["labels"])
    table.rows = [[Cell(text, tuple(values)) for text, *values in row] for run in kept["runs"] for row in run["rows"]]
    return table


def _origin(run):
    """Where the figures of a run come from, in a few words."""
    if "said" in run:
        return run["said"]
    commit = f"commit {run['commit']}" if run["commit"] else "no clone"
    tools = ", ".join([f"flashd {run['flashd']}"] + [f"{tool} {version}" for tool, version in run["tools"].items()])
    return f"{run['date']}, {commit}; {tools}; {run['machine']['cpu']}, {run['machine']['processors']} processors"


BEGINNING = "Run: "
"""How the line beneath a table begins."""


def line_of(kept, path, page):
    """The line beneath a table."""
    first, *older = kept["runs"]
    text = f"{_origin(first)} ([figures]({os.path.relpath(path, page.parent)}))"
    for run in older:
        starts = dict.fromkeys(row[0][0] for row in run["rows"])
        text += f"; rows of {', '.join(starts)}: {_origin(run)}"
    return f"{BEGINNING}{text}."


def rewrite(kept, path, place, chart):
    """Writes a table, the line beneath, and its chart next to the page, from its runs."""
    table = table_of(kept)
    if chart:
        (place.path.parent / f"{kept['table']}.svg").write_text(chart(table), encoding="utf-8")
    replace(place, [*as_markdown(table).splitlines(), "", line_of(kept, path, place.path)])


def update(name, sample, table, run, place, chart):
    """Keeps a run, and writes the page's table from it. Rows that were not measured keep earlier runs' figures."""
    path = path_of(name, sample, place)
    kept = read(path)
    if kept is None and place.lines:
        older = [[[text] for text in row] for row in place.rows]
        kept = {"runs": [{"said": place.said.removeprefix(BEGINNING).rstrip(".") or "before runs were kept", "rows": older}]}
    measured = {label(row, table.labels) for row in table.rows}
    left_out = lambda key: key not in measured and any(key[: len(start)] == tuple(start) for start, _ in table.missing)
    runs = [run]
    for old in kept["runs"] if kept else []:
        rows = [row for row in old["rows"] if left_out(tuple(cell[0] for cell in row[: table.labels]))]
        runs += [{**old, "rows": rows}] if rows else []
    kept = {"table": name, "columns": table.columns, "labels": table.labels, "runs": runs}
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(_written(kept), encoding="utf-8")
    temporary.replace(path)
    rewrite(kept, path, place, None if sample else chart)


def rewrite_all(charts):
    """Writes every table of the documents that has a run, and its chart; returns the names of tables without one."""
    none = []
    for name, sample in places_of():
        # Anew for each, because rewriting moves lines.
        place = places_of()[name, sample]
        path = path_of(name, sample, place)
        kept = read(path)
        if kept is None:
            none.append(f"{name}{' on the sample' if sample else ''}")
        else:
            rewrite(kept, path, place, None if sample else charts.get(name))
    return none
