# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of the control surface, at rest and under attack, on the real program in a lab. (ControllerTests
measure how soon it acts.)

    dispatch   round trip of a ping on an idle surface
    feedback   processor time with 16 subscribers to every group, against the same program with none
    dearest    the packet that costs the surface's thread most, found by a search that changes a packet, keeps each
               change that raises the cost, and starts over when no change does. The cost is the kernel's account of
               the thread's time (schedstat). Also the costliest packets of one kind of message, each as long as
               allowed: they show which message costs most for its charge
    page       the frame of the page's socket that costs the surface's thread most, found in the same way
    web        the frame that costs the page's own thread most
    link       the kind of Link datagram that costs all threads but the audio thread most, among a thousand
               invented peers
    flood      the dearest packet 4000 times a second: pings beside it, and the thread's share of a core
    trees      eight HTTP clients that each request the whole tree 300 times in a row, again and again: the same
    end        SIGTERM during both attacks: seconds until the program has ended"""

import time
from statistics import median
from typing import Any

from .. import build, processes
from ..enemy import Attack, Flood, Trees
from ..options import Parser, within
from ..osc import Controller
from ..peers import driver
from . import dearest
from .actors import Figures

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
    """Pings tactus during the attack, and measures the share of a core that the surface's thread uses."""
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


def measure(options: Any) -> tuple[object, bool]:
    def few(quick: int, whole: int) -> int:
        return quick if options.quick else whole

    tactus = driver.Program([build.tactus(), f"--osc-query={QUERY}", "--web"], marks=("OSC: ", "Page: "))
    tactus.wait_for("OSC: ")
    tactus.wait_for("Page: ")
    figures: Figures = {"dispatch": dispatch(few(100, 1000)), "feedback": feedback(tactus.pid, few(3, 15))}
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
    # The limit is for the 95th percentile, because a ping also waits for other programs on this machine.
    return figures, (max(figures[area]["ms"] for area in ("dearest", "page", "web", "link")) < 1 and figures["flood"]["ping_ms"]["95"] <= 20
                     and figures["trees"]["ping_ms"]["95"] <= 20 and figures["end"] < 1 and figures["status"] == 0)
