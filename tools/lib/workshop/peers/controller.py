# SPDX-License-Identifier: GPL-2.0-or-later
"""An OSC controller of tactus on the same host, driven by lines (lines.py). The kernel gives the time of
arrival of each message, which on one machine is the time at which it was sent."""

import random
import socket
import struct
import time

from .. import osc
from ..enemy import Flood
from . import lines
from .lines import Fields

SO_TIMESTAMPNS = 35


def raw_of_wall() -> float:
    """The microseconds from the wall clock to Link's clock. Of three readings, the one with the shortest
    interruption counts."""
    looks = []
    for _ in range(3):
        before, wall, after = osc.raw_clock(), time.time_ns() / 1000, osc.raw_clock()
        looks.append((after - before, (before + after) / 2 - wall))
    return min(looks)[1]


class Stamped(osc.Controller):
    def __init__(self) -> None:
        super().__init__()
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def receive(self) -> tuple[bytes, float]:
        """A datagram, and the time at which the kernel received it."""
        packet, notes, _, _ = self.sock.recvmsg(65536, 256)
        seconds, nanoseconds = struct.unpack("qq", notes[0][2][:16])
        return packet, raw_of_wall() + seconds * 1e6 + nanoseconds / 1000


class Hand:
    pause = 0.0
    enemy: Flood | None = None

    def __init__(self) -> None:
        self.controller = Stamped()

    def say(self, path: str, tags: str = "", *words: str) -> None:
        self.controller.say(path, tags, *(word if tag == "s" else int(word) if tag in "ih" else float(word)
                                          for tag, word in zip(tags, words)))

    def ping(self) -> Fields:
        return {"ms": self.controller.ping() or -1.0}

    def subscribe(self, *groups: str) -> None:
        self.controller.say("subscribe", "is", self.controller.port, " ".join(groups))

    def told(self, seconds: str) -> Fields:
        heard: dict[str, list[str]] = {}
        for came, path, arguments in self.controller.told(float(seconds)):
            heard.setdefault(path, []).append(f"{came:.0f} {' '.join(map(str, arguments))}")
        return {path: "; ".join(lines) for path, lines in heard.items()}

    def toggle(self, path: str, count: str) -> Fields:
        sent = []
        for turn in range(int(count)):
            time.sleep(random.uniform(0.08, 0.12))
            sent.append(f"{osc.raw_clock():.0f} {turn % 2}")
            self.controller.say(path, "i", turn % 2)
        return {"sent": "; ".join(sent)}

    def fade(self, begin: str, end: str, hertz: str, seconds: str) -> Fields:
        first, last, steps = float(begin), float(end), round(float(hertz) * float(seconds))
        began = time.monotonic()
        for step in range(steps):
            time.sleep(max(0, began + step / float(hertz) - time.monotonic()))
            self.controller.say("tempo/fader", "f", first + (last - first) * step / steps)
        self.controller.say("tempo/fader", "f", last)
        return {"sent": steps + 1}

    def crowd(self, count: str) -> None:
        for number in range(int(count)):
            with osc.speaker() as stranger:
                stranger.sendto(b"banana", osc.HOST)
            if number % 50 == 0:
                time.sleep(0.01)

    def flood(self, count: str, path: str) -> None:
        self.enemy = Flood(osc.bundle([osc.message("/tactus/" + path, None)] * int(count)))
        self.enemy.start()

    def status(self) -> Fields:
        return {"port": self.controller.port}

    def leave(self) -> None:
        if self.enemy:
            self.enemy.stop()


def main(_: list[str]) -> None:
    lines.serve(Hand())
