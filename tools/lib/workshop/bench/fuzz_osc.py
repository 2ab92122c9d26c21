# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench fuzz-osc [-h] [--quick] [--packets PACKETS] [--seed SEED]
                            [--fast SECONDS] [--json FILE]

tools/bench fuzz-osc: mutated packets from a seed through the real socket of the program under the address sanitizer.

    counted    so many packets that the program has read, each of them: after every 150 a ping, and the next only after its
               answer. How long the answers take, and whether memory grows.
    fast       as many as one sender can send for some seconds, whoever reads them, and pings beside them. Those to the
               flooded socket are lost with the others that the kernel has no room for; those to the socket at ::1 are
               not, and each must be answered.
    release    the same as counted for a fifth as many, through the program as users have it: the memory is its own there,
               without the sanitizer's.

A ping that is answered late is told from one whose thread had no core: how long a thread was ready and waited is the
kernel's word (schedstat). Beside them a process that only sends back what it gets is asked now and then. Ends with 1 if
a claim fails.

options:
  -h, --help         show this help message and exit
  --quick            200,000 packets
  --packets PACKETS  how many (5,000,000)
  --seed SEED
  --fast SECONDS     how long without waiting (5)
  --json FILE"""

import contextlib
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
from ..osc import HOST, Controller
from ..peers import driver
from .actors import Figures
from .osc_hostile import Attack

ECHO = ("127.0.0.1", 20810)
# tactus accepts 2000 packets a second from one source, so the fuzzer uses many sources.
SOURCES = 256
# The growth in memory that the sanitizer's own lists and the allocator explain, in kilobytes.
GROWTH = {"sanitized": 8192, "release": 1024}
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
    """As fast as one sender can; or so many."""

    def __init__(self, program: str, seed: int) -> None:
        super().__init__()
        self.dice = random.Random(seed)
        words = subprocess.run([program, "--help-osc"], capture_output=True, text=True, check=True).stdout
        self.addresses = [line.split()[0] for line in words.splitlines() if line.startswith("  ") and line[2] != " "]
        self.sources = [osc.speaker() for _ in range(SOURCES)]
        self.fill()

    def fill(self) -> None:
        """New packets. None that ends the program."""
        fresh = (mutated(self.dice, self.addresses) for _ in range(4000))
        self.packets = [packet for packet in fresh if b"quit" not in packet]
        for source in self.sources:
            osc.came(source)

    def send(self, count: int) -> None:
        first = self.dice.randrange(SOURCES)
        for index in range(count):
            self.sources[(first + index) % SOURCES].sendto(self.dice.choice(self.packets), HOST)

    def warm(self, count: int) -> None:
        for _ in range(count // 150):
            self.send(150)
            time.sleep(0.005)

    def run(self) -> None:
        while True:
            self.send(1000)


class Pinger(Controller):
    """Pings, and whose fault it was that an answer was late."""

    def __init__(self, process: int, thread: str, address: tuple[str, int] = HOST, timeout: float = 2.0) -> None:
        super().__init__(timeout, address)
        self.process, self.thread, self.unanswered = process, thread, 0
        self.elapsed: list[float] = []
        self.own: list[float] = []

    def waited(self) -> float:
        """Milliseconds that we or it could have run but had no core."""
        both = processes.schedule("self", os.getpid())[1] + processes.schedule(self.process, self.thread)[1]
        return both / 1e6

    def ping(self) -> float | None:
        before = self.waited()
        elapsed = super().ping()
        if elapsed is None:
            self.unanswered += 1
        else:
            self.elapsed.append(elapsed)
            self.own.append(max(0.0, elapsed - (self.waited() - before)))
        return elapsed

    def figures(self) -> Figures:
        return {"pings": self.asked, "unanswered": self.unanswered, **spread(self.elapsed),
                "over_50_ms": sum(value > 50 for value in self.elapsed),
                "worst_with_a_core_ms": spread(self.own)["worst_ms"], "over_50_ms_with_a_core": sum(v > 50 for v in self.own)}


def spread(values: list[float]) -> Figures:
    ordered = sorted(values)
    return {name: round(ordered[int((len(ordered) - 1) * share)], 2) if ordered else None
            for name, share in (("median_ms", 0.5), ("99_ms", 0.99), ("worst_ms", 1))}


class Echo(Attack):
    """The same question to a process that does nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.start()
        self.sock = osc.speaker()
        self.sock.settimeout(2)
        self.elapsed: list[float] = []

    def run(self) -> None:
        server = osc.speaker()
        server.bind(ECHO)
        while True:
            server.sendto(*server.recvfrom(64))

    def ping(self) -> None:
        began, word = time.perf_counter(), str(len(self.elapsed)).encode()
        self.sock.sendto(word, ECHO)
        with contextlib.suppress(TimeoutError):
            while self.sock.recv(64) != word:
                pass
            self.elapsed.append((time.perf_counter() - began) * 1000)

    def end(self) -> Figures:
        self.stop()
        return {"pings": len(self.elapsed), **spread(self.elapsed)}


def quarters(samples: list[int]) -> Figures:
    """What was used in the first quarter and in the last, in kilobytes."""
    size = max(1, len(samples) // 4)
    return {"kB_first_quarter": round(median(samples[:size])),
            "kB_last_quarter": round(median(samples[-size:]))}


def counted(process: int, flood: Flood, packets: int) -> tuple[Figures, Figures]:
    thread = processes.busiest(process, lambda: flood.warm(20_000 if packets > 100_000 else 3_000))
    pinger, echo = Pinger(process, thread), Echo()
    samples, sent, lost, began = [], 0, processes.dropped(HOST[1]), time.perf_counter()
    while sent < packets:
        flood.send(150)
        sent += 150
        if pinger.ping() is None and not os.path.exists(f"/proc/{process}/exe"):
            break
        if sent % 3_000 == 0:
            echo.ping()
            samples.append(processes.status(process, "RssAnon"))
        if sent % 60_000 == 0:
            flood.fill()
    return {"packets": sent, "dropped_by_kernel": processes.dropped(HOST[1]) - lost,
            "per_second": round(sent / (time.perf_counter() - began)), **pinger.figures(), **quarters(samples)}, echo.end()


def fast(process: int, thread: str, flood: Flood, seconds: float) -> tuple[Figures, Figures]:
    pingers = {"udp": Pinger(process, thread, timeout=0.2), "udp6": Pinger(process, thread, ("::1", HOST[1]))}
    lost = {family: processes.dropped(HOST[1], family) for family in pingers}
    flood.start()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pingers["udp6"].ping()
        pingers["udp"].ping()
        time.sleep(0.01)
    flood.stop()
    there, aside = ({"seconds": seconds, "dropped_by_kernel": processes.dropped(HOST[1], family) - lost[family],
                     **pinger.figures()} for family, pinger in pingers.items())
    return there, aside


def flooded(path: str, packets: int, seconds: float, seed: int) -> tuple[Figures, str]:
    """The figures, and what the program, the sanitizer or the runtime said on its way."""
    with tempfile.TemporaryFile("w+") as errors:
        tactus = driver.Program([path], marks=("OSC: ",), errors=errors.fileno())
        tactus.wait_for("OSC: ")
        flood, figures = Flood(path, seed), {}
        figures["counted"], figures["echo"] = counted(tactus.pid, flood, packets)
        if seconds and tactus.process.poll() is None:
            thread = processes.busiest(tactus.pid, lambda: flood.warm(3_000))
            figures["fast"], figures["fast_aside"] = fast(tactus.pid, thread, flood, seconds)
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
    yield f"{name}: no crash, no report, ends when asked", ending["status"] == 0 and ending["reports"] == 0
    yield f"{name}: answers afterwards", ending["answers_afterwards"]
    yield (f"{name}: every ping that the kernel did not drop is answered",
           counted["unanswered"] <= counted["dropped_by_kernel"] and counted["pings"] > 0)
    yield f"{name}: half of the pings are answered within 50 ms", (counted["median_ms"] or 1e9) <= 50
    yield (f"{name}: every ping is answered within 50 ms, waits for a core left out",
           (counted["worst_with_a_core_ms"] or 1e9) <= 50)
    growth = counted["kB_last_quarter"] - counted["kB_first_quarter"]
    yield f"{name}: no growth: {growth} kB from the first quarter to the last, {GROWTH[name]} allowed", growth <= GROWTH[name]
    if "fast_aside" in figures:
        aside = figures["fast_aside"]
        yield (f"{name}: under the fastest flood every ping to the other socket is answered, within 50 ms",
               aside["unanswered"] <= aside["dropped_by_kernel"] and (aside["worst_with_a_core_ms"] or 1e9) <= 50)


def table(figures: Figures) -> None:
    names = ["packets", "seconds", "per_second", "dropped_by_kernel", "pings", "unanswered", "median_ms", "99_ms", "worst_ms",
             "over_50_ms", "worst_with_a_core_ms", "over_50_ms_with_a_core", "kB_first_quarter", "kB_last_quarter"]
    columns = [(f"{build} {area}", values) for build, areas in figures.items() if isinstance(areas, dict)
               for area, values in areas.items() if area != "end"]
    print(f"{'':<24}" + "".join(f"{title:>22}" for title, _ in columns))
    for name in names:
        print(f"{name:<24}" + "".join(f"{values.get(name, ''):>22}" for _, values in columns))


def program() -> str:
    return build.product("tactus", "--sanitize=address", folder=".build-address")


def ready(_: object) -> None:
    program()
    build.tactus()
    # Without the first, a crash would wait for Swift's backtracer. The runtime leaks memory that it keeps for
    # good. Little freed memory is kept aside, so that growth is visible.
    os.environ.update(SWIFT_BACKTRACE="enable=no",
                      ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64")


def measure(options: Any) -> tuple[object, bool]:
    packets, held = 200_000 if options.quick else options.packets, True
    figures: Figures = {"seed": options.seed}
    figures["sanitized"], more = flooded(program(), packets, options.fast, options.seed)
    figures["release"], said = flooded(build.tactus(), packets // 5, options.fast, options.seed + 1)
    table(figures)
    for name in ("sanitized", "release"):
        for claim, holds in claims(name, figures[name]):
            print(("holds   " if holds else "FAILS   ") + claim)
            held = held and holds
    if not held:
        print((more + said)[-4000:], file=sys.stderr)
    return figures, held
