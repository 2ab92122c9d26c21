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
import random
import socket
import struct
import sys
import time

from .. import osc
from .lines import Fields

SO_TIMESTAMPNS = 35


class Hand(osc.Controller):
    def __init__(self) -> None:
        super().__init__()
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def receive(self) -> tuple[bytes, float]:
        """A datagram and when the kernel had it."""
        packet, notes, _, _ = self.sock.recvmsg(65536, 256)
        offset = osc.raw_clock() - time.time_ns() / 1000
        for level, kind, data in notes:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack("qq", data[:16])
                return packet, seconds * 1e6 + nanoseconds / 1000 + offset
        return packet, osc.raw_clock()

    def do_say(self, path: str, tags: str = "", *words: str) -> None:
        self.say(path, tags, *(word if tag == "s" else int(word) if tag in "ih" else float(word)
                               for tag, word in zip(tags, words)))

    def do_ping(self) -> Fields:
        return {"ms": self.ping() or -1.0}

    def do_subscribe(self, *groups: str) -> None:
        self.say("subscribe", "is", self.port, " ".join(groups))

    def do_told(self, seconds: str) -> Fields:
        heard: dict[str, list[str]] = {}
        for came, path, arguments in self.told(float(seconds)):
            heard.setdefault(path, []).append(f"{came:.0f} {' '.join(map(str, arguments))}")
        return {path: "; ".join(lines) for path, lines in heard.items()}

    def do_toggle(self, path: str, count: str) -> Fields:
        sent = []
        for turn in range(int(count)):
            time.sleep(random.uniform(0.08, 0.12))
            sent.append(f"{osc.raw_clock():.0f} {turn % 2}")
            self.say(path, "i", turn % 2)
        return {"sent": "; ".join(sent)}

    def do_fade(self, begin: str, end: str, hertz: str, seconds: str) -> Fields:
        first, last, steps = float(begin), float(end), round(float(hertz) * float(seconds))
        began = time.monotonic()
        for step in range(steps):
            time.sleep(max(0, began + step / float(hertz) - time.monotonic()))
            self.say("tempo/fader", "f", first + (last - first) * step / steps)
        self.say("tempo/fader", "f", last)
        return {"sent": steps + 1}

    def do_crowd(self, count: str) -> None:
        for number in range(int(count)):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(b"banana", osc.HOST)
            if number % 50 == 0:
                time.sleep(0.01)


def main(_: list[str]) -> None:
    hand = Hand()
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            print('{"ok": true}', flush=True)
            break
        try:
            result = {"ok": True, **(getattr(hand, f"do_{words[0]}")(*words[1:]) or {})}
        except (AttributeError, IndexError, TypeError, ValueError, struct.error) as problem:
            result = {"ok": False, "error": f"{line.strip()}: {problem}"}
        print(json.dumps(result), flush=True)
