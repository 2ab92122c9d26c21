# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench page [--quick] [--only SCENES] [--json FILE] [--tactus PROGRAM]

The page for phones, in a real Chromium without a window, on the real program in a lab. About ten minutes.

  beat     in each frame the beat that the page has for it, against the reference library's at the same moment, and the beat that
           it draws, against the reference's when that is seen; the browser is another machine. Once on a good wire, once with up to
           40 ms of jitter on each frame of the network
  change   from a peer's new tempo, and from the datagram that says so, until the page has it, and until a frame shows it
  load     first paint and bytes of a browser that was never here; then processor and bytes of a page that stays
  surface  an OSC controller's pings, alone, beside sixteen pages, and beside one that means harm; each beside an echo's
  click    the phone as a click, through PipeWire's PulseAudio door, judged by tools/listen; then through tempo changes

  --quick          less of everything
  --only SCENES    some of these, with commas
  --json FILE      all figures
  --tactus PROGRAM this build of tactus (default: .build/release/tactus, built first)"""

import sys
import time
from typing import Any

from .. import build, common, processes
from ..common import choices, shell
from . import table

Line = dict[str, Any]
NAMES = ["beat", "change", "load", "surface", "click"]


def scenes(options: Any) -> list[Line]:
    few: bool = options.quick
    everything: list[Line] = [
        {"name": "beat", "title": "the beat in each frame, on a good wire", "kind": "beat", "hosts": 2, "tempo": 123, "jitter": 0,
         "seconds": 5 if few else 30},
        {"name": "beat", "title": "the beat in each frame, up to 40 ms of jitter on the wire", "kind": "beat", "hosts": 2, "tempo": 123,
         "jitter": 40, "seconds": 5 if few else 30},
        {"name": "change", "title": "a peer changes the tempo", "kind": "change", "hosts": 2, "rounds": 8 if few else 40},
        {"name": "load", "title": "load, bytes, processor", "kind": "load", "hosts": 2, "rounds": 3 if few else 12,
         "seconds": 3 if few else 10},
        {"name": "surface", "title": "an OSC controller beside pages", "kind": "surface", "hosts": 2,
         "pings": 100 if few else 1000},
        {"name": "click", "title": "the phone as a click, PipeWire", "kind": "click", "pipewire": True,
         # With a number, the page is first calibrated by a user who hears the
         # port that many milliseconds late.
         "sections": [["uncalibrated", 8 if few else 20, [], None], ["calibrated", 10 if few else 150, [], 0],
                      ["tempo-changes", 10 if few else 150, [140, 97.3, 187.3, 60.7, 120], None],
                      ["headphones", 8 if few else 30, [], 200]]},
    ]
    only = choices("bench page", "--only", options.only, NAMES)
    return [scene for scene in everything if scene["name"] in only]


def words(line: Line) -> str:
    if line["type"] == "summary":
        return "\n".join(table.summary(line))
    return f"  {line['type']:<10}" + "  ".join(f"{name} {value}" for name, value in line.items() if name != "type")


def ready(options: Any) -> None:
    scenes(options)
    shell("need_packages", "chromium", "pipewire-pulse")
    shell("need_venv")
    build.tactus(options.tactus)
    build.listener()
    build.lab()


def measure(options: Any) -> tuple[object, bool]:
    results = []
    for scene in scenes(options):
        others = "" if options.quick else processes.quiet()
        sys.stderr.write(f"{scene['title']} ...\n")
        lab = ["--hosts", str(scene["hosts"])] if "hosts" in scene else ["--pipewire"] if scene.get("pipewire") else []
        began = time.monotonic()
        status, lines = common.play(lab, "bench.page_scene", {**scene, "tactus": build.tactus(options.tactus)})
        results.append({"scene": scene, "seconds": round(time.monotonic() - began, 1), "status": status, "others": others, "lines": lines})
        print(f"{scene['title']}   ({results[-1]['seconds']} s{others})" + (f"  ended with status {status}" if status else ""))
        for line in lines:
            if line["type"] in ("beat", "change", "load", "surface", "summary", "phone", "note"):
                print(words(line), flush=True)
    return {"machine": common.machine(), "results": results}, all(held(result) for result in results)


def held(result: Line) -> bool:
    """What the documentation claims."""
    limits = {"beat": ("off_ms", 20 if result["scene"].get("jitter") else 8), "change": ("told_ms", 50), "load": ("first_paint_ms", 300)}
    clicks = [line for line in result["lines"] if line["type"] == "summary" and line["section"] != "uncalibrated"]
    phone = [line for line in result["lines"] if line["type"] == "phone" and line["section"] != "uncalibrated"]
    changes = [line for line in result["lines"] if line["type"] == "change"]
    return not result["status"] and all(line[limits[line["type"]][0]]["median"] < limits[line["type"]][1]
                                        for line in result["lines"] if line["type"] in limits) and (
        all(line["after_datagram_ms"]["worst"] < 50 for line in changes)
        and all(line["drawn_off_ms"]["median"] < limits["beat"][1] for line in result["lines"] if line["type"] == "beat")
        and all(abs(line["median_ms"] + line["late_ms"]) < 5 for line in phone)
        and not any(line["missing"] or line["doubled"] for line in clicks))
