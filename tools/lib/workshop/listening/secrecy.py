# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 secrecy.py SECONDS ONE OTHER [FILE]: records the packets between two addresses on this machine's
wire0, and prints as JSON what a listener on the wire could learn from them. OTHER may be a group. FILE gets
each UDP datagram: source, its port, destination, its port, bytes.

    datagrams, bytes   the number of UDP datagrams, and the bytes of the whole frames
    others             packets between the two that are not UDP, such as reports that no program listens
    readable           datagrams with a word of Link's, or without the form of a far wire's (FarLink's Datagram.swift)
    skew               how unevenly the bytes behind the open header are distributed, at each place and in all
                       together: the worst place, in standard deviations, where 0 is chance. A part that is the same
                       in many datagrams, or sealed twice with one key and number, makes it hundreds."""

import json
import math
import os
import socket
import struct
import sys
import time
from typing import TextIO

WORDS = (b"_asdp_v", b"_link_v", b"tmln", b"sess", b"stst", b"mep4", b"mep6", b"__ht", b"__gt", b"_pgt", b"chnl")
OPEN = {1: 33, 2: 37, 3: 13}  # the length of each kind's open header: public keys, indices and numbers
ENOUGH = 500  # a byte position is judged only with this many datagrams


class Counts:
    def __init__(self) -> None:
        self.bytes, self.all = [0] * 256, 0

    def add(self, byte: int) -> None:
        self.bytes[byte] += 1
        self.all += 1

    @property
    def skew(self) -> float:
        each = self.all / 256
        return (sum((count - each) ** 2 / each for count in self.bytes) - 255) / math.sqrt(510)


class Tap:
    def __init__(self) -> None:
        self.datagrams = self.bytes = self.others = self.readable = 0
        self.together = Counts()
        self.places: dict[int, Counts] = {}

    def hear(self, payload: bytes, size: int) -> None:
        self.datagrams, self.bytes = self.datagrams + 1, self.bytes + size
        kind = payload[0] if payload else 0
        fits = {1: len(payload) == 81, 2: len(payload) == 65, 3: 30 <= len(payload) <= 542}.get(kind, False)
        self.readable += not fits or any(word in payload for word in WORDS)
        for place, byte in enumerate(payload[OPEN.get(kind, 0):]):
            self.together.add(byte)
            self.places.setdefault(place, Counts()).add(byte)

    def told(self) -> dict[str, float]:
        judged = [counts.skew for counts in (self.together, *self.places.values()) if counts.all >= ENOUGH]
        return {"datagrams": self.datagrams, "bytes": self.bytes, "others": self.others, "readable": self.readable,
                "skew": round(max(judged, default=1e9), 1)}


def listen(words: list[str], recording: TextIO) -> Tap:
    end, ends = time.monotonic() + float(words[0]), {socket.inet_aton(word) for word in words[1:3]}
    tap, wire = Tap(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("wire0", 0))
    wire.settimeout(0.2)
    while time.monotonic() < end:
        try:
            frame = wire.recv(4096)
        except TimeoutError:
            continue
        if frame[12:14] != b"\x08\0" or {frame[26:30], frame[30:34]} != ends:
            continue
        start = 14 + 4 * (frame[14] & 15)
        if frame[23] != 17:
            tap.others += 1
            continue
        here, there, length = struct.unpack(">HHH", frame[start:start + 6])
        payload = frame[start + 8:start + length]
        tap.hear(payload, len(frame))
        print(socket.inet_ntoa(frame[26:30]), here, socket.inet_ntoa(frame[30:34]), there, payload.hex(), file=recording)
    return tap


def main(words: list[str]) -> None:
    with open(words[3] if len(words) > 3 else os.devnull, "w") as recording:
        print(json.dumps(listen(words, recording).told()))


if __name__ == "__main__":
    main(sys.argv[1:])
