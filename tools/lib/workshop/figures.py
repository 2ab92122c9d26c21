# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of docs/images, from the JSON of the areas: one function for each picture. matplotlib draws."""

import io
import json
import os
import pathlib
import statistics
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

MICROS = [-100_000, -10_000, -1000, -100, -10, 0, 10, 100, 1000, 10_000, 100_000]
# The colours of our and their curve, of text and grid: on light pages and on dark ones.
DARK = {"#1769c4": "#6db3ff", "#c2540a": "#ff9d52", "#333333": "#dddddd", "#bbbbbb": "#555555"}
OURS, THEIRS, TEXT, GRID = DARK
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "tactus", "font.family": "sans-serif", "font.size": 9.5, "text.color": TEXT,
         "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT, "axes.edgecolor": GRID, "grid.color": GRID,
         "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
         "axes.spines.bottom": False, "axes.spines.left": False, "grid.linewidth": 0.5, "xtick.major.size": 0, "ytick.major.size": 0}
Line = dict[str, Any]


def panels(title: str, subtitle: str, label: str, count: int = 1) -> tuple[Any, list[Any]]:
    """Charts side by side that have the y axis in common."""
    if not count:
        raise ValueError
    figure, axes = pyplot.subplots(1, count, sharey=True, squeeze=False, figsize=(8.6, 3.6), layout="constrained")
    figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11, fontweight="bold")
    figure.text(0.01, 0.9, subtitle, fontsize=9)
    axes[0][0].set_ylabel(label)
    return figure, list(axes[0])


def decades(axis: Any) -> None:
    """Microseconds: straight from -10 to 10, then decades."""
    axis.set_yscale("symlog", linthresh=10)
    axis.set_ylim(MICROS[0], MICROS[-1])
    axis.set_yticks(MICROS, [f"{value // 1000} ms" if abs(value) >= 1000 else f"{value} us" if value else "0" for value in MICROS])
    axis.minorticks_off()
    axis.axhline(0, color=TEXT, linewidth=0.8)


def legend(figure: Any, names: list[tuple[str, str]]) -> None:
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour, _ in names]
    figure.legend(handles, [name for _, name in names], loc="upper right", ncols=len(names), frameon=False, labelcolor="linecolor")


def write(figure: Any, path: str) -> None:
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    rules = "".join(f'[style*="{what}: {light}"] {{ {what}: {dark} !important }} ' for light, dark in DARK.items()
                    for what in ("fill", "stroke"))
    head, rest = text.getvalue().split("<defs>", 1)
    style = f"<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style>"
    pathlib.Path(path).write_text(f"{head}{style}\n <defs>{rest}")


def lines(measured: Line, scene: str, kind: str) -> list[Line]:
    return [line for result in measured["results"] if result["scene"]["name"] == scene
            for line in result["lines"] if line["type"] == kind]


def is_sure(line: Line) -> bool:
    return bool(line["steady"]) and line["since_stall"] >= 2


def clicks(measured: Line) -> Any:
    """Each click's distance from the beat, by JACK's clock alone: under load the wall's wake-ups are all late, and would put
    every program's clicks half a millisecond early. What came while that clock was not settled is left out, and counted."""
    ports = {"LinkHut:out_1": (THEIRS, "LinkHut"), "tactus:click_1": (OURS, "tactus")}
    steady = [line for line in lines(measured, "beat", "onset") if line["section"] != "tempo-changes"]
    section = statistics.mode(line["section"] for line in steady)
    halves = [(f"idle, {section} BPM", [line for line in steady if line["section"] == section]),
              ("three busy loops, no real-time scheduling", lines(measured, "busy", "onset"))]
    halves = [half for half in halves if half[1]]
    figure, axes = panels("Clicks: how far from the session's beat", "each dot one click, by JACK's clock; late is above; "
                          "+- 10 us straight, then decades", "error", len(halves))
    legend(figure, list(ports.values()))
    for axis, (label, heard) in zip(axes, halves):
        decades(axis)
        began = min(line["heard"] for line in heard if line["heard"] is not None)
        seconds, left_out = max(line["heard"] - began for line in heard if line["heard"] is not None) / 1e6, []
        axis.set_xlim(0, seconds)
        for port, (colour, name) in ports.items():
            mine = [line for line in heard if line["port"] == port]
            known = [line for line in mine if is_sure(line) and line["quiet"] and line["error"] is not None]
            axis.plot([(line["heard"] - began) / 1e6 for line in known], [line["error"] for line in known], ".", color=colour,
                      alpha=0.75, markersize=4)
            left_out.append(f"{len(mine) - len(known)} of {len(mine)} by {name}")
        axis.set_xlabel(f"{label}, seconds\nnot judged: {', '.join(left_out)}")
    return figure


def clock(measured: Line) -> Any:
    """How many of all MIDI clocks are how far from the grid, by JACK's clock, where it is settled."""
    ours = [line for line in lines(measured, "beat", "clock") if line["section"] != "tempo-changes" and is_sure(line)]
    theirs = [line["error"] for line in lines(measured, "clock", "clock")
              if line["port"].startswith("jack_midi_clock") and line["section"] == "from_0"]
    series = [(colour, name, [value for value in errors if value is not None]) for colour, name, errors in (
        (OURS, "tactus", [line["error"] for line in ours if line["quiet"]]), (THEIRS, "jack_midi_clock", theirs))]
    series = [(colour, name, [value - statistics.median(values) for value in values]) for colour, name, values in series
              if len(values) > 20]
    shown = "; ".join(f"{name}: {len(values)} clocks, within {max(values) - min(values):.0f} us" for _, name, values in series)
    figure, axes = panels("MIDI clock: jitter around the median", shown, "of all clocks", min(1, len(series)))
    legend(figure, [(colour, name) for colour, name, _ in series])
    axes[0].hist([[max(-60, min(59.9, value)) for value in values] for _, _, values in series], bins=range(-60, 61, 5),
                 weights=[[100 / len(values)] * len(values) for _, _, values in series], color=[each[0] for each in series], alpha=0.7)
    axes[0].yaxis.set_major_formatter("{x:g} %")
    axes[0].set_xlabel("microseconds from the median, 5 us a bar; what is beyond counts in the last")
    return figure


def pulse(measured: Line) -> Any:
    """Each edge's distance from the beat, around the median, which is what two Link peers differ by."""
    series = {line["pulse"]: line for line in lines(measured, "pulse", "edges") if line["errors"]}
    names = {"nearest": (THEIRS, "at the nearest frame"), "fine": (OURS, "fine=yes")}
    widest = "; ".join(f"{name}: {len(series[key]['errors'])} edges, within {max(map(abs, series[key]['errors'])):.1f} us"
                       for key, (_, name) in names.items() if key in series)
    figure, axes = panels("A pulse's edge between two frames: how far from the beat", f"by correlation, around the median; {widest}",
                          "error", min(1, len(series)))
    legend(figure, list(names.values()))
    for key, (colour, _) in names.items():
        if key in series:
            axes[0].plot(series[key]["seconds"], series[key]["errors"], ".", color=colour, alpha=0.75, markersize=4)
    axes[0].axhspan(-2, 2, color=OURS, alpha=0.12, linewidth=0)
    axes[0].axhline(0, color=TEXT, linewidth=0.8)
    axes[0].yaxis.set_major_formatter("{x:g} us")
    axes[0].set_xlabel("seconds; the band is 2 us to either side, a frame of 48 kHz is 20.8 us")
    return figure


def bbt(measured: Line) -> Any:
    """From the least to the greatest error, with the median, at each tempo."""
    found: dict[str, dict[float, dict[str, Line]]] = {}
    for result in measured["results"]:
        for line in result["lines"]:
            if line["type"] == "bbt" and line["error"]["n"] and line["section"].count("_") == 1:
                who, tempo = line["section"].split("_")
                server = f"{'PipeWire' if result['scene'].get('pipewire') else 'jackd'}, {result['scene']['period']} frames"
                found.setdefault(server, {}).setdefault(float(tempo), {})[who] = line["error"]
    names = {"tactus": OURS, "naive": THEIRS}
    figure, axes = panels("JACK's bar, beat and tick against the beat that is heard",
                          "range and median; ticks are cut off, so up to one is nobody's fault", "late by", len(found))
    legend(figure, [(colour, name) for name, colour in names.items()])
    for axis, (server, tempos) in zip(axes, found.items()):
        decades(axis)
        axis.set_xlabel(server)
        axis.set_xticks(range(len(tempos)), [f"{tempo:g} BPM" for tempo in sorted(tempos)])
        for place, tempo in enumerate(sorted(tempos)):
            for offset, (who, error) in zip((-0.17, 0.17), sorted(tempos[tempo].items(), reverse=True)):
                axis.bar(place + offset, error["max"] - error["min"], 0.3, bottom=error["min"], color=names[who], alpha=0.6)
                axis.hlines(error["median"], place + offset - 0.15, place + offset + 0.15, color=names[who], linewidth=2)
    return figure


def crowd(measured: Line) -> Any:
    rows = measured["rows"]
    figure, (axis,) = panels("What a crowd costs", "processor time of one program while so many peers announce themselves "
                             "four times a second", "of one core")
    legend(figure, [(OURS, "our Link"), (THEIRS, "reference library")])
    for who, colour in (("ours", OURS), ("reference", THEIRS)):
        axis.plot([row["peers"] for row in rows], [max(row[who], 0.01) for row in rows], ".-", color=colour)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([row["peers"] for row in rows], [row["peers"] for row in rows])
    axis.set_yscale("log")
    axis.set_ylim(0.01, 100)
    axis.yaxis.set_major_formatter("{x:g} %")
    axis.minorticks_off()
    axis.set_xlabel("peers in the session")
    return figure


def link_audio(measured: Line) -> Any:
    """From the earliest to the latest sound of each stretch, with the median."""
    rows = [*measured["places"].items(), *((f"JACK, {name}", found) for name, found in measured["jack"].items())]
    rows = [(name, found) for name, found in rows if found["median"] is not None]
    figure, (axis,) = panels("A channel of another machine: how far from its beat and the chosen delay",
                             "range and median of all its sounds; through JACK each click lies on a whole frame, there and here", "late by",
                             min(1, len(rows)))
    legend(figure, [(OURS, "tactus")])
    for place, (_, found) in enumerate(rows):
        axis.bar(place, found["most"] - found["least"], 0.5, bottom=found["least"], color=OURS, alpha=0.6)
        axis.hlines(found["median"], place - 0.3, place + 0.3, color=OURS, linewidth=2)
    axis.set_yscale("symlog", linthresh=1)
    axis.set_yticks([-100, -10, -1, -0.5, 0, 0.5, 1, 10, 100], ["-100 frames", "-10", "-1 frame", "", "0", "", "1 frame", "10", "100 frames"])
    axis.minorticks_off()
    axis.axhline(0, color=TEXT, linewidth=0.8)
    axis.set_xticks(range(len(rows)), [name.replace(" of ", "\nof ").replace("1 % ", "\n1 % ").replace(", ", ",\n") for name, _ in rows])
    return figure


PICTURES = [("clicks", "audio", clicks), ("clock", "audio", clock), ("pulse", "audio", pulse), ("bbt", "host", bbt),
            ("crowd", "crowd", crowd), ("link-audio", "link-audio", link_audio)]


def draw(source: str, target: str) -> None:
    pyplot.rcParams.update(STYLE)
    for name, area, picture in PICTURES:
        path = os.path.join(source, area + ".json")
        if not os.path.exists(path):
            print(f"{name}.svg: not drawn, there is no {path}")
            continue
        measured = json.loads(pathlib.Path(path).read_text())
        try:
            write(picture(measured), os.path.join(target, name + ".svg"))
            print(f"{name}.svg")
        except ValueError:
            print(f"{name}.svg: not drawn, {path} has too little for it")
