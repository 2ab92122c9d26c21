# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench forgers [-h] [--quick] [--json FILE]

tools/bench forgers: tactus, then LinkHut, each alone in a session of 120 BPM, on a wire where another machine sends 4,000 forged
datagrams a second: ghosts of sessions, beats and times that jump to 0, below it or to the end of numbers, half packets (soak.enemy).

Clicks are heard by a JACK client without Link, and judged by JACK's clock against the even beat of the stretch before the
attack, which nobody had a right to move. Then tactus is given a tempo by OSC, and must keep it.

    before, during, after   clicks, and how far they were from their places: the median and the worst, in microseconds
    missing, doubled        of the beats of that stretch
    tempo_after             heard from the clicks, once 131 BPM were set by OSC

options:
  -h, --help   show this help message and exit
  --quick      4 seconds of it instead of 20
  --json FILE"""

import subprocess
import time
from statistics import median
from typing import Any

from .. import build
from ..common import LAB, fail, module
from ..osc import Controller
from ..peers import driver
from .actors import Figures, Watch

BEAT = 500_000.0
ASKED = 131.0
# In the attack a click's error may be larger than before by at most
# this: a click's place is known to a frame.
FRAME = 1e6 / 48000


def places(clicks: list[float], first: float) -> Figures:
    errors = [(click - first + BEAT / 2) % BEAT - BEAT / 2 for click in clicks]
    numbers = [round((click - first) / BEAT) for click in clicks]
    asked = numbers[-1] - numbers[0] + 1 if numbers else 0
    # The worst error keeps its sign.
    worst: float | None = max(errors, key=lambda error: abs(error)) if errors else None
    return {"clicks": len(clicks), "median": round(median(map(abs, errors)), 1) if errors else None,
            "worst": None if worst is None else round(worst, 1),
            "missing": asked - len(set(numbers)), "doubled": len(numbers) - len(set(numbers))}


def attacked(port: str, seconds: float) -> Figures:
    clicks = Watch(port)
    # JACK's own clock takes this long to settle after the server's start.
    time.sleep(12)
    clicks.onsets()
    time.sleep(seconds)
    before = clicks.onsets()
    if not before:
        fail("bench forgers", f"nothing is heard from {port}", 1)
    # The place of a beat: the median of the clicks, the short way round.
    first = before[0] + median((click - before[0] + BEAT / 2) % BEAT - BEAT / 2 for click in before)
    # The attacker first listens for peers for 1.2 s.
    subprocess.run([LAB, "on", "2", *module("soak.enemy", "forgers", str(seconds), "1")], check=True)
    during = clicks.onsets()
    time.sleep(seconds)
    after = clicks.onsets()
    clicks.end()
    return {name: places(heard, first) for name, heard in (("before", before), ("during", during), ("after", after))}


def tactus(program: str, seconds: float) -> Figures:
    player = driver.Program([program, "--name=tactus", "--click", "--tempo=120"], marks=("OSC: ",))
    player.wait_for("OSC: ")
    time.sleep(1)
    figures = attacked("tactus:click_1", seconds)
    clicks = Watch("tactus:click_1")
    Controller().say("tempo", "f", ASKED)
    time.sleep(2)
    clicks.onsets()
    time.sleep(seconds)
    heard = clicks.onsets()
    clicks.end()
    player.end()
    figures["tempo_after"] = round(60e6 * (len(heard) - 1) / (heard[-1] - heard[0]), 3) if len(heard) > 1 else None
    return figures


def linkhut(seconds: float) -> Figures:
    hut = driver.Peer("linkhut")
    for line in ("tempo 120", "enable on", "play"):
        hut.ask(line)
    time.sleep(1)
    figures = attacked("LinkHut:out_1", seconds)
    hut.end()
    return figures


def holds(figures: Figures) -> bool:
    before = abs(figures["before"]["worst"])
    return figures["tempo_after"] is not None and abs(figures["tempo_after"] - ASKED) < 0.01 and all(
        stretch["clicks"] > 0 and stretch["missing"] == stretch["doubled"] == 0 and abs(stretch["worst"]) <= before + FRAME
        for stretch in (figures["during"], figures["after"]))


def ready(_: object) -> None:
    build.tactus()
    build.listener()


def measure(options: Any) -> tuple[object, bool]:
    seconds = 4.0 if options.quick else 20.0
    figures = {"tactus": tactus(build.tactus(), seconds), "LinkHut": linkhut(seconds)}
    for name, found in figures.items():
        for stretch, values in found.items():
            told = "  ".join(f"{what} {value}" for what, value in values.items()) if isinstance(values, dict) else values
            print(f"{name:<8} {stretch:<12} {told}")
    held = holds(figures["tactus"])
    print("holds" if held else "FAILS")
    return figures, held
