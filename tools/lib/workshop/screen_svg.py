# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal's screen, characters and SGR sequences, as SVG. Blocks and lines become shapes, so that no font leaves
gaps between them."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

CELL, LINE, MARGIN = 9, 19, 14
BACKGROUND, FOREGROUND = "#16181d", "#e6e6e6"
COLOURS = {32: "#7fd18b", 33: "#d9b25f", 36: "#5fb8d9", 90: "#7d828c", 91: "#ff6b68", 93: "#ffb454"}
SHADES = {"\u2588": 1.0, "\u2592": 0.45, "\u2591": 0.22}
Style = tuple[str, bool, bool]  # colour, bold, inverse
Cells = list[tuple[str, Style]]
STYLE = re.compile("\x1b\\[([\\d;]*)m")


def cells(line: str, style: Style) -> tuple[Cells, Style]:
    """Each character with its style, and the style that is left for the next line."""
    found: Cells = []
    for index, part in enumerate(STYLE.split(line)):
        if index % 2 == 0:
            found += [(character, style) for character in part]
            continue
        colour, bold, inverse = style
        for code in (int(number or 0) for number in part.split(";")):
            if code == 0:
                colour, bold, inverse = FOREGROUND, False, False
            elif code in (1, 22):
                bold = code == 1
            elif code in (7, 27):
                inverse = code == 7
            elif code == 39:
                colour = FOREGROUND
            elif code in COLOURS:
                colour = COLOURS[code]
        style = colour, bold, inverse
    return found, style


def runs(line: Cells) -> Iterator[tuple[int, str, Style]]:
    """Neighbours of one style and one kind: (column, text, style)."""
    start = 0
    for end in range(1, len(line) + 1):
        same = end < len(line) and line[end][1] == line[start][1] and kind(line[end][0]) == kind(line[start][0])
        if not same:
            yield start, "".join(character for character, _ in line[start:end]), line[start][1]
            start = end


def kind(character: str) -> str:
    return character if character in SHADES or character in "\u2501\u2578\u2500" else "text"


def shapes(row: int, column: int, text: str, style: Style) -> Iterator[str]:
    colour, bold, inverse = style
    x, y, width = MARGIN + column * CELL, MARGIN + row * LINE, len(text) * CELL
    if text[0] in SHADES:
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{LINE}" fill="{colour}" opacity="{SHADES[text[0]]}"/>'
    elif text[0] in "\u2501\u2578\u2500":
        height = 1 if text[0] == "\u2500" else 4
        half = CELL / 2 if text[0] == "\u2578" else width
        yield f'<rect x="{x}" y="{y + (LINE - height) / 2}" width="{half}" height="{height}" fill="{colour}"/>'
    else:
        if inverse:
            yield f'<rect x="{x}" y="{y}" width="{width}" height="{LINE}" fill="{colour}"/>'
        if text.strip():
            inner = text.rstrip()
            lead = len(inner) - len(inner.lstrip())
            inner = inner.lstrip()
            weight = ' font-weight="bold"' if bold else ""
            fill = BACKGROUND if inverse else colour
            yield (f'<text x="{x + lead * CELL}" y="{y + 14}" textLength="{len(inner) * CELL}" fill="{fill}"{weight}>'
                   f"{escape(inner)}</text>")


def picture(screen: str, columns: int, rows: int) -> str:
    width, height = columns * CELL + 2 * MARGIN, rows * LINE + 2 * MARGIN
    lines = [(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
              f'height="{height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14.5" '
              'xml:space="preserve" shape-rendering="crispEdges">'),
             "<!-- SPDX-License-Identifier: GPL-2.0-or-later; made by tools/picture -->",
             f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>']
    style: Style = FOREGROUND, False, False
    for row, line in enumerate(screen.split("\n")[:rows]):
        found, style = cells(line, style)
        for column, text, look in runs(found[:columns]):
            lines += shapes(row, column, text, look)
    return "\n".join(lines + ["</svg>", ""])
