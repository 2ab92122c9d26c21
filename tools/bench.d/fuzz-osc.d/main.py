# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench fuzz-osc: mutated packets from a seed through the real socket of the program under the address sanitizer.

    counted    so many packets that the program has read, each of them: after every 150 a ping, and the next only after its
               answer. How long the answers take, and whether memory grows.
    fast       as many as one sender can send for some seconds, whoever reads them, and pings beside them. Those to the
               flooded socket are lost with the others that the kernel has no room for; those to the socket at ::1 are
               not, and each must be answered.
    release    the same as counted for a fifth as many, through the program as users have it: the memory is its own there,
               without the sanitizer's.

A ping that is answered late is told from one whose thread had no core: how long a thread was ready and waited is the
kernel's word (schedstat). Beside them a process that only sends back what it gets is asked now and then. Ends with 1 if
a claim fails."""

import argparse
import json
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

from watch import HOST, Cores, Echo, Pinger, anonymous, busiest, dropped, message

# One source is heard 2000 times a second at most, so they come from many.
SOURCES = 256
# What is left of the claims' room on any machine: the sanitizer's own lists, and the allocator's.
GROWTH = {"sanitized": 8192, "release": 1024}
WORDS = ["now", "bar", "9000", "state beat", "all", "osc.udp://1.2.3.4:9/", "XxXx", "", "note 36 = tap", "tempo 60..90"]


def mutated(dice, addresses):
    address = "/tactus/" + dice.choice(addresses)
    kind = dice.randrange(12)
    if kind == 0:
        address = dice.choice(["//tempo", "/tactus/{click,clock,*}", "/tactus/*/[a-z]*", "/set_surface/0/0/0/0/0/0/9000"])
    elif kind == 1:
        address += f"/{dice.randrange(70000)}"
    tags = "".join(dice.choice("ifdhs") for _ in range(dice.randrange(4)))
    values = [dice.choice(WORDS) if t == "s" else dice.randrange(-2**31, 2**31) if t in "ih" else
              dice.choice([0.0, 1.0, 120.0, 1e30, -1.0, float("nan"), 0.5]) for t in tags]
    packet = bytearray(message(address, tags, *values))
    if dice.random() < 0.25:
        timetag = dice.choice([1, 0, 2**64 - 1, (int(time.time()) + 2208988800 + dice.randrange(70)) << 32])
        packet = bytearray(b"#bundle\0" + struct.pack(">QI", timetag, len(packet))) + packet
    for _ in range(dice.randrange(5)):
        if not packet:
            break
        kind = dice.randrange(5)
        at = dice.randrange(len(packet))
        if kind == 0:
            packet[at] = dice.randrange(256)
        elif kind == 1:
            packet[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            del packet[-dice.randrange(1, 9):]
        elif kind == 3:
            packet += bytes(dice.randrange(9))
        else:
            packet[at:at] = dice.choice([b"#", b",", b"/", b"*", b"{", b"["])
    return bytes(packet)


class Flood:
    def __init__(self, program, seed):
        self.dice = random.Random(seed)
        words = subprocess.run([program, "--help-osc"], capture_output=True, text=True, check=True).stdout
        self.addresses = [line.split()[0] for line in words.splitlines() if line.startswith("  ") and line[2] != " "]
        self.sources = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(SOURCES)]
        self.fill()

    def fill(self):
        """New packets. None that ends the program."""
        fresh = (mutated(self.dice, self.addresses) for _ in range(4000))
        self.packets = [packet for packet in fresh if b"quit" not in packet]

    def send(self, count):
        choice, sources = self.dice.choice, self.sources
        first = self.dice.randrange(SOURCES)
        for index in range(count):
            sources[(first + index) % SOURCES].sendto(choice(self.packets), HOST)

    def warm(self, count):
        for _ in range(count // 150):
            self.send(150)
            time.sleep(0.005)

    def forget_answers(self):
        for source in self.sources:
            try:
                while True:
                    source.recv(65536, socket.MSG_DONTWAIT)
            except OSError:
                pass


def start(program):
    """The program, what it complained of, and the thread that hears OSC."""
    tactus = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in tactus.stdout:
        if line.startswith("OSC: "):
            break
    errors = []
    # Nobody reads what it says of each bad packet, but a full pipe would be another test.
    threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(tactus.stdout.fileno(), 65536), b"")],
                     daemon=True).start()
    threading.Thread(target=lambda: errors.append(tactus.stderr.read()), daemon=True).start()
    return tactus, errors


def end(tactus, errors):
    """Its status, and what the sanitizer or the runtime said."""
    time.sleep(1)
    afterwards = Pinger(Cores("self", os.getpid())).ping()
    tactus.terminate()
    try:
        status = tactus.wait(30)
    except subprocess.TimeoutExpired:
        tactus.kill()
        status = tactus.wait()
    time.sleep(0.2)
    said = "".join(errors)
    return {"status": status, "answers_afterwards": afterwards is not None,
            "reports": sum(mark in said for mark in ("AddressSanitizer", "Fatal error", "runtime error"))}, said


def quarters(samples):
    """What was used in the first quarter and in the last, in kilobytes."""
    size = max(1, len(samples) // 4)
    return {"kB_first_quarter": round(statistics.median(samples[:size])),
            "kB_last_quarter": round(statistics.median(samples[-size:]))}


def counted(process, flood, packets):
    thread = busiest(process, lambda: flood.warm(20_000 if packets > 100_000 else 3_000))
    pinger, echo = Pinger(Cores(process, thread)), Echo()
    samples, sent, lost, began = [], 0, dropped(), time.perf_counter()
    while sent < packets:
        flood.send(150)
        sent += 150
        if pinger.ping() is None and not os.path.exists(f"/proc/{process}/exe"):
            break
        if sent % 3_000 == 0:
            echo.ping()
            samples.append(anonymous(process))
        if sent % 60_000 == 0:
            flood.fill()
            flood.forget_answers()
    return {"packets": sent, "dropped_by_kernel": dropped() - lost,
            "per_second": round(sent / (time.perf_counter() - began)), **pinger.figures(), **quarters(samples)}, echo.figures()


def fast(process, thread, flood, seconds):
    there, aside = Pinger(Cores(process, thread)), Pinger(Cores(process, thread), ("::1", HOST[1]))
    lost, lost_aside = dropped(), dropped("udp6")
    sender = os.fork()
    if sender == 0:
        while True:
            flood.send(1000)
    there.sock.settimeout(0.2)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        aside.ping()
        there.ping()
        time.sleep(0.01)
    os.kill(sender, 9)
    os.waitpid(sender, 0)
    return ({"seconds": seconds, "dropped_by_kernel": dropped() - lost, **there.figures()},
            {"seconds": seconds, "dropped_by_kernel": dropped("udp6") - lost_aside, **aside.figures()})


def flooded(program, packets, seconds, seed):
    tactus, errors = start(program)
    flood = Flood(program, seed)
    figures = {}
    figures["counted"], figures["echo"] = counted(tactus.pid, flood, packets)
    if seconds and tactus.poll() is None:
        thread = busiest(tactus.pid, lambda: flood.warm(3_000))
        figures["fast"], figures["fast_aside"] = fast(tactus.pid, thread, flood, seconds)
    figures["end"], said = end(tactus, errors)
    return figures, said


def claims(name, figures):
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


def table(figures):
    names = ["packets", "seconds", "per_second", "dropped_by_kernel", "pings", "unanswered", "median_ms", "99_ms", "worst_ms",
             "over_50_ms", "worst_with_a_core_ms", "over_50_ms_with_a_core", "kB_first_quarter", "kB_last_quarter"]
    columns = [(f"{build} {area}", values) for build, areas in figures.items() if isinstance(areas, dict)
               for area, values in areas.items() if area != "end"]
    print(f"{'':<24}" + "".join(f"{title:>22}" for title, _ in columns))
    for name in names:
        print(f"{name:<24}" + "".join(f"{values.get(name, ''):>22}" for _, values in columns))


parser = argparse.ArgumentParser(
    prog="tools/bench fuzz-osc", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
parser.add_argument("--release", help=argparse.SUPPRESS)
parser.add_argument("--echo", help=argparse.SUPPRESS)
parser.add_argument("--quick", action="store_true", help="200,000 packets")
parser.add_argument("--packets", type=int, default=5_000_000, help="how many (5,000,000)")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--fast", type=int, default=5, metavar="SECONDS", help="how long without waiting (5)")
parser.add_argument("--json", metavar="FILE")
options = parser.parse_args()
packets = 200_000 if options.quick else options.packets
echo = subprocess.Popen([options.echo, "20810"])
figures, said = {"seed": options.seed}, ""
figures["sanitized"], said = flooded(options.program, packets, options.fast, options.seed)
figures["release"], more = flooded(options.release, packets // 5, options.fast, options.seed + 1)
echo.kill()
table(figures)
failed = 0
for name in ("sanitized", "release"):
    for claim, holds in claims(name, figures[name]):
        print(("holds   " if holds else "FAILS   ") + claim)
        failed += not holds
if options.json:
    with open(options.json, "w") as file:
        json.dump(figures, file, indent=1)
if failed:
    print((said + more)[-4000:], file=sys.stderr)
sys.exit(1 if failed else 0)
