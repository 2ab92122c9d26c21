# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends mutated packets from a seed to the real socket of tactus: first of a build with the address
sanitizer; then a fifth as many to the release build, because only its memory is its own.

    counted  a given number of packets, all of which tactus reads: after every 150 packets comes a ping, and the next
             packets wait for its answer. Shows how long the answers take, and whether memory grows
    fast     as many packets as one sender can send for some seconds, with pings beside them to the socket at ::1,
             each of which must be answered

"with_a_core" leaves out the time in which the pinging process or tactus's thread could run but had no core
(schedstat). The exit status is 1 if a claim fails."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from .. import build, osc, processes
from ..enemy import Attack
from ..options import Parser, within
from ..osc import HOST, Controller
from ..peers import driver
from .actors import Figures

STAGE: list[str] = []
# tactus accepts 2000 packets a second from one source, so the fuzzer uses many sources.
SOURCES = 256
# The growth in memory that the sanitizer's own lists and the allocator explain, in kilobytes.
GROWTH = {"sanitized": 8192, "release": 1024}
PATIENCE = 50  # milliseconds for an answer
WORDS = ["now", "bar", "9000", "state beat", "all", "osc.udp://1.2.3.4:9/", "XxXx", "", "note 36 = tap", "tempo 60..90"]


def mutated(dice: random.Random, addresses: list[str]) -> bytes:
    address = "/tactus/" + dice.choice(addresses)
    kind = dice.randrange(12)
    if kind == 0:
        address = dice.choice(["//tempo", "/tactus/{click,clock,*}", "/tactus/*/[a-z]*", "/set_surface/0/0/0/0/0/0/9000"])
    elif kind == 1:
        address += f"/{dice.randrange(70000)}"
    tags = "".join(dice.choice("ifdhs") for _ in range(dice.randrange(4)))
    values: list[Any] = [dice.choice(WORDS) if t == "s" else dice.randrange(-2**31, 2**31) if t in "ih" else
                         dice.choice([0.0, 1.0, 120.0, 1e30, -1.0, float("nan"), 0.5]) for t in tags]
    packet = bytearray(osc.message(address, tags, *values))
    if dice.random() < 0.25:
        timetag = dice.choice([1, 0, 2**64 - 1, (int(time.time()) + 2208988800 + dice.randrange(70)) << 32])
        packet = bytearray(osc.bundle([bytes(packet)], timetag))
    for _ in range(dice.randrange(5)):
        at = dice.randrange(len(packet)) if packet else 0
        packet[at:] = dice.choice([
            bytes([dice.randrange(256)]) + packet[at + 1:], bytes([packet[at] ^ 1 << dice.randrange(8)]) + packet[at + 1:] if packet else b"",
            packet[at:-dice.randrange(1, 9)], packet[at:] + bytes(dice.randrange(9)),
            dice.choice([b"#", b",", b"/", b"*", b"{", b"["]) + packet[at:]])
    return bytes(packet)


class Flood(Attack):
    """Sends mutated packets from many ports: a given number, or as many as one sender can."""

    def __init__(self, program: str, seed: int) -> None:
        super().__init__()
        self.dice = random.Random(seed)
        words = subprocess.run([program, "--help-osc"], capture_output=True, text=True, check=True).stdout
        self.addresses = [line.split()[0] for line in words.splitlines() if line.startswith("  ") and line[2] != " "]
        self.sources = [osc.speaker() for _ in range(SOURCES)]
        self.fill()

    def fill(self) -> None:
        """Makes new packets. Packets that would end the program are left out."""
        fresh = (mutated(self.dice, self.addresses) for _ in range(4000))
        self.packets = [packet for packet in fresh if b"quit" not in packet]
        for source in self.sources:
            osc.came(source)

    def send(self, count: int) -> None:
        first = self.dice.randrange(SOURCES)
        for index in range(count):
            self.sources[(first + index) % SOURCES].sendto(self.dice.choice(self.packets), HOST)

    def warm(self) -> None:
        for _ in range(50):
            self.send(150)
            time.sleep(0.005)

    def run(self) -> None:
        while True:
            self.send(1000)


class Pinger(Controller):
    """Sends pings, and measures each with and without the time for which a thread waited for a core."""

    def __init__(self, process: int, thread: str, address: tuple[str, int] = HOST) -> None:
        super().__init__(address=address)
        self.process, self.thread = process, thread
        self.elapsed: list[float] = []
        self.own: list[float] = []

    def waited(self) -> float:
        both = processes.schedule("self", os.getpid())[1] + processes.schedule(self.process, self.thread)[1]
        return both / 1e6

    def ping(self) -> float | None:
        before = self.waited()
        if (elapsed := super().ping()) is not None:
            self.elapsed.append(elapsed)
            self.own.append(max(0.0, elapsed - (self.waited() - before)))
        return elapsed

    def figures(self) -> Figures:
        def at(share: float) -> float | None:
            return round(sorted(self.elapsed)[int((len(self.elapsed) - 1) * share)], 2) if self.elapsed else None

        return {"pings": self.asked, "unanswered": self.asked - len(self.elapsed), "median_ms": at(0.5), "99_ms": at(0.99),
                "worst_ms": at(1), "worst_with_a_core_ms": round(max(self.own, default=1e9), 2)}


def counted(process: int, thread: str, flood: Flood, packets: int) -> Figures:
    pinger, samples, sent = Pinger(process, thread), list[int](), 0
    lost, began = processes.dropped(HOST[1]), time.perf_counter()
    while sent < packets and (pinger.ping() is not None or os.path.exists(f"/proc/{process}/exe")):
        flood.send(150)
        sent += 150
        if sent % 3_000 == 0:
            samples.append(processes.status(process, "RssAnon"))
        if sent % 60_000 == 0:
            flood.fill()
    seconds, quarter = time.perf_counter() - began, max(1, len(samples) // 4)
    return {"packets": sent, "per_second": round(sent / seconds), "dropped_by_kernel": processes.dropped(HOST[1]) - lost,
            **pinger.figures(), "kB_first_quarter": round(median(samples[:quarter])), "kB_last_quarter": round(median(samples[-quarter:]))}


def fast(process: int, thread: str, flood: Flood, seconds: float) -> Figures:
    pinger, lost = Pinger(process, thread, ("::1", HOST[1])), processes.dropped(HOST[1], "udp6")
    flood.start()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pinger.ping()
        time.sleep(0.01)
    flood.stop()
    return {"dropped_by_kernel": processes.dropped(HOST[1], "udp6") - lost, **pinger.figures()}


def flooded(path: str, packets: int, seconds: float, seed: int) -> tuple[Figures, str]:
    """Returns the figures, and the output of the program, the sanitizer or the runtime."""
    with tempfile.TemporaryFile("w+") as errors:
        tactus = driver.Program([path], marks=("OSC: ",), errors=errors.fileno())
        tactus.wait_for("OSC: ")
        flood = Flood(path, seed)
        thread = processes.busiest(tactus.pid, flood.warm)
        Controller(30).ping()  # tactus answers when it has read all earlier packets
        figures = {"counted": counted(tactus.pid, thread, flood, packets)}
        if seconds and tactus.process.poll() is None:
            figures["fast"] = fast(tactus.pid, thread, flood, seconds)
        time.sleep(1)
        afterwards = Controller().ping()
        tactus.process.terminate()
        status = driver.ended(tactus.process, 30)
        errors.seek(0)
        said = errors.read()
    figures["end"] = {"status": status, "answers_afterwards": afterwards is not None,
                      "reports": sum(mark in said for mark in ("AddressSanitizer", "Fatal error", "runtime error"))}
    return figures, said


def claims(name: str, figures: Figures) -> Iterator[tuple[str, bool]]:
    counted, ending = figures["counted"], figures["end"]
    yield "no crash, no report, ends when asked", ending["status"] == 0 and ending["reports"] == 0
    yield "answers afterwards", ending["answers_afterwards"]
    yield "half of the pings are answered within 50 ms", (counted["median_ms"] or 1e9) <= PATIENCE
    growth = counted["kB_last_quarter"] - counted["kB_first_quarter"]
    yield f"no growth: {growth} kB from the first quarter to the last, {GROWTH[name]} allowed", growth <= GROWTH[name]
    for area, found in figures.items():
        if area != "end":
            yield (f"{area}: every ping that the kernel did not drop is answered within 50 ms, waits for a core left out",
                   found["unanswered"] <= found["dropped_by_kernel"] and found["worst_with_a_core_ms"] <= PATIENCE)


def program() -> str:
    return build.product("tactus", "--sanitize=address", folder=".build-address")


def arguments(parser: Parser) -> None:
    parser.add_argument("--packets", type=within(1), default=5_000_000, metavar="N", help="how many (5,000,000; --quick: 200,000)")
    parser.add_argument("--fast", type=within(0), default=5, metavar="SECONDS", help="how long without waiting (5)")
    parser.add_argument("--seed", type=within(0), default=1, metavar="N", help="(1)")


def ready(_: object) -> None:
    program()
    build.tactus()
    # Switch off Swift's backtracer, for which a crash would wait, and the search for leaks, because Swift's
    # runtime keeps memory for good. Let the sanitizer keep only little freed memory, so that growth is
    # visible.
    os.environ.update(SWIFT_BACKTRACE="enable=no",
                      ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64")


def measure(options: Any) -> tuple[object, bool]:
    packets, held, all_said = 200_000 if options.quick else options.packets, True, ""
    figures: Figures = {"seed": options.seed}
    for number, (name, path) in enumerate({"sanitized": program(), "release": build.tactus()}.items()):
        figures[name], said = flooded(path, packets // 5 if number else packets, options.fast, options.seed + number)
        all_said += said
        for area, found in figures[name].items():
            print(f"{name} {area}: " + "  ".join(f"{what} {value}" for what, value in found.items()))
        for claim, holds in claims(name, figures[name]):
            print(f"{'holds' if holds else 'FAILS'}   {name}: {claim}")
            held = held and holds
    if not held:
        print(all_said[-4000:], file=sys.stderr)
    return figures, held
