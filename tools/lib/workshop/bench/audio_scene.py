# SPDX-License-Identifier: GPL-2.0-or-later
"""A scene of tools/bench audio, inside its lab: the programs start, join one Link session and play, and
tools/listen judges them. Prints JSON lines."""

import collections
import contextlib
import json
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from .. import listening
from ..common import say
from ..peers import driver
from . import actors, audio_pulse

Scene = dict[str, Any]
PORTS = ("LinkHut:out_1", "tactus:click_1", "tactus:clock")
# The user's own outputs in a large studio: eight MIDI clocks with different offsets, six pulses, a reset and
# a run gate.
STUDIO = ([f"--out=clock-{n}=clock offset={3 * n - 10} when=always" for n in range(8)]
          + [f"--out=pulse-{n}=pulse rate={rate}" for n, rate in enumerate(("24", "4", "3/2", "1/bar", "96", "1/64bars"))]
          + ["--out=top=reset", "--out=gate=run"])

# With a swing of 60 %, edges are on fifths of a beat, and clocks on its 60ths. Without the swing, half of them would not be.
SWUNG = {"tactus:click_1@5": ["--click", "--click-subdivision=2", "--click-swing=60/8"],
         "tactus:swung-pulse@5": ["--out=swung-pulse=pulse rate=2 swing=60/8"],
         "tactus:swung-clock@60": ["--out=swung-clock=clock swing=60/8 when=always"]}


@contextlib.contextmanager
def ensemble(scene: Scene, clock: str = "always", environment: Mapping[str, str] | None = None
             ) -> Iterator[tuple[listening.Ear, dict[str, int]]]:
    """Starts the listener first: it founds the session, so the other peers measure its clock. Yields the
    listener and the process ids of the programs that it hears."""
    ear = actors.ear("--events", "--tempo", "131", *PORTS)
    tactus = actors.tactus(scene["tactus"], "--click", f"--clock-when={clock}", environment=environment)
    hut = driver.Peer("linkhut", env=environment)
    running = {"tactus": tactus.pid, "LinkHut": hut.ask("status")["pid"]}
    for line in ("enable on", "wait peers 2 10", "play"):
        hut.ask(line)
    ear.wait_for_peers(2)
    time.sleep(2.5)  # the programs measure the session's clock, then play one or two beats
    yield ear, running
    for each in (ear, tactus, hut):
        each.end()


def beat(scene: Scene) -> None:
    with ensemble(scene) as (ear, _):
        ear.tell("roll")  # so that bar, beat and tick are shown; a start waits for its bar
        time.sleep(12)  # until JACK's own clock, by which we judge, has settled after the server's start
        for section in scene["sections"]:
            ear.tell(f"tempo {section['tempo']}")
            time.sleep(1.2)
            ear.tell(f"section {section['name']}")
            tempi = section.get("changes", [])
            for bpm in tempi:
                time.sleep(section["seconds"] / (len(tempi) + 1))
                ear.tell(f"tempo {bpm} half")
            time.sleep(section["seconds"] / (len(tempi) + 1))
            ear.tell("report")


def exact(scene: Scene) -> None:
    """Plays the exact click twice: in the listener itself, and in another process that is a Link peer and
    has to measure the session."""
    for offset in scene["offsets"]:
        for is_other in (False, True):
            ear = actors.ear("--events", "--tempo", "187.3", *([] if is_other else ["--exact", offset]), "exact:out")
            player = None
            if is_other:
                time.sleep(1)
                player = listening.Ear(["--name", "exact-peer", "--exact", str(offset)]).process
            ear.wait_for_peers(1 if is_other else 0)
            time.sleep(2.5 if is_other else 0)
            ear.section(f"{offset:+g}_us," + ("_through_Link" if is_other else "_same_peer"), scene["seconds"])
            ear.end()
            if player:
                player.kill()
                player.wait()
            time.sleep(0.5)


def clock(scene: Scene) -> None:
    with ensemble(scene, clock="rolling") as (ear, _):
        for frame in (0, 100_001):
            for line, seconds in (("tempo 97", 0.0), ("halt", 1), (f"locate {frame}", 1), (f"section from_{frame}", 0.3),
                                  ("roll", 5), ("tempo 133.7 half", 3)):
                ear.tell(line)
                time.sleep(seconds)
            ear.tell("report")


def callback(scene: Scene) -> None:
    environment = actors.timed()
    with ensemble(scene, environment=environment) as (ear, running):
        studio = driver.Program([scene["tactus"], "--name=studio", "--click", "--clock-when=always", "--no-osc", *STUDIO],
                                environment)
        running["tactus, 16 more outputs"] = studio.pid
        ear.tell("tempo 187.3")
        ear.tell("roll")
        time.sleep(2.5)
        times = {name: actors.Times(process) for name, process in running.items()}
        ear.section("callback", scene["seconds"])
        for name, found in times.items():
            say({"type": "callback", "program": name, **found.figures()})
        say({"type": "not_finished", "programs": not_finished()})
        studio.end()


def not_finished() -> dict[str, int]:
    """The clients that jackd reported as late, and how often."""
    log = pathlib.Path(os.environ["LAB_DIR"], "jackd-1.log")
    text = log.read_text(errors="replace") if log.exists() else ""
    return collections.Counter(re.findall(r"client = (\S+).* was not finished", text))


def pulse(scene: Scene) -> None:
    if not audio_pulse.pulse(scene):
        sys.exit(1)


def swing(scene: Scene) -> None:
    """Judges a click, a pulse and a MIDI clock that swing. The listener also expects edges where the swing has none, so what it
    misses says nothing."""
    ear = listening.Ear(["--tempo", "131", *SWUNG], lambda message: say({**message, "missing": []}))
    player = actors.tactus(scene["tactus"], *(option for options in SWUNG.values() for option in options))
    ear.wait_for_peers(1)
    time.sleep(17)  # until JACK's own clock, by which we judge, has settled after the server's start
    for bpm, seconds in scene["tempos"].items():
        ear.tell(f"tempo {bpm}")
        time.sleep(2 + 120 / float(bpm))
        ear.section(f"{bpm}_BPM", seconds)
    ear.end()
    player.end()


def main(words: list[str]) -> None:
    scene = json.loads(words[0])
    {"beat": beat, "exact": exact, "clock": clock, "pulse": pulse, "swing": swing, "callback": callback}[scene["kind"]](scene)
