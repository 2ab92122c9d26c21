# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight clock outputs with offsets of their own, two of which are armed in turn while the others play, through changes of
tempo: each against its own grid, each start against the song's bar lines. Prints JSON lines."""

import time
from collections.abc import Sequence
from typing import Any

from .. import listening, osc
from ..common import say
from . import actors

Line = dict[str, Any]
OFFSETS = (0, 4, -7, 12.5, 30, -30, 0.01, 21)  # milliseconds
ARMED = (2, 5)
BAR = 4  # beats
FRAME = 1e6 / 48000
TWO_FRAMES = 2 * FRAME + 2  # JACK's times are whole microseconds
NAMES = [f"clock-{place}" for place in range(len(OFFSETS))]


def clocks(scene: Line) -> bool:
    """Whether all was as it should be."""
    heard: list[Line] = []

    def hear(line: Line) -> None:
        heard.append(line)
        say(line)

    ear = listening.Ear(["--tempo", "131", f"--offsets={','.join(map(str, OFFSETS))}", *(f"tactus:{name}" for name in NAMES)], hear)
    player = actors.tactus(scene["tactus"], *(f"--out={name}=clock offset={offset} when=always"
                                              for name, offset in zip(NAMES, OFFSETS, strict=True)))
    ear.wait_for_peers(1)
    time.sleep(17)  # JACK's own clock, by which is judged, takes so long to settle in a server's first seconds
    went_well = True
    for tempo in scene["tempos"]:
        heard.clear()
        play(ear, osc.Controller(), tempo)
        found = verdict(f"{tempo:g}", heard)
        say(found)
        went_well = went_well and not found["wrong"]
    ear.end()
    player.end()
    return went_well


def play(ear: listening.Ear, desk: osc.Controller, tempo: float) -> None:
    """A start of the song for six of them, and of each of the two by itself, with a change of tempo after it."""
    ear.tell(f"tempo {tempo}")
    for place in ARMED:
        desk.say(f"out/{NAMES[place]}/play", "i", 0)
    ear.tell("locate 0")
    time.sleep(2)
    ear.tell(f"section {tempo:g}")
    ear.tell("roll")
    bar = BAR * 60 / tempo
    time.sleep(bar + 1)
    for place, changed in zip(ARMED, (1.25 * tempo, tempo)):
        desk.say(f"out/{NAMES[place]}/play", "i", 1)
        time.sleep(bar + 1)
        ear.tell(f"tempo {changed} half")
        bar = BAR * 60 / changed
        time.sleep(bar / BAR + 3)
    ear.tell("report")
    ear.tell("halt")
    time.sleep(1)


def verdict(section: str, heard: Sequence[Line]) -> Line:
    """What is wrong, in words. Clocks are judged wherever the server is undisturbed; the starts only if it was all the time."""
    summaries = [line for line in heard if line["type"] == "summary"]
    commands = [line for line in heard if line["type"] == "midi"]
    method = next(line for line in heard if line["type"] == "method")
    judged = [line["by_jack"] for line in summaries if line["by_jack"]["n"]]
    beyond = sum(line["beyond_a_frame"] - line["of_these_after_a_loss"] for line in summaries)
    wrong = [f"{beyond} clocks more than a frame off"] * (beyond > 0)
    wrong += [f"{line['port']}: {len(line[word])} {word}" for line in summaries for word in ("missing", "doubled") if line[word]]
    is_disturbed = method["interruptions"] + method["server_stalls"] > 0
    begun = [line for line in commands if line["bytes"] == "fa" and "next_clock_beat" in line]
    starts = {} if is_disturbed else first_clocks(begun)
    if not is_disturbed:
        wrong += ["no start could be judged"] * (not starts)
        for name in NAMES:
            said = [line["bytes"] for line in commands if line["port"] == f"tactus:{name}"]
            if said != ["fa"]:
                wrong.append(f"tactus:{name}: sent {' '.join(said) or 'no Start'} instead of one Start")
        wrong += [f"{port}: its first clock was {micros:.0f} us from a bar line" for port, micros in starts.items()
                  if abs(micros) > TWO_FRAMES]
    return {"type": "clocks", "section": section, "judged": sum(line["n"] for line in judged), "beyond": beyond,
            "made_up": sum(line["of_these_after_a_loss"] for line in summaries),
            "heard": sum(line["heard"] for line in summaries), "least": min((line["min"] for line in judged), default=None),
            "most": max((line["max"] for line in judged), default=None), "starts": starts,
            "starts_not_judged": len(begun) - len(starts), "wrong": wrong}


def first_clocks(begun: Sequence[Line]) -> dict[str, float]:
    """Of each machine that was started: how far its first clock is from a bar line, in microseconds. The bars are those of the
    song, which starts for the others; each clock may be half a frame from its place. Left out are those in whose cycle JACK's
    clock was a frame from where it usually is: their bars were another clock's."""
    starts = [line for line in begun if line["next_clock_apart"] is not None and abs(line["next_clock_apart"]) <= FRAME]
    downbeat = min((line["next_clock_beat"] for line in starts), default=0.0)
    found = {}
    for line in starts:
        beats = line["next_clock_beat"] - downbeat
        beat_micros = line["next_clock_after"] / (line["next_clock_beat"] - line["beat"])
        found[line["port"]] = (beats - BAR * round(beats / BAR)) * beat_micros
    return found
