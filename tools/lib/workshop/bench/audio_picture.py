# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws docs/images/pulse.svg from the figures of `tools/bench audio --only pulse`."""

import io
import pathlib
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

# The colours on light pages, and the colours that replace them on dark pages.
DARK = {"#1769c4": "#6db3ff", "#c2540a": "#ff9d52", "#333333": "#dddddd", "#bbbbbb": "#555555"}
OURS, THEIRS, TEXT, GRID = DARK
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "tactus", "font.family": "sans-serif", "font.size": 9.5, "text.color": TEXT,
         "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT, "axes.edgecolor": GRID, "grid.color": GRID,
         "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
         "axes.spines.bottom": False, "axes.spines.left": False, "grid.linewidth": 0.5, "xtick.major.size": 0, "ytick.major.size": 0}
NAMES = {"nearest": (THEIRS, "at the nearest frame"), "fine": (OURS, "fine=yes")}


def write(figure: Any, path: str) -> None:
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    rules = "".join(f'[style*="{what}: {light}"] {{ {what}: {dark} !important }} ' for light, dark in DARK.items()
                    for what in ("fill", "stroke"))
    head, rest = text.getvalue().split("<defs>", 1)
    style = f"<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style>"
    pathlib.Path(path).write_text(f"{head}{style}\n <defs>{rest}")


def draw(measured: dict[str, Any], path: str) -> None:
    """Draws the distance of each edge from the beat, less the median. The median is the difference between
    the measurements of two Link peers."""
    series = {line["pulse"]: line for result in measured["results"] if result["scene"]["name"] == "pulse"
              for line in result["lines"] if line["type"] == "edges" and line["errors"]}
    widest = "; ".join(f"{name}: {len(series[key]['errors'])} edges, within {max(map(abs, series[key]['errors'])):.1f} us"
                       for key, (_, name) in NAMES.items() if key in series)
    pyplot.rcParams.update(STYLE)
    figure, axis = pyplot.subplots(figsize=(8.6, 3.6), layout="constrained")
    figure.suptitle("A pulse's edge between two frames: how far from the beat\n", x=0.01, ha="left", fontsize=11, fontweight="bold")
    figure.text(0.01, 0.9, f"by correlation, around the median; {widest}", fontsize=9)
    for key, (colour, name) in NAMES.items():
        if key in series:
            axis.plot(series[key]["seconds"], series[key]["errors"], ".", color=colour, label=name, alpha=0.75, markersize=4)
    figure.legend(loc="upper right", ncols=len(NAMES), frameon=False, labelcolor="linecolor")
    axis.axhspan(-2, 2, color=OURS, alpha=0.12, linewidth=0)
    axis.axhline(0, color=TEXT, linewidth=0.8)
    axis.set_ylabel("error")
    axis.yaxis.set_major_formatter("{x:g} us")
    axis.set_xlabel("seconds; the band is 2 us to either side, a frame of 48 kHz is 20.8 us")
    write(figure, path)
