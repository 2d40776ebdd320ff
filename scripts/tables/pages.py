"""Tables of the documents: their places, how figures are written there, and their differences from measurements.

A table that can be made again has a comment before it:

    <!-- reproduce NAME -->                 with the full data
    <!-- reproduce NAME on the sample -->   its form on the bundled heads

Beneath it a line says where its figures come from (`runs`).
"""

import re
from dataclasses import dataclass, field
from math import floor, log10
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MARK = re.compile(r"<!-- reproduce ([a-z0-9-]+)( on the sample)? -->")
NUMBER = re.compile(r"(?<![\w`])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w`])")


NOISE = 1e-9
"""Figures below it are rounding errors of f64, which differ with a machine's exponential."""


@dataclass
class Cell:
    """A cell as it is printed, and the figures in it; none in a label. `slack` is a tolerance in addition to the table's limit."""

    text: str
    values: tuple = ()
    slack: float = 0.0


@dataclass
class Table:
    """A measured table. Its first columns are labels, by which its rows are found on the page."""

    columns: list
    labels: int
    rows: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    """Rows left out: pairs of the first labels of rows, and a reason."""
    notes: list = field(default_factory=list)
    """Lines to print beneath."""

    def add(self, labels, cells):
        self.rows.append([Cell(label) for label in labels] + list(cells))


def label(row, labels):
    return tuple(cell.text for cell in row[:labels])


def digits(x, most=None):
    """Three significant digits, for large numbers one decimal place, and at most `most` places."""
    if x == 0:
        return "0"
    places = 1 if abs(x) >= 99.95 else max(0, 2 - floor(log10(abs(x))))
    return f"{x:.{places if most is None else min(places, most)}f}"


def number(x, write=digits):
    """A cell of one figure; an empty one for none."""
    return Cell("") if x is None else Cell(write(x), (x,))


def places(n, thousands=False):
    """A writer of numbers with n decimal places."""
    return lambda x: f"{x:{',' if thousands else ''}.{n}f}"


def as_markdown(table):
    """The table as a document has it; columns of figures are aligned right."""
    lines = ["| " + " | ".join(table.columns) + " |"]
    right = [any(row[i].values or row[i].text.isdigit() for row in table.rows) for i in range(len(table.columns))]
    lines.append("| " + " | ".join("--:" if r else "---" for r in right) + " |")
    lines += ["| " + " | ".join(cell.text for cell in row) + " |" for row in table.rows]
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines)


@dataclass
class Place:
    """A table in a document: its file, its lines, the note beneath, and the line after the note."""

    path: Path
    first: int
    lines: list
    said: str
    end: int

    @property
    def columns(self):
        return cells(self.lines[0])

    @property
    def rows(self):
        return [cells(line) for line in self.lines[2:]]

    def __str__(self):
        return str(self.path.relative_to(ROOT))


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def places_of(root=ROOT):
    """All tables with a mark, by name and whether they are on the sample."""
    found = {}
    for path in sorted((root / "docs").rglob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for i, line in enumerate(lines):
            mark = MARK.fullmatch(line.strip())
            if not mark:
                continue
            first = next((j for j in range(i + 1, len(lines)) if lines[j].strip()), len(lines))
            end = next((j for j in range(first, len(lines)) if not lines[j].startswith("|")), len(lines))
            below = next((j for j in range(end, len(lines)) if lines[j].strip()), len(lines))
            behind = end
            if below < len(lines) and lines[below].startswith("Run: "):
                behind = next((j for j in range(below, len(lines)) if not lines[j].strip()), len(lines))
            found[mark[1], bool(mark[2])] = Place(path, first, lines[first:end], " ".join(lines[below:behind]), behind)
    return found


def figures(text):
    """The figures of a printed cell outside of code, each with half a unit of its last digit."""
    found = []
    for token in NUMBER.findall(re.sub(r"`[^`]*`", "", text)):
        mantissa, _, exponent = token.replace(",", "").lower().partition("e")
        behind = len(mantissa.partition(".")[2])
        found.append((float(token.replace(",", "")), 0.5 * 10.0 ** (int(exponent or 0) - behind)))
    return found


def differences(table, place, limit):
    """Differences from a document, as lines of text, and the number of compared figures. `limit` is a fraction of the page's figure, in addition
    to the rounding to its digits."""
    wrong, compared = [], 0
    if place.columns != table.columns:
        return [f"columns: the page has {place.columns}, measured are {table.columns}"], 0
    page = {tuple(row[: table.labels]): row for row in place.rows}
    left_out = lambda key: any(key[: len(start)] == tuple(start) for start, _ in table.missing)
    measured = set()
    for row in table.rows:
        key = label(row, table.labels)
        measured.add(key)
        if key not in page:
            wrong.append(f"{', '.join(key)}: is not on the page")
            continue
        for column, cell, text in list(zip(table.columns, row, page[key]))[table.labels :]:
            expected, where = figures(text), f"{', '.join(key)}: {column}"
            if len(expected) != len(cell.values):
                wrong.append(f"{where}: {text or 'nothing'} on the page, {cell.text or 'nothing'} measured")
                continue
            for (there, half), here in zip(expected, cell.values):
                compared += 1
                same_noise = max(abs(here), abs(there)) < NOISE
                if not same_noise and not abs(here - there) <= half * (1 + 1e-6) + limit * abs(there) + cell.slack:
                    wrong.append(f"{where}: {text} on the page, {cell.text} measured")
                    break
    wrong += [f"{', '.join(key)}: on the page, but not measured" for key in page if key not in measured and not left_out(key)]
    return wrong, compared


def replace(place, new):
    """Replaces a table and the note beneath by lines."""
    lines = place.path.read_text(encoding="utf-8").splitlines()
    # A table that is written for the first time is followed by other text.
    behind = [] if place.end > place.first or place.end >= len(lines) else [""]
    lines[place.first : place.end] = new + behind
    temporary = place.path.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(place.path)
