# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens inside of the lab: the programs are started, join one Link session, play; tools/listen judges them.
Prints JSON lines."""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import actors

CLICKS = {"tactus": "tactus:click_1", "LinkHut": "LinkHut:out_1"}


def say(line):
    print(json.dumps(line), flush=True)


def ensemble(scene, listen_options=(), preload=None, tactus_options=("--click", "--clock=always")):
    """The listener first: it founds the session, so the others measure its clock, never it theirs."""
    players = ["LinkHut"] + (["tactus"] if scene["tactus"] else [])
    ports = [CLICKS[name] for name in players] + (["tactus:clock"] if scene["tactus"] else [])
    ports += ["exact:out"] if "--exact" in listen_options else []
    ear = actors.Ear(scene["listen"], ["--events", "--tempo", "131", *listen_options, *ports], say)
    running = {}
    if scene["tactus"]:
        running["tactus"] = actors.Tactus(scene["tactus"], preload, tactus_options)
    running["LinkHut"] = actors.LinkHut(preload)
    running["LinkHut"].join_and_play(len(players))
    ear.wait_ready()
    ear.wait_peers(len(players))
    time.sleep(2.5)  # they measure the session's clock; then one more beat or two
    return ear, running


def play_sections(scene, ear):
    for section in scene["sections"]:
        ear.tell(f"tempo {section['tempo']}")
        time.sleep(1.2)
        ear.tell(f"section {section['name']}")
        tempi = section.get("changes", [])
        for bpm in tempi:
            time.sleep(section["seconds"] / (len(tempi) + 1))
            ear.tell(f"tempo {bpm} half")
        time.sleep(section["seconds"] / (len(tempi) + 1))
        ear.report()


def beat(scene):
    ear, running = ensemble(scene)
    ear.tell("roll")  # so that bar, beat and tick are shown; a start waits for its bar
    time.sleep(12)  # JACK's own clock, by which is judged, takes so long to settle in a server's first seconds
    play_sections(scene, ear)
    finish(ear, running)


def exact(scene):
    for offset in scene["offsets"]:
        for other in (False, True):
            # Once in the listener itself; once in another process, a Link peer that has to measure the session.
            name = f"{offset:+g} us" + (", through Link" if other else ", same peer")
            mine = [] if other else ["--exact", str(offset)]
            ear = actors.Ear(scene["listen"], ["--events", "--tempo", "187.3", *mine, "exact:out"], say)
            player = None
            if other:
                time.sleep(1)
                player = subprocess.Popen([scene["listen"], "--name", "exact-peer", "--exact", str(offset), "--for",
                                           "1000"], stdout=subprocess.DEVNULL)
            ear.wait_ready()
            if other:
                ear.wait_peers(1)
                time.sleep(2.5)
            ear.tell(f"section {name.replace(' ', '_')}")
            time.sleep(scene["seconds"])
            ear.report()
            ear.end()
            if player:
                player.kill()
                player.wait()
            time.sleep(0.5)


# The control of a scene with stalls: a click of the listener's own, timed by the wake-ups of its own cycle.
CONTROL = ["--exact", "0", "--clock", "wall"]


def busy(scene):
    ear, running = ensemble(scene, CONTROL)
    ear.tell("tempo 187.3")
    time.sleep(2)
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
    ear.tell("section busy")
    time.sleep(scene["seconds"])
    ear.report()
    for loop in loops:
        loop.kill()
    finish(ear, running)


def stall(scene):
    """Stop a process for 60 ms, again and again, at moments that have nothing to do with the beat."""
    ear, running = ensemble(scene, CONTROL)
    ear.tell("tempo 187.3")
    time.sleep(2)
    for who in scene["victims"]:
        if who != "server" and who not in running:
            continue
        process = actors.server_process() if who == "server" else running[who].process
        ear.tell(f"section {who}_stopped")
        time.sleep(0.5)
        for turn in range(scene["rounds"]):
            os.kill(process, signal.SIGSTOP)
            time.sleep(0.06)
            os.kill(process, signal.SIGCONT)
            time.sleep(4.13)
        ear.report()
    finish(ear, running)


def clock(scene):
    actors.jack_midi_clock(scene["listen"], say)
    if not scene["tactus"]:
        return
    ear, running = ensemble(scene, tactus_options=("--click", "--clock=rolling"))
    for frame in (0, 100_001):
        ear.tell("tempo 97")
        ear.tell("halt")
        time.sleep(1)
        ear.tell(f"locate {frame}")
        time.sleep(1)
        ear.tell(f"section from_{frame}")
        time.sleep(0.3)
        ear.tell("roll")
        time.sleep(5)
        ear.tell("tempo 133.7 half")
        time.sleep(3)
        ear.report()
    finish(ear, running)


def callback(scene):
    ear, running = ensemble(scene, preload=scene["timer"])
    running["nothing"] = actors.Least(scene["least"], scene["timer"])
    running["5 us of adding"] = actors.Least(scene["least"], scene["timer"], "adding", "5")
    ear.tell("tempo 187.3")
    ear.tell("roll")
    time.sleep(2.5)
    for actor in running.values():
        actor.forget_times()
    ear.tell("section callback")
    time.sleep(scene["seconds"])
    ear.report()
    for name, actor in running.items():
        say({"type": "callback", "program": name, **actor.times()})
    say({"type": "not_finished", "programs": actors.not_finished()})
    finish(ear, running)


def finish(ear, running):
    ear.end()
    for actor in running.values():
        actor.end()


if __name__ == "__main__":
    description = json.loads(sys.argv[1])
    {"beat": beat, "exact": exact, "busy": busy, "stall": stall, "clock": clock, "callback": callback}[
        description["kind"]](description)
