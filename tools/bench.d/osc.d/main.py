# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench osc: what the control surface costs and withstands, on the real program inside the lab.

    flood      mutated packets from a seed through the real socket; beside them a ping every 20 ms: answered when, and
               how much memory grew
    feedback   processor time with 16 subscribers to every group, against the same program with none
    dispatch   round trip of a ping on an idle surface
"""

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

HOST = ("127.0.0.1", 20809)
TICKS = os.sysconf("SC_CLK_TCK")


def text(value):
    data = value.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def message(address, tags="", *arguments):
    data = text(address) + text("," + tags)
    for tag, argument in zip(tags, arguments):
        data += text(argument) if tag == "s" else struct.pack(">" + tag.replace("h", "q"), argument)
    return data


def mutated(dice, addresses):
    address = "/tactus/" + dice.choice(addresses)
    tags = "".join(dice.choice("ifdhs") for _ in range(dice.randrange(4)))
    values = [dice.choice(["now", "9000", "state beat", "XxXx"]) if t == "s" else
              dice.randrange(-2**31, 2**31) if t in "ih" else dice.choice([0.0, 1.0, 120.0, 1e30, -1.0]) for t in tags]
    packet = bytearray(message(address, tags, *values))
    if dice.random() < 0.2:
        packet = bytearray(b"#bundle\0" + struct.pack(">QI", 1, len(packet))) + packet
    for _ in range(dice.randrange(5)):
        if not packet:
            break
        kind = dice.randrange(4)
        at = dice.randrange(len(packet))
        if kind == 0:
            packet[at] = dice.randrange(256)
        elif kind == 1:
            packet[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            del packet[-dice.randrange(1, 9):]
        else:
            packet += bytes(dice.randrange(9))
    return bytes(packet)


def resident(process):
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def used(process):
    """Processor time of the surface's thread and all others, in seconds."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def ping(sock):
    began = time.perf_counter()
    sock.sendto(message("/tactus/ping", "i", 1), HOST)
    while True:
        if b"/tactus/pong" in sock.recv(65536):
            return (time.perf_counter() - began) * 1000


def pinger():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(2)
    return sock


def flood(process, packets, seed):
    dice = random.Random(seed)
    words = subprocess.run([program, "--help-osc"], capture_output=True, text=True, check=True).stdout
    addresses = [line.split()[0] for line in words.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    # Nothing that ends the program or floods a stranger; thousands of templates, sent from many ports, because one
    # source is only heard 2000 times a second.
    templates = [p for p in (mutated(dice, addresses) for _ in range(20000)) if b"quit" not in p and b"*" not in p]
    sources = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(48)]
    sock = pinger()
    ping(sock)
    before = resident(process)
    answers, lost, sent, began = [], 0, 0, time.perf_counter()
    next_ping = began
    while sent < packets:
        for _ in range(100):
            sources[sent % len(sources)].sendto(dice.choice(templates), HOST)
            sent += 1
        now = time.perf_counter()
        if now >= next_ping:
            next_ping = now + 0.02
            try:
                answers.append(ping(sock))
            except TimeoutError:
                lost += 1
            for source in sources:
                try:
                    while True:
                        source.recv(65536, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
    seconds = time.perf_counter() - began
    return {
        "packets": sent,
        "per_second": round(sent / seconds),
        "pings": len(answers),
        "pings_lost": lost,
        "pong_ms_median": round(statistics.median(answers), 2),
        "pong_ms_99": round(sorted(answers)[len(answers) * 99 // 100], 2),
        "pong_ms_max": round(max(answers), 2),
        "kB_before": before,
        "kB_after": resident(process),
    }


def feedback(process, seconds):
    def stretch():
        began, start = time.perf_counter(), used(process)
        time.sleep(seconds)
        return (used(process) - start) / (time.perf_counter() - began) * 100

    idle = stretch()
    listeners = []
    for _ in range(16):
        sock = pinger()
        sock.sendto(message("/tactus/subscribe", "is", sock.getsockname()[1], "all"), HOST)
        listeners.append(sock)
    told = stretch()
    for sock in listeners:
        sock.sendto(message("/tactus/unsubscribe", "i", sock.getsockname()[1]), HOST)
    return {"idle_percent": round(idle, 2), "with_16_percent": round(told, 2), "cost_percent": round(told - idle, 2)}


parser = argparse.ArgumentParser(
    prog="tools/bench osc", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--packets", type=int, default=1_000_000)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--json", metavar="FILE")
options = parser.parse_args()
program = options.program
packets = 50_000 if options.quick else options.packets
tactus = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
for line in tactus.stdout:
    if line.startswith("OSC: "):
        break
# Nobody reads what it says of each bad packet.
threading.Thread(target=lambda: tactus.stdout.read(), daemon=True).start()
sock = pinger()
ping(sock)
idle = sorted(ping(sock) for _ in range(200))
figures = {"dispatch_ms": {"median": round(idle[100], 3), "99": round(idle[198], 3)}}
figures["feedback"] = feedback(tactus.pid, 3 if options.quick else 10)
figures["flood"] = flood(tactus.pid, packets, options.seed)
tactus.terminate()
figures["status"] = tactus.wait()
for area, values in figures.items():
    print(area, values if not isinstance(values, dict) else "  ".join(f"{k} {v}" for k, v in values.items()))
if options.json:
    with open(options.json, "w") as file:
        json.dump(figures, file, indent=1)
sys.exit(0 if figures["status"] == 0 else 1)
