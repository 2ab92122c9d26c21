# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays scenes, and turns their results into words and figures."""

import sys
import time
from collections.abc import Callable
from typing import Any

from .. import build, common, processes

COLUMNS = "  {:<24}{:<25}{:>6}{:>10}{:>10}{:>10}{:>9}  {}"
Line = dict[str, Any]


def play(scenes: list[Line], module: str, options: Any, shown: Callable[[Line], str]) -> tuple[dict[str, Any], bool]:
    """Plays each scene in a lab of its own. Returns all figures, and whether all scenes succeeded."""
    results = []
    for scene in scenes:
        others = "" if options.quick else processes.quiet()
        sys.stderr.write(f"{scene['title']} ...\n")
        lab = ["--period", str(scene["period"]), "--rate", str(scene.get("rate", 48000)),
               *["--pipewire"] * scene.get("pipewire", False),
               *(["--root", scene["root"]] if scene.get("root") else []), *(["--hosts", str(scene["hosts"])] if scene.get("hosts") else [])]
        began = time.monotonic()
        status, lines = common.play(lab, module, {**scene, "tactus": build.tactus(options.tactus)})
        results.append({"scene": scene, "seconds": round(time.monotonic() - began, 1), "status": status,
                        "others": others, "lines": lines})
        print(shown(results[-1]), flush=True)
    return {"machine": common.machine(), "results": results}, not any(result["status"] for result in results)


def of(result: Line) -> str:
    scene, lines = result["scene"], result["lines"]
    text = [f"{scene['title']}   ({result['seconds']} s{result['others']})"]
    if result["status"] != 0:
        text.append(f"  ended with status {result['status']}")
    text += {"callback": callback, "pulse": pulses}.get(scene["kind"], clicks)(lines)
    text += [f"  note: {line['text']}" for line in lines if line["type"] == "note"]
    return "\n".join(text) + "\n"


def clicks(lines: list[Line]) -> list[str]:
    text = [COLUMNS.format("microseconds", "", "n", "median", "least", "most", "range", "")]
    for line in lines:
        if line["type"] == "summary":
            text += summary(line)
        elif line["type"] == "bbt":
            text.append(row(line["section"], "JACK's bar|beat|tick", line["error"], ""))
        elif line["type"] == "midi":
            text.append("  " + midi(line))
        elif line["type"] == "method":
            text.append(method(line))
    return text


def pulses(lines: list[Line]) -> list[str]:
    text = []
    for line in lines:
        if line["type"] == "method":
            text.append(method(line))
        elif line["type"] == "edges" and line["errors"]:
            errors = sorted(abs(error) for error in line["errors"])
            text.append(f"  {line['pulse']:<24}{len(errors)} edges, {', '.join(f'{middle:+.2f}' for middle in line['medians'])} us from the beat "
                        f"(median), around that within {errors[-1]:.2f} us, 99 % within {errors[int(0.99 * (len(errors) - 1))]:.2f}")
        elif line["type"] == "edges":
            text.append(f"  {line['pulse']:<24}nothing could be judged")
    return text


def summary(line: Line) -> list[str]:
    remarks = []
    for word in ("missing", "doubled"):
        if line[word]:
            some = ", ".join(f"{beat:g}" for beat in line[word][:4]) + (", ..." if len(line[word]) > 4 else "")
            remarks.append(f"{len(line[word])} {word} ({some})")
    if line["lost_in_stalls"]:
        remarks.append(f"{line['lost_in_stalls']} in lost cycles")
    if line["per_beat"] != 1 and line["by_jack"]["n"]:
        remarks.append(f"{line['beyond_a_frame'] or 'none'} more than a frame off")
    remark = "; ".join(remarks)
    name, jack, wall = line["port"], line["by_jack"], line["by_wall"]
    found = []
    if jack["n"]:
        found.append(row(line["section"], name, jack, remark))
    if wall["n"] and jack["n"] < 0.8 * wall["n"]:
        over = line["wall_over_500us"]
        by_wall = ["by the wall" + (f", {over} over 500 us" if over else "")] + ([] if jack["n"] else [remark])
        found.append(row(line["section"], name, wall, "; ".join(part for part in by_wall if part)))
    return found or [f"  {line['section']:<24}{name:<25}     0  nothing could be judged  {remark}"]


def row(section: str, name: str, s: Line, remark: str) -> str:
    if not s["n"]:
        return f"  {section:<24}{name:<25}     0"
    return COLUMNS.format(section, name, s["n"], f"{s['median']:.1f}", f"{s['min']:.1f}", f"{s['max']:.1f}",
                          f"{s['range']:.1f}", remark).rstrip()


def midi(line: Line) -> str:
    words = {"fa": "Start", "fb": "Continue", "fc": "Stop"}
    name = words.get(line["bytes"], f"Song Position {line['bytes']}")
    after = ""
    if "next_clock_beat" in line:
        after = f", next clock {line['next_clock_after'] / 1000:.2f} ms later, at beat {line['next_clock_beat']:.4f}"
    return f"{line['section']:<24}{line['port']:<25}{name} at frame {line['song_frame']}, beat {line['beat']:.4f}{after}"


def method(line: Line) -> str:
    difference = line["jack_minus_wall"]
    settled = f", JACK's clock {difference['median']:+.0f} us from the wall's" if difference["n"] else ""
    return (f"  {line['section']:<24}{line['cycles']} cycles, {line['interruptions']} interruptions, "
            f"{line['server_stalls']} stalls of the server, {line['xruns']} xruns{settled}")


def callback(lines: list[Line]) -> list[str]:
    text = [f"  {'microseconds':<20}{'calls':>8}{'median':>10}{'99 %':>10}{'99.9 %':>10}{'longest':>10}"]
    for line in lines:
        if line["type"] == "callback":
            for name, key in (("elapsed", "elapsed_us"), ("on the CPU", "cpu_us")):
                v = line[key]
                text.append(f"  {line['program'] + ', ' + name:<20}{line['calls']:>8}{v['median']:>10.2f}"
                            f"{v['p99']:>10.2f}{v['p99.9']:>10.2f}{v['max']:>10.1f}")
        elif line["type"] == "not_finished":
            late = ", ".join(f"{name} {count} times" for name, count in sorted(line["programs"].items()))
            text.append(f"  jackd found late: {late or 'nobody'}")
    return text + clicks([line for line in lines if line["type"] in ("summary", "method")])
