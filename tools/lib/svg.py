# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG, for light pages and dark ones: an x axis, a y axis, marks in the colours of who is compared."""

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 360, 84, 16, 64, 48
STYLE = """<style>
text { font: 13px sans-serif; fill: #333 } .title { font-size: 15px; font-weight: bold } .soft { fill: #666 }
.grid { stroke: #bbb; stroke-width: 0.7 } .zero { stroke: #777; stroke-width: 1.2 }
.a { fill: #1769c4; stroke: #1769c4 } .b { fill: #c2540a; stroke: #c2540a } .c { fill: #6b7280; stroke: #6b7280 }
.line { fill: none; stroke-width: 2 } .mark { stroke: none; fill-opacity: 0.75 } text.a, text.b, text.c { stroke: none }
.bar { stroke: none; fill-opacity: 0.6 } .median { stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .soft { fill: #aaa } .grid { stroke: #555 } .zero { stroke: #999 }
  .a { fill: #6db3ff; stroke: #6db3ff } .b { fill: #ff9d52; stroke: #ff9d52 } .c { fill: #a8b0bd; stroke: #a8b0bd }
}
</style>"""


def plain(value):
    return value


def signed_log(value):
    """Decades on both sides of a straight middle from -10 to 10."""
    return math.copysign(math.log10(abs(value) / 10) + 1, value) if abs(value) > 10 else value / 10


def log(value):
    return math.log10(max(value, 1e-9))


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Chart:
    """`panels` lie side by side and have the y axis in common."""

    def __init__(self, title, subtitle, y, y_ticks, y_label, panels=1):
        self.y_scale, self.low, self.high = y, y(y_ticks[0][0]), y(y_ticks[-1][0])
        self.panel_width = (WIDTH - LEFT - RIGHT) / panels
        self.parts = [f'<text class="title" x="{LEFT}" y="22">{escaped(title)}</text>',
                      f'<text class="soft" x="{LEFT}" y="42">{escaped(subtitle)}</text>']
        for value, text in y_ticks:
            place = self.y(value)
            self.parts.append(f'<line class="{"zero" if value == 0 else "grid"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" '
                              f'y1="{place:.1f}" y2="{place:.1f}"/>')
            self.text(LEFT - 8, place + 4, text, anchor="end")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.parts.append(f'<text class="soft" transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escaped(y_label)}</text>')

    def y(self, value):
        part = (self.y_scale(value) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - min(max(part, 0), 1) * (HEIGHT - BOTTOM - TOP)

    def text(self, x, y, text, anchor="middle", kind=""):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>')

    def panel(self, number, label, x, x_ticks):
        """Where x is in this panel; draws its ticks and says below what x is."""
        left, low, high = LEFT + number * self.panel_width, x(x_ticks[0][0]), x(x_ticks[-1][0])

        def place(value):
            return left + 10 + (x(value) - low) / (high - low) * (self.panel_width - 30)

        for value, text in x_ticks:
            self.text(place(value), HEIGHT - BOTTOM + 18, text)
        self.text(left + self.panel_width / 2, HEIGHT - 8, label, kind="soft")
        return place

    def legend(self, names):
        """[(class, name)], at the top on the right."""
        at = WIDTH - RIGHT
        for kind, name in reversed(names):
            self.text(at, 22, name, anchor="end", kind=kind)
            at -= 7.2 * len(name) + 20
            self.parts.append(f'<rect class="bar {kind}" x="{at:.1f}" y="12" width="12" height="12"/>')
            at -= 16

    def dot(self, x, y, kind):
        self.parts.append(f'<circle class="mark {kind}" cx="{x:.1f}" cy="{self.y(y):.1f}" r="2.2"/>')

    def bar(self, x, width, low, high, kind, median=None):
        top, bottom = self.y(high), self.y(low)
        self.parts.append(f'<rect class="bar {kind}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(bottom - top, 1):.1f}"/>')
        if median is not None:
            place = self.y(median)
            self.parts.append(f'<line class="median {kind}" x1="{x:.1f}" x2="{x + width:.1f}" y1="{place:.1f}" y2="{place:.1f}"/>')

    def line(self, points, kind):
        text = " ".join(f"{x:.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline class="line {kind}" points="{text}"/>')
        for x, y in points:
            self.dot(x, y, kind)

    def write(self, path):
        with open(path, "w") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n{STYLE}\n' + "\n".join(self.parts) + "\n</svg>\n")
