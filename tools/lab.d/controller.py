# SPDX-License-Identifier: GPL-2.0-or-later
"""An OSC controller of tactus on the same host, driven by lines, each answered by one of JSON (lines.py):

    say PATH [TAGS ARGUMENT...]    /tactus/PATH
    ping                           milliseconds until its answer
    subscribe GROUPS               at our port
    told SECONDS                   what is told from now on: for each path "TIME ARGUMENT...; ..."
    toggle PATH COUNT              on and off at random moments; sent: "TIME ON; ..."
    fade FROM TO HERTZ SECONDS     tempo/fader, and once more at TO
    crowd COUNT                    a packet that is no OSC from each of so many other ports
    quit

Times are microseconds of Link's clock. When a message came is the kernel's word: when it was sent, on one machine."""

import json
import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench.d", "osc.d"))

from packets import HOST, Controller, messages, raw_clock  # noqa: E402

SO_TIMESTAMPNS = 35


def stamped(sock):
    """A datagram and when the kernel had it."""
    packet, notes, _, _ = sock.recvmsg(65536, 256)
    offset = raw_clock() - time.time_ns() / 1000
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return packet, seconds * 1e6 + nanoseconds / 1000 + offset
    return packet, raw_clock()


class Hand:
    def __init__(self):
        self.controller = Controller()
        self.sock = self.controller.sock
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def say(self, path, tags="", *words):
        values = [word if tag == "s" else int(word) if tag in "ih" else float(word) for tag, word in zip(tags, words)]
        self.controller.say(path, tags, *values)

    def ping(self):
        self.sock.settimeout(2)
        return {"ms": self.controller.ping() or -1.0}

    def subscribe(self, *groups):
        self.controller.say("subscribe", "is", self.controller.port, " ".join(groups))

    def told(self, seconds):
        end, heard = time.monotonic() + float(seconds), {}
        while (rest := end - time.monotonic()) > 0:
            self.sock.settimeout(rest)
            try:
                packet, came = stamped(self.sock)
            except TimeoutError:
                break
            for address, arguments in messages(packet):
                words = " ".join(str(argument) for argument in arguments)
                heard.setdefault(address.removeprefix("/tactus/"), []).append(f"{came:.0f} {words}")
        return {path: "; ".join(lines) for path, lines in heard.items()}

    def toggle(self, path, count):
        sent = []
        for turn in range(int(count)):
            time.sleep(random.uniform(0.08, 0.12))
            sent.append(f"{raw_clock():.0f} {turn % 2}")
            self.controller.say(path, "i", turn % 2)
        return {"sent": "; ".join(sent)}

    def fade(self, first, last, hertz, seconds):
        first, last, steps = float(first), float(last), round(float(hertz) * float(seconds))
        begin = time.monotonic()
        for step in range(steps):
            time.sleep(max(0, begin + step / float(hertz) - time.monotonic()))
            self.controller.say("tempo/fader", "f", first + (last - first) * step / steps)
        self.controller.say("tempo/fader", "f", last)
        return {"sent": steps + 1}

    def crowd(self, count):
        for number in range(int(count)):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(b"banana", HOST)
            if number % 50 == 0:
                time.sleep(0.01)


hand = Hand()
for line in sys.stdin:
    words = line.split()
    if words == ["quit"]:
        print('{"ok": true}', flush=True)
        break
    try:
        result = {"ok": True, **(getattr(hand, words[0])(*words[1:]) or {})}
    except (AttributeError, IndexError, TypeError, ValueError, struct.error) as problem:
        result = {"ok": False, "error": f"{line.strip()}: {problem}"}
    print(json.dumps(result), flush=True)
