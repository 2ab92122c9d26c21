# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench audio-forgers [-h] [--quick] [--json FILE]

tools/bench audio-forgers: tactus plays a channel of another machine's tactus, a beat late, and a third machine attacks it in five ways
(tools/lib/workshop/bench/audio_enemy.py says how). Of each stretch, and of one without an attack:

    count, median, least, most   pulses of the channel against tactus's own click, in frames
    dropouts, lost, late         of the channel
    processor                    of the attacked tactus, in % of a core
    grown                        its resident memory after it, against the start, in MB
    sent, back                   datagrams of the attacker, and what it got for them; bytes likewise

options:
  -h, --help   show this help message and exit
  --quick      4 seconds each instead of 20
  --json FILE"""

import json
import subprocess
import tempfile
import time
from typing import Any

from .. import build, processes
from ..common import LAB, fail, module
from .actors import Figures
from .link_audio import APART, machine, on_second_host

KINDS = ("crowd", "flood", "spoofer", "twin", "liar")
COUNTS = ("audio/dropouts", "audio/lost", "audio/late")
# Limits: the memory that an attacked process may gain, in MB, and the distance that a click may move, in
# frames (clicks lie on whole frames).
GROWTH, MOVED = 16.0, 1.0


def status() -> Figures:
    found: Figures = json.loads(on_second_host(build.tactus(), "status", "--json"))
    return found


def stretch(process: int, port: str, seconds: float, kind: str | None) -> Figures:
    before = status()
    command = [LAB, "on", "3", *module("bench.audio_enemy", kind, "10.77.0.3", "10.77.0.2", str(seconds + 2))] if kind else ["true"]
    enemy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(3)
    heard: Figures = {}

    def listen() -> None:
        heard.update(json.loads(on_second_host("/usr/bin/python3", APART, str(seconds), "tactus:click_1", port)))

    used = processes.percent(process, listen)
    told, _ = enemy.communicate()
    if enemy.returncode != 0:
        fail("bench audio-forgers", f"the attacker ended with {enemy.returncode}", 1)
    after = status()
    return {**heard, **{name.split("/")[1]: after[name] - before[name] for name in COUNTS}, "processor": round(used, 1),
            "resident": processes.status(process, "VmRSS") / 1024, **(json.loads(told) if kind else {})}


def ready(_: object) -> None:
    build.tactus()


def measure(options: Any) -> tuple[object, bool]:
    seconds = 4.0 if options.quick else 20.0
    figures: Figures = {}
    click = ("--link-audio", "--click", "--click-pattern=x")
    with tempfile.TemporaryDirectory() as home, machine(1, home, *click, "--send=Click=tactus:click_1"), \
            machine(2, home, *click, "--link-audio-delay=1beat", "--receive=tactus@*/Click", "--send=Bait") as victim:
        time.sleep(8)
        ports = on_second_host("jack_lsp", "Click_l").split()
        if not ports:
            fail("bench audio-forgers", "the channel did not come", 1)
        for kind in (None, *KINDS, None):
            name = kind or ("before" if not figures else "after")
            figures[name] = stretch(victim, ports[0], seconds, kind)
            figures[name]["grown"] = round(figures[name].pop("resident") - figures.get("before", {}).get("start", 0), 1)
            if name == "before":
                figures[name]["start"] = figures[name]["grown"]
                figures[name]["grown"] = 0.0
            print(f"{name:<8}" + "  ".join(f"{what} {value}" for what, value in figures[name].items()), flush=True)
    held = all(found["median"] is not None and abs(found["median"]) <= MOVED and found["grown"] <= GROWTH and found["dropouts"] == 0
               for found in figures.values())
    print("holds" if held else "FAILS")
    return figures, held
