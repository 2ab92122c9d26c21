# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench far [-h] [--quick] [--minutes MIN] [--tactus FILE] [--json FILE]

tools/bench far: two rooms of two machines each; in each room LinkHut on one and tactus on the other. Between the two tactus goes a wire
that takes 60 ms each way and up to 20 ms more, and loses 2 %; nothing else gets from one room into the other. Both LinkHuts click for
MIN minutes, and somebody listens to both. In the middle the wire is cut for 30 seconds. Then:

    apart     how far each click of one room is from the nearest of the other, in milliseconds, in each tenth of the time: the median,
              and what nine in ten are within; those in the cut for themselves
    one       seconds until two rooms that are both just there have one tempo; Link lets the older session win
    tempo     seconds from a key in one room to LinkHut's new tempo in the other, each way; start likewise
    healed    seconds from the end of the cut to the tempo that was set in it in the other room
    wire      datagrams and bytes between the two tactus, how many of them anybody could read, and by how many standard deviations
              the worst place of their bytes differs from chance (listening/secrecy.py)

It holds if the median of each tenth, and nine in ten of its clicks, are within 2 ms, and nothing can be read.

options:
  -h, --help       show this help message and exit
  --quick          one minute, and a cut of 10 seconds
  --minutes MIN    (10)
  --tactus FILE    this program instead of a new build
  --json FILE"""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from .. import build
from ..common import LAB, fail
from ..listening import secrecy
from ..peers import driver
from .actors import Figures, Watch

RELAYS, PLAYERS = (1, 3), (2, 4)
CLICK = "LinkHut:out_1"
BOUND = 2.0  # milliseconds
BEAT = 0.5  # seconds, at 120
CHANCE = 8.0  # one place of some hundreds is 4 by chance
KEY = "2345-6789-abcd-efgh-jkmn-pqrs"


def wire(*words: str) -> None:
    subprocess.run([LAB, "wire", *words], check=True, stdout=subprocess.DEVNULL)


def divide() -> None:
    """Machines 1 and 2 are one room, 3 and 4 the other; a router between 1 and 3 would not pass Link's group on."""
    for one, other in ((1, 4), (2, 3), (2, 4)):
        wire("cut", str(one), str(other))
    for here, there in (RELAYS, RELAYS[::-1]):
        wire(f"from={here}", f"to={there}", "delay=60ms", "jitter=20ms", "loss=2%")
        rules = (f"add table inet rooms; add chain inet rooms in {{ type filter hook input priority 0; }}; "
                 f"add rule inet rooms in ip saddr 10.77.0.{there} ip daddr 224.0.0.0/4 drop; "
                 f"add rule inet rooms in ip6 daddr ff00::/8 udp dport 20808 drop")
        subprocess.run([LAB, "on", str(here), "nft", rules], check=True)


@contextlib.contextmanager
def relays(program: str, home: str) -> Iterator[None]:
    path = os.path.join(home, "key")
    pathlib.Path(path).write_text(KEY + "\n")
    os.chmod(path, 0o600)
    words = ("--link-accept", f"--link-to=10.77.0.{RELAYS[0]}")
    running = [subprocess.Popen([LAB, "on", str(host), program, "--no-tui", "--startstop", f"--link-key={path}", word],
                                env=driver.without_choices(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for host, word in zip(RELAYS, words, strict=True)]
    yield
    for process in running:
        process.terminate()
        driver.ended(process)


def reaches(what: str, key: str, here: driver.Peer, there: driver.Peer, value: str) -> float:
    began = time.monotonic()
    here.ask(key)
    there.ask(f"wait {what} {value} 10")
    return round(time.monotonic() - began, 2)


def one_session(here: driver.Peer, there: driver.Peer) -> float:
    """Until then either room's tempo may win, and a key in the other is lost with its session."""
    began = time.monotonic()
    for peer in (here, there):
        # The peers of the other room are not visible: each relay is the other's only peer.
        peer.ask("wait peers 1 30")
    there.ask("tempo 100")
    while here.ask("status")["tempo"] != there.ask("status")["tempo"]:
        if time.monotonic() > began + 60:
            fail("bench far", "the two rooms did not become one session within a minute", 1)
        time.sleep(0.05)
    joined = round(time.monotonic() - began, 2)
    reaches("tempo", "tempo 120", here, there, "120")
    return joined


class Clicks:
    """What is heard in both rooms."""

    def __init__(self) -> None:
        self.ears = [Watch(CLICK, host=host) for host in PLAYERS]
        self.past = [list[float](), list[float]()]

    def apart(self) -> list[float]:
        """Of the clicks since it was asked last, in milliseconds. One that was heard just now may have its pair later."""
        heard = [old + ear.onsets() for old, ear in zip(self.past, self.ears, strict=True)]
        self.past = [heard[0][-2:], heard[1][-4:]]
        gaps = [min((here - there for there in heard[1]), key=abs) / 1000 for here in heard[0][:-2] if heard[1]]
        return [gap for gap in gaps if abs(gap) < BEAT * 500]

    def begin(self) -> None:
        """What was heard until now is nobody's business."""
        self.apart()
        self.past = [[], []]


def summary(gaps: list[float]) -> Figures:
    sizes = sorted(abs(gap) for gap in gaps)
    return {"clicks": len(gaps), "median": round(median(gaps), 3) if gaps else None,
            "nine_in_ten": round(sizes[len(sizes) * 9 // 10], 3) if gaps else None}


def listen(clicks: Clicks, seconds: float) -> Figures:
    time.sleep(1)
    clicks.begin()
    gaps, end = list[float](), time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(5.0, left))
        gaps += clicks.apart()
    return summary(gaps)


def tell(name: str, found: Figures) -> Figures:
    print(f"  {name:<16}" + "  ".join(f"{what} {value}" for what, value in found.items()), flush=True)
    return found


def scene(seconds: float, cut: float) -> Figures:
    here, there = players = [driver.Peer("linkhut", host) for host in PLAYERS]
    for peer in players:
        peer.ask("enable on")
        peer.ask("sync on")
    listener = subprocess.Popen([LAB, "on", str(RELAYS[1]), "python3", secrecy.__file__, str(seconds), *(f"10.77.0.{host}" for host in RELAYS)],
                                stdout=subprocess.PIPE, text=True)
    figures: Figures = {"one": tell("one session", {"seconds": one_session(here, there)})["seconds"]}
    figures |= {"tempo": [reaches("tempo", "tempo 121", here, there, "121"), reaches("tempo", "tempo 120", there, here, "120")],
                "start": [reaches("playing", "play", here, there, "on")]}
    figures["start"] += [reaches("playing", "stop", there, here, "off"), reaches("playing", "play", there, here, "on")]
    tell("keys", {what: figures[what] for what in ("tempo", "start")})
    clicks = Clicks()
    part = max(5.0, (seconds - cut - 10) / 10)
    figures["apart"] = [tell(f"{number + 1} of 10", listen(clicks, part)) for number in range(5)]
    wire("cut", *map(str, RELAYS))
    figures["in the cut"] = tell("in the cut", listen(clicks, cut - 1))
    there.ask("tempo 122")
    began = time.monotonic()
    wire("heal", *map(str, RELAYS))
    here.ask("wait tempo 122 30")
    figures["healed"] = round(time.monotonic() - began, 2)
    tell("healed", {"seconds": figures["healed"]})
    reaches("tempo", "tempo 120", here, there, "120")
    figures["apart"] += [tell(f"{number + 1} of 10", listen(clicks, part)) for number in range(5, 10)]
    told, _ = listener.communicate()
    figures["wire"] = tell("wire", {**json.loads(told), "seconds": seconds})
    for ear in clicks.ears:
        ear.end()
    for peer in players:
        peer.end()
    return figures


def ready(options: Any) -> None:
    build.tactus(options.tactus)


def measure(options: Any) -> tuple[object, bool]:
    seconds, cut = (60.0, 10.0) if options.quick else (options.minutes * 60, 30.0)
    divide()
    with tempfile.TemporaryDirectory() as home, relays(build.tactus(options.tactus), home):
        figures = scene(seconds, cut)
    stretches = [each for each in figures["apart"] if each["clicks"]]
    if len(stretches) < 8:
        fail("bench far", "hardly a click was heard", 1)
    held = all(abs(each["median"]) <= BOUND and each["nine_in_ten"] <= BOUND for each in stretches)
    held = held and figures["wire"]["readable"] == 0 and figures["wire"]["skew"] < CHANCE
    print("holds" if held else "FAILS")
    return figures, held
