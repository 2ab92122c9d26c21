# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench crowd, inside of its lab: main.py LINK-PEER [--quick] [--json FILE]; main.py --many COUNT on host 2."""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import processor  # noqa: E402

LAB = os.environ["LAB"]
GROUP, MINE, OURS = ("224.76.78.75", 20808), "10.77.0.2", 10.0
COUNTS = [0, 1, 3, 10, 30, 100, 250]
PAUSE = 0.25  # seconds between two Alives of a peer


def many(count):
    """So many peers of one session, spread over each quarter of a second; each has a timeline that nobody prefers."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(MINE))
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind((GROUP[0], GROUP[1]))
    ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + socket.inet_aton(MINE))
    while (packet := ear.recv(2048))[:9] != b"_asdp_v\x01\x01":
        pass
    # Theirs is the session of whoever spoke first, word for word, but for the node and where to measure.
    body = packet[20:]
    at = body.index(b"mep4") + 8
    body = body[:at] + socket.inet_aton(MINE) + struct.pack(">H", 9) + body[at + 6:]
    dice = random.Random(1)
    packets = [packet[:12] + dice.randbytes(8) + body for _ in range(count)]
    due = time.monotonic()
    while True:
        for each in packets:
            out.sendto(each, GROUP)
            due += PAUSE / count
            time.sleep(max(0, due - time.monotonic()))


class Peer:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("enable on")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()


def cost(command, count, seconds):
    """Per cent of a core, and how many peers it counted at the end."""
    peer = Peer(command)
    crowd = None
    if count:
        crowd = subprocess.Popen([LAB, "on", "2", sys.executable, "-I", "-S", os.path.abspath(__file__), "--many", str(count)])
        for _ in range(100):
            if peer.ask("status")["peers"] >= count:
                break
            time.sleep(0.1)
    time.sleep(1)
    before, began = processor.used(peer.process.pid), time.monotonic()
    time.sleep(seconds)
    percent = (processor.used(peer.process.pid) - before) / (time.monotonic() - began) / 1e7
    counted = peer.ask("status")["peers"]
    if crowd:
        crowd.kill()
        crowd.wait()
    peer.end()
    return round(percent, 3), counted


def main():
    words = sys.argv[2:]
    quick = "--quick" in words
    target = words[words.index("--json") + 1] if "--json" in words[:-1] else None
    programs = {"ours": [sys.argv[1]], "reference": [LAB, "peer", "reference"]}
    rows = []
    if target != "-":
        print(f"{'peers':>6} {'our Link, %':>14} {'reference, %':>14}   of one core")
    for count in [0, 10, 100] if quick else COUNTS:
        row = {"peers": count}
        for name, command in programs.items():
            row[name], row[name + "_counted"] = cost(command, count, 2 if quick else OURS)
        rows.append(row)
        if target != "-":
            wrong = "".join(f"   {name} counted {row[name + '_counted']}" for name in programs if row[name + "_counted"] != count)
            print(f"{count:>6} {row['ours']:>14.3f} {row['reference']:>14.3f}{wrong}", flush=True)
    if target:
        text = json.dumps({"rows": rows}, indent=1) + "\n"
        if target == "-":
            sys.stdout.write(text)
        else:
            with open(target, "w") as file:
                file.write(text)


if sys.argv[1] == "--many":
    many(int(sys.argv[2]))
else:
    main()
