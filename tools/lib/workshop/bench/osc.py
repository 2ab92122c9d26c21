# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon the control surface acts and tells, and what it costs, on the real program in a lab.

    dispatch   round trip of a ping on an idle surface
    latency    from the packet to the cycle boundary after it, and from there to the audio cycle that shows the change:
               pulses switched on and off at random moments, seen at the port
    beat       from the moment of a beat (exact group) to its beat message
    exact      the pulses at the port against beats extrapolated from the timeline message of a bar before
    fader      tempo/fader moved 200 times a second: tempos that reach the session, and where it ends
    feedback   processor time with 16 subscribers to every group, against the same program with none
    dearest    the packet that costs the surface's thread most, of those that a search finds: it changes a packet, keeps what made
               it dearer, and begins anew when nothing does. What the kernel says that the thread ran (schedstat). And the dearest packets of one
               kind of message, each as long as it may be: which message costs most for what it is charged
    page       the frame of the page's socket that costs the surface's thread most, found in the same way
    web        the frame that costs the page's own thread most
    link       the kind of Link datagram that costs all threads but the audio thread most, among a thousand invented peers
    flood      the dearest packet 4000 times a second: pings beside it, and the thread's share of a core
    trees      eight HTTP clients that ask for the whole tree 300 times in a row, again and again: the same
    end        SIGTERM while both go on: seconds until the program has ended"""

import math
import random
import threading
import time
from statistics import median
from typing import Any

from .. import build, processes
from ..enemy import Attack, Flood, Trees
from ..options import Parser, within
from ..osc import Controller, raw_clock
from ..peers import driver
from . import dearest
from .actors import Figures, Watch

STAGE: list[str] = []
QUERY = 20810
PAGE = "127.0.0.1:20880"


def spread(values: list[float]) -> Figures:
    values = sorted(values)
    worst: float = max(values, key=abs)
    return {"median": round(median(values), 3), "95": round(values[len(values) * 95 // 100], 3),
            "worst": round(worst, 3), "of": len(values)}


def dispatch(count: int) -> Figures:
    controller = Controller()
    return {"round_trip_ms": spread([controller.ping() or 2000.0 for _ in range(count)])}


def latency(count: int) -> Figures:
    controller, sent = Controller(), []
    controller.say("tempo", "f", 999.0)
    controller.say("pulse/rate", "s", "48")
    time.sleep(0.5)
    pulses = Watch("tactus:pulse", silence=0)
    time.sleep(0.3)
    for turn in range(count):
        time.sleep(random.uniform(0.03, 0.05))
        sent.append(raw_clock())
        controller.say("pulse", "i", turn % 2)
    time.sleep(0.1)
    cycles = pulses.cycles()
    pulses.end()
    controller.say("pulse/rate", "s", "1")
    controller.say("pulse", "i", 1)
    controller.say("tempo", "f", 120.0)
    time.sleep(0.5)
    pairs = []
    for turn, (moment, following) in enumerate(zip(sent, [*sent[1:], math.inf])):
        # The cycle during which the message was sent began before it; the boundary is the first one after.
        after = [(start, bool(pulses)) for start, pulses in cycles if moment < start < following]
        shown = [start for start, is_on in after if is_on == (turn % 2 == 1)]
        if shown:
            pairs.append(((after[0][0] - moment) / 1000, (shown[0] - after[0][0]) / 1000))
    return {"after_boundary_ms": spread([after for _, after in pairs]),
            "in_all_ms": spread([before + after for before, after in pairs]),
            "changes_seen": len(pairs), "asked": count}


def beat_and_exact(seconds: int) -> Figures:
    controller = Controller()
    controller.say("tempo", "f", 174.0)
    time.sleep(0.5)
    controller.say("subscribe", "is", controller.port, "beat exact")
    pulses = Watch("tactus:pulse", silence=0)
    time.sleep(0.3)
    line: list[float] = []
    late: list[float] = []
    lines: list[tuple[float, list[float]]] = []
    for came, path, arguments in controller.told(seconds):
        if path == "timeline":
            line = arguments
            lines.append((came, line))
        if path == "beat" and line:
            beats = line[1] + (came - line[2]) * line[0] / 60e6
            # Milliseconds after the nearest beat.
            late.append((beats - round(beats)) * 60e6 / line[0] / 1000)
    controller.say("unsubscribe", "i", controller.port)
    errors = []
    for pulse in pulses.onsets():
        known = [line for came, line in lines if came < pulse - 1e6]
        if known:
            bpm, beats, moment, _ = known[-1]
            reached = beats + (pulse - moment) * bpm / 60e6
            errors.append((reached - round(reached)) * 60e6 / bpm / 1000)
    pulses.end()
    controller.say("tempo", "f", 120.0)
    return {"beat": {"late_ms": spread(late)}, "exact": {"error_ms": spread(errors)}}


def fader(seconds: int) -> Figures:
    controller = Controller()
    controller.say("tempo/range", "ff", 60.0, 180.0)
    controller.say("subscribe", "is", controller.port, "state exact")
    list(controller.told(1.0))
    mover = Controller()

    def move() -> None:
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


def feedback(process: int, seconds: float) -> Figures:
    idle = processes.percent(process, lambda: time.sleep(seconds))
    listeners = [Controller() for _ in range(16)]
    for listener in listeners:
        listener.say("subscribe", "is", listener.port, "all")
    told = processes.percent(process, lambda: time.sleep(seconds))
    for listener in listeners:
        listener.say("unsubscribe", "i", listener.port)
    return {"idle_percent": round(idle, 2), "with_16_percent": round(told, 2), "cost_percent": round(told - idle, 2)}


def under(attack: Attack, search: dearest.Search, seconds: float) -> Figures:
    """Pings while it goes on, and how much of a core the surface's thread has of it."""
    controller = Controller()
    attack.start()
    time.sleep(1)
    began, start, pings = time.perf_counter(), search.seconds(), []
    while time.perf_counter() < began + seconds:
        pings.append(controller.ping() or 2000.0)
        time.sleep(0.02)
    share = (search.seconds() - start) / (time.perf_counter() - began) * 100
    return {"ping_ms": spread(pings), "core_percent": round(share, 1), "done_per_second": attack.rate()}


def arguments(parser: Parser) -> None:
    parser.add_argument("--seed", type=within(0), default=1, metavar="N", help="of the searches (1)")


def ready(_: object) -> None:
    build.tactus()
    build.listener()


def measure(options: Any) -> tuple[object, bool]:
    def few(quick: int, whole: int) -> int:
        return quick if options.quick else whole

    tactus = driver.Program([build.tactus(), f"--osc-query={QUERY}", "--web"], marks=("OSC: ", "Page: "))
    tactus.wait_for("OSC: ")
    tactus.wait_for("Page: ")
    figures: Figures = {"dispatch": dispatch(few(100, 1000)), "latency": latency(few(50, 500)), **beat_and_exact(few(8, 40)),
                        "fader": fader(few(2, 10)), "feedback": feedback(tactus.pid, few(3, 15))}
    surface, web = [dearest.hears_osc(tactus.pid)], [dearest.serves_page(tactus.pid)]
    search = dearest.Search(tactus.pid, surface, options.seed)
    packet, figures["dearest"] = search.dearest(few(60, 600))
    for area, hearer in (("page", surface), ("web", web)):
        _, figures[area] = dearest.PageSearch(tactus.pid, hearer, options.seed, PAGE).dearest(few(60, 600))
    _, figures["link"] = dearest.LinkSearch(tactus.pid, options.seed).dearest(few(60, 600))
    flood, trees = Flood(packet), Trees(QUERY)
    figures["flood"] = under(flood, search, few(5, 20))
    flood.stop()
    figures["trees"] = under(trees, search, few(5, 20))
    flood.start()
    time.sleep(1)
    began = time.perf_counter()
    figures["status"] = tactus.end()
    figures["end"] = round(time.perf_counter() - began, 3)
    flood.stop()
    trees.stop()
    for area, values in figures.items():
        print(f"{area:<10}", "  ".join(f"{name} {value}" for name, value in values.items()) if isinstance(values, dict) else values)
    # A ping also waits for other programs on this machine, so a percentile of 95 suffices.
    return figures, (max(figures[area]["ms"] for area in ("dearest", "page", "web", "link")) < 1 and figures["flood"]["ping_ms"]["95"] <= 20
                     and figures["trees"]["ping_ms"]["95"] <= 20 and figures["end"] < 1 and figures["status"] == 0)
