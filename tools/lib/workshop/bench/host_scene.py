# SPDX-License-Identifier: GPL-2.0-or-later
"""One scene of tools/bench host, inside its lab. Prints JSON lines."""

import json
import math
import time
from typing import Any

from .. import listening
from ..listening.recorder import Recorder
from ..listening.report import Message
from ..peers import driver
from . import actors, song_scene

RATE = 48000
Scene = dict[str, Any]


def ear(*ports: object, quantum: int = 4) -> listening.Ear:
    """The listener, which starts first: it founds the session, so the other peers measure its clock."""
    return actors.ear("--tempo", "131", "--quantum", quantum, *ports)


def bbt(scene: Scene) -> None:
    """Measures the bar, beat and tick on JACK's transport, first as tactus shows them, then as the naive
    bridge does."""
    for who in ("tactus", "naive"):
        # The naive bridge has no audio output, so the latency is read from another port. It is the hardware's
        # latency, which all ports that feed the hardware have.
        judge = ear("tactus:click_1") if who == "tactus" else ear("exact:out", "--exact", "0")
        # The naive bridge (record.cpp) is a timebase master with a Link peer, and nothing else.
        player = (actors.tactus(scene["tactus"], "--launch=now", "--no-osc") if who == "tactus"
                  else Recorder(["name=naive", "naive=1"]))
        judge.wait_for_peers(1)
        time.sleep(2.5)
        judge.tell("roll")
        for tempo in scene["tempos"]:
            judge.tell(f"tempo {tempo}")
            time.sleep(1.2)
            judge.section(f"{who}_{tempo:g}", scene["seconds"])
        judge.tell("halt")
        time.sleep(0.2)
        judge.end()
        player.end()
        time.sleep(0.5)


def look(judge: listening.Ear) -> Message:
    time.sleep(0.05)
    return judge.tell("look")


def wait_for(judge: listening.Ear, state: int, seconds: float) -> None:
    """Waits until JACK's transport is stopped (0) or rolls (1)."""
    deadline = time.monotonic() + seconds
    while look(judge)["state"] != state and time.monotonic() < deadline:
        pass


def press(judge: listening.Ear, is_slowed: bool, tempo: float, quantum: int, starter: str, turn: int) -> None:
    """Locates to a whole beat of the song that the session's quantum reaches soon, and starts there."""
    ahead = (0.9 if is_slowed else 0.3) + 0.071 * turn
    beat = math.ceil(look(judge)["beat"] + ahead * tempo / 60)
    micros = round(60e6 / tempo)
    judge.tell(f"locate {round((28 + (beat - 28) % quantum) * micros * RATE / 1e6)}")
    time.sleep(0.2)
    judge.tell({"transport": "roll", "peer": "play"}[starter])
    # The slow client may delay the first start to the next boundary of the quantum.
    wait_for(judge, 1, 2 * quantum * micros / 1e6 + 1)
    time.sleep(0.1)


def move_beat(judge: listening.Ear, tempo: float) -> None:
    """Moves the session's beat to another part of a frame. If a beat is a whole number of frames, as at 120
    BPM, all starts would otherwise have the same rounding error, and their median would say little."""
    judge.tell(f"tempo {tempo + 11:g}")
    time.sleep(0.1)
    judge.tell(f"tempo {tempo:g}")
    time.sleep(0.5)


def start(scene: Scene) -> None:
    """Starts from a whole number of beats into the song, and judges it as a DAW that counts frames hears
    it."""
    slow = driver.Peer("jack") if scene["slowed"] else None
    if slow:
        slow.ask("slow 200")
    for align in ("nearest", "exact"):
        for quantum in scene["quantums"]:
            judge = ear("--start-stop", "tactus:click_1", quantum=quantum)
            player = actors.tactus(scene["tactus"], f"--launch-align={align}", f"--quantum={quantum}", "--startstop", "--no-osc")
            judge.wait_for_peers(1)
            time.sleep(2)
            judge.tell("section warming")
            for tempo in scene["tempos"]:
                for turn in range(1 if tempo < 60 else scene["rounds"]):
                    for starter in ("transport", "peer"):
                        move_beat(judge, tempo)
                        press(judge, scene["slowed"], tempo, quantum, starter, turn)
                        judge.section(f"{align}_{tempo:g}_{quantum}_{starter}_{turn}", 0.5)
                        judge.tell({"transport": "halt", "peer": "stop"}[starter])
                        wait_for(judge, 0, 2)
            judge.end()
            player.end()
            time.sleep(0.3)
    if slow:
        slow.end()


def main(words: list[str]) -> None:
    scene = json.loads(words[0])
    {"bbt": bbt, "start": start, "song": song_scene.song, "daws": song_scene.daws, "loops": song_scene.loops}[scene["kind"]](scene)
