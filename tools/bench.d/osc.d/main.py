# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench osc: how soon the control surface acts and tells, and what it costs, on the real program in a lab.

    dispatch   round trip of a ping on an idle surface
    latency    from the packet to the cycle boundary after it, and from there to the audio cycle that shows the change:
               pulses switched on and off at random moments, seen at the port
    beat       from the moment of a beat (exact group) to its beat message
    exact      the pulses at the port against beats extrapolated from the timeline message of a bar before
    fader      tempo/fader moved 200 times a second: tempos that reach the session, and where it ends
    feedback   processor time with 16 subscribers to every group, against the same program with none
    dearest    the packet that costs the surface's thread most, of those that a search finds: it changes a packet, keeps what made
               it dearer, and begins anew when nothing does. What the kernel says that the thread ran (schedstat)
    flood      that packet 4000 times a second: pings beside it, and the thread's share of a core
    trees      eight HTTP clients that ask for the whole tree 300 times in a row, again and again: the same
    end        SIGTERM while both go on: seconds until the program has ended
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Flood, Search, Thread, Trees  # noqa: E402
from packets import Controller, processor_time  # noqa: E402


def spread(values):
    values = sorted(values)
    return {"median": round(statistics.median(values), 3), "95": round(values[len(values) * 95 // 100], 3),
            "worst": round(max(values, key=abs), 3), "of": len(values)}


def dispatch(count):
    controller = Controller()
    return {"round_trip_ms": spread([controller.ping() for _ in range(count)])}


def latency(watch, count):
    controller = Controller()
    controller.say("tempo", "f", 999.0)
    controller.say("pulse/rate", "s", "48")
    time.sleep(0.5)
    said = subprocess.run([watch, "toggles", str(count)], stdout=subprocess.PIPE, text=True, check=True).stdout
    controller.say("pulse/rate", "s", "1")
    controller.say("pulse", "i", 1)
    controller.say("tempo", "f", 120.0)
    time.sleep(0.5)
    pairs = [tuple(float(word) / 1000 for word in line.split()) for line in said.splitlines()]
    return {"after_boundary_ms": spread([after for _, after in pairs]),
            "in_all_ms": spread([before + after for before, after in pairs]),
            "changes_seen": len(pairs), "asked": count}


def beat_and_exact(watch, seconds):
    controller = Controller()
    controller.say("tempo", "f", 174.0)
    time.sleep(0.5)
    controller.say("subscribe", "is", controller.port, "beat exact")
    listener = subprocess.Popen([watch, "onsets", str(seconds)], stdout=subprocess.PIPE, text=True)
    line, late, lines = None, [], []
    for came, path, arguments in controller.told(seconds):
        if path == "timeline":
            line = arguments
            lines.append((came, line))
        if path == "beat" and line:
            beats = line[1] + (came - line[2]) * line[0] / 60e6
            # The beat that was just reached.
            late.append((beats - round(beats)) * 60e6 / line[0] / 1000)
    controller.say("unsubscribe", "i", controller.port)
    pulses = [float(word) for word in listener.communicate()[0].split()]
    errors = []
    for pulse in pulses:
        known = [line for came, line in lines if came < pulse - 1e6]
        if known:
            bpm, beats, moment, _ = known[-1]
            reached = beats + (pulse - moment) * bpm / 60e6
            errors.append((reached - round(reached)) * 60e6 / bpm / 1000)
    controller.say("tempo", "f", 120.0)
    return {"beat": {"late_ms": spread(late)}, "exact": {"error_ms": spread(errors)}}


def fader(seconds):
    controller = Controller()
    controller.say("tempo/range", "ff", 60.0, 180.0)
    controller.say("subscribe", "is", controller.port, "state exact")
    list(controller.told(1.0))
    mover = Controller()

    def move():
        for step in range(seconds * 200):
            mover.say("tempo/fader", "f", 0.25 + 0.5 * (step % 200) / 200)
            time.sleep(0.005)
        mover.say("tempo/fader", "f", 0.625)

    thread = threading.Thread(target=move)
    thread.start()
    tempos = [(came, arguments[0]) for came, path, arguments in controller.told(seconds + 2) if path == "timeline"]
    thread.join()
    changes = [came for (came, tempo), (_, before) in zip(tempos[1:], tempos) if tempo != before]
    busiest = max((sum(1 for other in changes if came <= other < came + 1e6) for came in changes), default=0)
    controller.say("unsubscribe", "i", controller.port)
    return {"sent": seconds * 200 + 1, "commits": len(changes), "most_in_a_second": busiest,
            "ends_at": round(tempos[-1][1], 3), "asked": 135.0}


def feedback(process, seconds):
    def stretch():
        began, start = time.perf_counter(), processor_time(process)
        time.sleep(seconds)
        return (processor_time(process) - start) / (time.perf_counter() - began) * 100

    idle = stretch()
    listeners = [Controller() for _ in range(16)]
    for listener in listeners:
        listener.say("subscribe", "is", listener.port, "all")
    told = stretch()
    for listener in listeners:
        listener.say("unsubscribe", "i", listener.port)
    return {"idle_percent": round(idle, 2), "with_16_percent": round(told, 2), "cost_percent": round(told - idle, 2)}


def under(attack, thread, seconds):
    """Pings while it goes on, and how much of a core the surface's thread has of it."""
    controller = Controller()
    attack.start()
    time.sleep(1)
    began, start, pings = time.perf_counter(), thread.seconds(), []
    while time.perf_counter() < began + seconds:
        pings.append(controller.ping() or 2000.0)
        time.sleep(0.02)
    share = (thread.seconds() - start) / (time.perf_counter() - began) * 100
    return {"ping_ms": spread(pings), "core_percent": round(share, 1), "done_per_second": attack.rate()}


def ending(process):
    began = time.perf_counter()
    process.terminate()
    status = process.wait()
    return status, round(time.perf_counter() - began, 3)


parser = argparse.ArgumentParser(
    prog="tools/bench osc", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
parser.add_argument("--watch", help=argparse.SUPPRESS)
parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
parser.add_argument("--seed", type=int, default=1, help="of the search (1)")
parser.add_argument("--json", metavar="FILE")
options = parser.parse_args()
quick = options.quick
tactus = subprocess.Popen([options.program, "--osc-query=20810"], stdout=subprocess.PIPE, text=True)
for line in tactus.stdout:
    if line.startswith("OSC: "):
        break
threading.Thread(target=lambda: tactus.stdout.read(), daemon=True).start()
figures = {"dispatch": dispatch(100 if quick else 1000)}
figures["latency"] = latency(options.watch, 50 if quick else 500)
figures |= beat_and_exact(options.watch, 8 if quick else 40)
figures["fader"] = fader(2 if quick else 10)
figures["feedback"] = feedback(tactus.pid, 3 if quick else 15)
thread = Thread(tactus.pid)
search = Search(thread, options.seed)
packet, figures["dearest"] = search.dearest(60 if quick else 600)
flood, trees = Flood(packet), Trees(20810)
figures["flood"] = under(flood, thread, 5 if quick else 20)
flood.stop()
figures["trees"] = under(trees, thread, 5 if quick else 20)
flood.start()
time.sleep(1)
figures["status"], figures["end"] = ending(tactus)
flood.stop()
trees.stop()
for area, values in figures.items():
    print(f"{area:<10}", values if not isinstance(values, dict) else
          "  ".join(f"{name} {value}" for name, value in values.items()))
if options.json:
    with open(options.json, "w") as file:
        json.dump(figures, file, indent=1)
# A ping waits for whatever else runs on this machine, too: of those most are enough.
held = (figures["dearest"]["ms"] < 1 and figures["flood"]["ping_ms"]["95"] <= 20 and figures["trees"]["ping_ms"]["95"] <= 20
        and figures["end"] < 1)
sys.exit(0 if figures["status"] == 0 and held else 1)
