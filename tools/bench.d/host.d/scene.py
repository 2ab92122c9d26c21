# SPDX-License-Identifier: GPL-2.0-or-later
"""One scene of tools/bench host, inside of its lab; prints JSON lines."""

import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "audio.d"))

import actors

RATE = 48000


def say(line):
    print(json.dumps(line), flush=True)


def ear(scene, ports, quantum=4):
    """The listener first: it founds the session, so the others measure its clock, never it theirs."""
    return actors.Ear(scene["listen"], ["--tempo", "131", "--quantum", str(quantum), *ports], say)


def bbt(scene):
    """Bar, beat and tick as shown, for tactus and for the naive bridge, one after the other."""
    for who in ("tactus", "naive"):
        if who == "tactus":
            judge = ear(scene, ["tactus:click_1"])
            player = actors.Tactus(scene["tactus"], options=("--launch=now", "--no-osc"))
        else:
            player = subprocess.Popen([scene["naive"]], stdin=subprocess.DEVNULL)
            # Nothing of the naive bridge's sounds; the hardware's latency is that of any port that feeds it.
            judge = ear(scene, ["exact:out", "--exact", "0"])
        judge.wait_ready()
        judge.wait_peers(1)
        time.sleep(2.5)
        judge.tell("roll")
        for tempo in scene["tempos"]:
            judge.tell(f"tempo {tempo}")
            time.sleep(1.2)
            judge.tell(f"section {who}_{tempo:g}")
            time.sleep(scene["seconds"])
            judge.report()
        judge.tell("halt")
        time.sleep(0.2)
        judge.end()
        if who == "tactus":
            player.end()
        else:
            player.kill()
            player.wait()
        time.sleep(0.5)


def look(judge):
    time.sleep(0.05)
    judge.tell("look")
    return judge.wait("looked", 5)


def wait_for(judge, state, seconds):
    """Until JACK's transport is stopped (0) or rolls (1)."""
    deadline = time.monotonic() + seconds
    while look(judge)["state"] != state and time.monotonic() < deadline:
        pass


def press(judge, scene, tempo, quantum, starter, turn):
    """Locates to a whole beat of the song whose turn in the session's quantum is soon, and starts there."""
    ahead = (0.9 if scene["slowed"] else 0.3) + 0.071 * turn
    beat = math.ceil(look(judge)["beat"] + ahead * tempo / 60)
    micros = round(60e6 / tempo)
    judge.tell(f"locate {round((28 + (beat - 28) % quantum) * micros * RATE / 1e6)}")
    time.sleep(0.2)
    judge.tell({"transport": "roll", "peer": "play"}[starter])
    # The other client may send the first start a boundary on.
    wait_for(judge, 1, 2 * quantum * micros / 1e6 + 1)
    time.sleep(0.1)


def start(scene):
    """Starts from a whole number of beats into the song, as a DAW that counts frames hears them."""
    slow = subprocess.Popen([scene["slow"], "200"], stdin=subprocess.DEVNULL) if scene["slowed"] else None
    for align in ("nearest", "exact"):
        for quantum in scene["quantums"]:
            judge = ear(scene, ["--start-stop", "tactus:click_1"], quantum)
            player = actors.Tactus(
                scene["tactus"],
                options=(f"--align={align}", f"--quantum={quantum}", "--start-stop-sync", "--no-osc"))
            judge.wait_ready()
            judge.wait_peers(1)
            time.sleep(2)
            judge.tell("section warming")
            for tempo in scene["tempos"]:
                judge.tell(f"tempo {tempo}")
                time.sleep(0.5)
                for turn in range(1 if tempo < 60 else scene["rounds"]):
                    for starter in ("transport", "peer"):
                        press(judge, scene, tempo, quantum, starter, turn)
                        judge.tell(f"section {align}_{tempo:g}_{quantum}_{starter}_{turn}")
                        time.sleep(0.5)
                        judge.report()
                        judge.tell({"transport": "halt", "peer": "stop"}[starter])
                        wait_for(judge, 0, 2)
            judge.end()
            player.end()
            time.sleep(0.3)
    if slow:
        slow.kill()
        slow.wait()


def lead(scene):
    """Another client is timebase master and ramps; how far the session is from the bar that it shows, and how often the
    session changes while it does not."""
    ticks = scene["ticks"]
    leader = subprocess.Popen([scene["leader"], str(ticks)], stdin=subprocess.PIPE, text=True)
    judge = ear(scene, ["tactus:click_1"])
    player = actors.Tactus(scene["tactus"], options=("--lead=host", "--no-osc"))
    hut = actors.LinkHut()
    hut.ask("enable on")
    judge.wait_ready()
    judge.wait_peers(2)
    time.sleep(2)
    judge.tell("section warming")
    judge.tell("roll")
    wait_for(judge, 1, 5)
    time.sleep(2)
    turns = [("a ramp down", 90, 4, 4), ("a ramp up", 150, 6, 4), ("a step", 133, 0, 4),
             ("silence", 133, 0, scene["silence"])]
    for name, tempo, seconds, listens in turns:
        if name != "silence":
            leader.stdin.write(f"ramp {tempo} {seconds}\n")
            leader.stdin.flush()
            time.sleep(seconds + 3)
        judge.tell(f"section {ticks}_{tempo}_{name.replace(' ', '-')}")
        time.sleep(listens)
        judge.report()
        say({"type": "hut", "section": f"{ticks}_{tempo}_{name.replace(' ', '-')}", "tempo": hut.ask("status")["tempo"]})
    judge.end()
    player.end()
    hut.end()
    leader.stdin.close()
    leader.wait()


if __name__ == "__main__":
    description = json.loads(sys.argv[1])
    {"bbt": bbt, "start": start, "lead": lead}[description["kind"]](description)
