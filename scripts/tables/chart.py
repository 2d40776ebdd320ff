"""Bar charts of tables, as SVG."""

from html import escape
from math import ceil, floor

WIDTH, LEFT, RIGHT = 900, 50, 10
PANEL, GAP, TOP, BELOW = 180, 40, 40, 40
"""Height of a panel and of the gap between two, and the margins above and below them, in pixels."""
COLOURS = ("#9ecae1", "#4292c6", "#084594")
STEP = 10
"""Distance of the lines of the grid, in the unit of the figures."""


def _text(x, y, words, anchor="middle", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="sans-serif" font-size="{size}">{escape(words)}</text>'


def _panel(top, title, groups, series):
    """The bars of a column: a group for each first label, a bar for each second one."""
    figures = [x for group in groups.values() for x in group]
    low, high = STEP * floor(min(0, *figures) / STEP), STEP * ceil(max(0, *figures) / STEP)
    y = lambda x: top + PANEL * (high - x) / (high - low)
    lines = [_text(LEFT, top - 8, title, "start", 13)]
    for x in range(low, high + 1, STEP):
        shade = "#000000" if x == 0 else "#dddddd"
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(x):.1f}" y2="{y(x):.1f}" stroke="{shade}"/>')
        lines.append(_text(LEFT - 6, y(x) + 4, f"{x}", "end", 11))
    step = (WIDTH - LEFT - RIGHT) / len(groups)
    bar = step / (len(series) + 1)
    for i, group in enumerate(groups.values()):
        for j, x in enumerate(group):
            left, upper = LEFT + i * step + (j + 0.5) * bar, y(max(x, 0))
            lines.append(f'<rect x="{left:.1f}" y="{upper:.1f}" width="{bar * 0.9:.1f}" height="{abs(y(x) - y(0)):.1f}" fill="{COLOURS[j]}"/>')
    return lines


def bars(table, columns, series):
    """A chart of some columns of a table with two labels, as pairs of its number and a title: panels below each other. `series` are the second labels that are
    drawn, with their words in the legend."""
    first = list(dict.fromkeys(row[0].text for row in table.rows))
    figures = {tuple(cell.text for cell in row[:2]): row for row in table.rows}
    height = TOP + len(columns) * (PANEL + GAP) + BELOW
    lines = [f'<svg width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    for n, (column, title) in enumerate(columns):
        groups = {label: [figures[label, name][column].values[0] for name in series] for label in first}
        lines += _panel(TOP + n * (PANEL + GAP), title, groups, series)
    step = (WIDTH - LEFT - RIGHT) / len(first)
    lines += [_text(LEFT + (i + 0.5) * step, height - BELOW, label) for i, label in enumerate(first)]
    entry = max(90, 30 + 7 * max(map(len, series.values())))
    for j, words in enumerate(series.values()):
        lines.append(f'<rect x="{LEFT + entry * j}" y="{height - 20}" width="12" height="12" fill="{COLOURS[j]}"/>')
        lines.append(_text(LEFT + entry * j + 18, height - 10, words, "start"))
    return "\n".join([*lines, "</svg>", ""])
