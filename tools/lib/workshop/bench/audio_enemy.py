# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that is hostile to Link Audio: bench.audio_enemy KIND ADDRESS VICTIM SECONDS, on the host with that address. It listens
for a second who is there; then, against the audio sockets of VICTIM,

  crowd     invents peers of the session by the thousand that say they take part, all of them at its own socket
  flood     as many datagrams as it can: empty, cut, changed, audio that nobody asked for, requests by nobody and by others
  spoofer   sound of the channels that are there, in the session's beats, from its own socket, and channels with the same ids
  twin      says in discovery that the channels' peer is where it is itself, answers all pings in its name, and sends sound, lists,
            requests and goodbyes as that peer
  liar      a peer that answers every ping, has 4,000 channels whose names are no text, too long or others' every time, asks for
            everything thousands of times, says goodbye to everybody's channels and moves to another socket five times a second

and prints, as JSON, what it sent and what came back to it, in datagrams and bytes."""

import contextlib
import json
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator

from .. import link

AUDIO = b"chnnlsv\x01"
ANNOUNCEMENT, BYES, PONG, REQUEST, STOP, SOUND = range(1, 7)


class Enemy:
    def __init__(self, mine: str, victim: str) -> None:
        self.mine, self.victim = mine, victim
        self.dice, self.out, self.ear = random.Random(1), link.mouth(mine), link.ear(mine)
        self.sockets = [self.opened()]
        self.sent = self.back = self.back_bytes = self.sent_bytes = 0
        self.node, self.session, self.timeline = self.name(), b"", bytes(24)
        self.where: dict[bytes, tuple[str, int]] = {}
        self.channels: list[tuple[bytes, bytes]] = []

    def opened(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((self.mine, 0))
        sock.setblocking(False)
        return sock

    def name(self) -> bytes:
        return bytes(self.dice.randrange(33, 127) for _ in range(8))

    def head(self, kind: int, node: bytes, ttl: int = 5) -> bytes:
        return AUDIO + bytes([kind, ttl, 0, 0]) + node

    def listen(self, seconds: float) -> None:
        """To discovery, for the audio sockets; and, known as a peer, to the victim's announcements, for its channels."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.ear, *self.sockets], [], [], 0.1)
            if self.ear in ready:
                packet = self.ear.recv(2048)
                found = link.entries(packet)
                if packet[:8] == link.DISCOVERY and b"aep4" in found:
                    where = found[b"aep4"]
                    self.where[packet[12:20]] = (socket.inet_ntoa(where[:4]), struct.unpack(">H", where[4:])[0])
                    self.session, self.timeline = found[b"sess"], found[b"tmln"]
            self.answer(ready)
            if self.session:
                self.appear(self.node, self.sockets[0])

    def appear(self, node: bytes, sock: socket.socket) -> None:
        packet = link.alive(node, self.session, self.timeline, link.endpoint(self.mine, 9))
        with contextlib.suppress(OSError):
            self.out.sendto(packet + link.entry(b"aep4", link.endpoint(*sock.getsockname())), link.GROUP)
        self.count(packet)

    def count(self, packet: bytes) -> None:
        self.sent += 1
        self.sent_bytes += len(packet)

    def say(self, packet: bytes, sock: socket.socket | None = None) -> None:
        for address, port in self.targets:
            with contextlib.suppress(OSError):
                (sock or self.sockets[-1]).sendto(packet, (address, port))
            self.count(packet)

    @property
    def targets(self) -> list[tuple[str, int]]:
        return [where for where in self.where.values() if where[0] == self.victim]

    def answer(self, ready: list[socket.socket]) -> None:
        """Pings, and what else came is counted."""
        for sock in ready:
            if sock is self.ear:
                continue
            for _ in range(200):
                try:
                    packet, source = sock.recvfrom(2048)
                except BlockingIOError:
                    break
                self.back += 1
                self.back_bytes += len(packet)
                if packet[:9] != AUDIO + bytes([ANNOUNCEMENT]):
                    continue
                found = link.entries(packet)
                self.note(found.get(b"auca", b""))
                if self.is_answering and b"__ht" in found:
                    sock.sendto(self.head(PONG, self.node) + link.entry(b"__ht", found[b"__ht"]), source)

    is_answering = True

    def note(self, listed: bytes) -> None:
        place = 4
        while place + 4 <= len(listed) and len(self.channels) < 100:
            size = struct.unpack_from(">I", listed, place)[0]
            name, ident = listed[place + 4:place + 4 + size], listed[place + 4 + size:place + 12 + size]
            if (name, ident) not in self.channels:
                self.channels.append((name, ident))
            place += 12 + size

    def sound(self, channel: bytes, number: int) -> bytes:
        beat = int(time.monotonic() * 2e6) + self.dice.randrange(10**6)
        return (self.head(SOUND, self.node, 0) + channel + self.session
                + struct.pack(">IQHqqBIBH", 1, number, 251, beat, 500_000, 1, 48_000, 1, 502) + b"\x7f\xff" * 251)

    def announcement(self, names: list[tuple[bytes, bytes]], node: bytes) -> bytes:
        listed = struct.pack(">I", len(names)) + b"".join(struct.pack(">I", len(name)) + name + ident for name, ident in names)
        return (self.head(ANNOUNCEMENT, node) + link.entry(b"sess", self.session)
                + link.entry(b"__pi", struct.pack(">I", 5) + b"enemy") + link.entry(b"auca", listed) + link.entry(b"__ht", self.name()))

    def crowd(self) -> Iterator[None]:
        self.is_answering = False
        while True:
            self.appear(self.name(), self.sockets[0])
            yield

    def flood(self) -> Iterator[None]:
        number = 0
        while True:
            number += 1
            channel = self.dice.choice(self.channels)[1] if self.channels else self.name()
            node = self.dice.choice([self.node, self.name(), *self.where])
            whole = [self.sound(self.name(), number), self.announcement([(b"x", self.name())], node),
                     self.head(REQUEST, node) + link.entry(b"chid", channel), self.head(STOP, node, 0) + link.entry(b"chid", channel),
                     self.head(BYES, node) + link.entry(b"aucb", struct.pack(">I", 1) + channel), b""][number % 6]
            if number % 3 == 0 and whole:
                changed = bytearray(whole)
                changed[self.dice.randrange(len(whole))] ^= 1 << self.dice.randrange(8)
                whole = bytes(changed[:self.dice.randrange(len(whole) + 1)])
            self.say(whole)
            yield

    def spoofer(self) -> Iterator[None]:
        number = 0
        while True:
            number += 1
            for name, ident in self.channels or [(b"", self.name())]:
                self.say(self.sound(ident, number))
                if number % 50 == 0:
                    self.say(self.announcement([(name, ident)], self.dice.choice([self.node, *self.where])))
            yield

    def twin(self) -> Iterator[None]:
        self.node = next(node for node, (address, _) in self.where.items() if address not in (self.victim, self.mine))
        number = 0
        while True:
            number += 1
            if number % 20 == 0:
                self.appear(self.node, self.sockets[0])
            for name, ident in self.channels or [(b"", self.name())]:
                self.say(self.sound(ident, number))
                if number % 50 == 0:
                    self.say(self.announcement([(name, ident)], self.node))
                    self.say(self.head(REQUEST, self.node) + link.entry(b"chid", ident))
                    self.say(self.head(BYES, self.node) + link.entry(b"aucb", struct.pack(">I", 1) + ident))
            yield

    def liar(self) -> Iterator[None]:
        moved = time.monotonic()
        while True:
            names = [(bytes(self.dice.randrange(128, 256) for _ in range(self.dice.choice([1, 8]))) if self.dice.randrange(2)
                      else b"%d" % self.dice.randrange(4000), struct.pack(">Q", self.dice.randrange(4000))) for _ in range(30)]
            self.say(self.announcement(names, self.node))
            self.say(self.announcement([(b"x" * 500, self.name()), (b"", self.name())], self.node))
            for _, ident in self.channels or [(b"", self.name())]:
                for _ in range(20):
                    self.say(self.head(REQUEST, self.node, self.dice.choice([0, 5, 255])) + link.entry(b"chid", ident))
                self.say(self.head(BYES, self.node) + link.entry(b"aucb", struct.pack(">I", 1) + ident))
            if time.monotonic() - moved > 0.2:
                moved = time.monotonic()
                self.sockets = [*self.sockets[-20:], self.opened()]
                self.appear(self.node, self.sockets[-1])
            yield

    def attack(self, kind: str, seconds: float) -> None:
        self.sent = self.sent_bytes = self.back = self.back_bytes = 0
        steps: Iterator[None] = getattr(self, kind)()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(20):
                next(steps)
            self.answer(select.select(self.sockets, [], [], 0.001)[0])


def main(words: list[str]) -> None:
    kind, mine, victim, seconds = words
    enemy = Enemy(mine, victim)
    enemy.listen(2.0)
    if not enemy.targets:
        sys.exit(f"{victim} takes no part in Link Audio")
    enemy.attack(kind, float(seconds))
    print(json.dumps({"sent": enemy.sent, "sent_bytes": enemy.sent_bytes, "back": enemy.back, "back_bytes": enemy.back_bytes}))
