# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile machine on the wire: soak.enemy KIND SECONDS SEED, on host 2. It listens for a moment who is there, then

  strangers  invents peers of the session, hundreds a second        crowd   200 peers at once, then silence
  byes       says goodbye in the others' names                      broken  real packets with bytes changed
  liars      founds sessions and answers questions about its clock with nonsense
  forgers    4,000 a second: ghosts of sessions, beats and times that jump to 0, below it or to the end of numbers, half packets
  war        two that want other tempos, each later than the other; prints the last word's, in microseconds per beat
"""

import contextlib
import random
import select
import socket
import struct
import time

from .. import link

MINE = "10.77.0.2"
KINDS = ("strangers", "crowd", "byes", "broken", "liars", "forgers", "war")
EDGES = [0, 1, -1, 2**62, 2**63 - 1, -2**63]
MUSICAL = [60e6 / bpm for bpm in (60, 90, 120, 140, 180)]


class Enemy:
    def __init__(self, seed: int) -> None:
        self.dice, self.out, self.ear = random.Random(seed), link.mouth(MINE), link.ear(MINE)
        self.clock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.clock.bind((MINE, 0))
        self.packets: dict[bytes, bytes] = {}
        self.heard: list[bytes] = []
        self.founded = [self.node() for _ in range(8)]
        self.crowd = [self.node() for _ in range(200)]

    def listen(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if select.select([self.ear], [], [], rest)[0]:
                packet = self.ear.recv(2048)
                if packet[:8] == link.DISCOVERY and packet[8] != link.BYE:
                    self.packets[packet[12:20]] = packet
                    self.heard.append(packet)
        found = link.entries(next(iter(self.packets.values()), b""))
        self.session = found.get(b"sess", self.node())
        self.timeline = struct.unpack(">qqq", found.get(b"tmln", struct.pack(">qqq", 500000, 0, 0)))

    def say(self, packet: bytes) -> None:
        with contextlib.suppress(OSError):  # the wire is down: somebody else's doing
            self.out.sendto(packet, link.GROUP)

    def pretend(self, node: bytes, port: int, session: bytes | None = None, timeline: tuple[int, ...] | None = None) -> None:
        self.say(link.alive(node, session or self.session, struct.pack(">qqq", *(timeline or self.timeline)),
                            link.endpoint(MINE, port)))

    def forge(self) -> None:
        """Nothing of it is a later word in the session that is there: anyone who takes it for one is wrong."""
        session, beat = (self.session, self.dice.choice([0, -1, -2**63])) if self.dice.randrange(2) else (self.node(), self.dice.choice(EDGES))
        if self.dice.randrange(4) == 0:
            packet = self.dice.choice(self.heard)
            self.say(packet[:self.dice.randrange(8, len(packet))])
        else:
            self.pretend(self.node(), 9, session, (self.dice.choice([self.timeline[0], *EDGES]), beat, self.dice.choice(EDGES)))

    def node(self) -> bytes:
        return self.dice.randbytes(8)

    def answer(self) -> None:
        """What time is it? Whatever comes to mind."""
        while select.select([self.clock], [], [], 0)[0]:
            ping, sender = self.clock.recvfrom(2048)
            if ping[:9] == link.MEASUREMENT + bytes([link.PING]):
                ghost = self.dice.choice([0, -1, 2**63 - 1, -2**63, self.dice.randrange(-2**40, 2**40),
                                          time.monotonic_ns() // 1000 + self.dice.randrange(10**9)])
                self.clock.sendto(link.MEASUREMENT + bytes([link.PONG]) + link.entry(b"sess", self.dice.choice(self.founded)) +
                                  link.entry(b"__gt", struct.pack(">q", ghost)) + ping[9:], sender)

    def attack(self, kind: str, seconds: float) -> None:
        end, turn = time.monotonic() + seconds, 0
        self.said = time.monotonic()
        while time.monotonic() < end:
            turn += 1
            self.one(kind, turn)
            time.sleep(0.005)
        if kind == "war":
            print(self.timeline[0], flush=True)
        # The false peers leave.
        for node in self.founded + (self.crowd if kind == "crowd" else []):
            self.say(link.bye(node))

    def one(self, kind: str, turn: int) -> None:
        if kind == "strangers":
            for _ in range(10):
                self.pretend(self.node(), self.dice.randrange(1, 65536))
        elif kind == "crowd" and turn % 50 == 1:
            for node in self.crowd:
                self.pretend(node, 9)
        elif kind == "byes":
            for node in self.packets:
                self.say(link.bye(node))
        elif kind == "broken" and self.heard:
            packet = bytearray(self.dice.choice(self.heard))
            for _ in range(self.dice.randrange(1, 6)):
                # Change neither the header nor bytes that would leave a valid timeline.
                packet[self.dice.choice([*range(9, 12), *range(20, 28)])] = self.dice.randrange(256)
            self.say(bytes(packet[:self.dice.randrange(8, len(packet) + 1)]))
        elif kind == "liars":
            self.pretend(self.node(), self.clock.getsockname()[1], self.founded[turn % 8], (500000, turn, turn))
            self.answer()
        elif kind == "forgers" and self.heard:
            for _ in range(20):
                self.forge()
        elif kind == "war" and turn % 10 == 0:
            # A later tempo in phase with the session's beats, from a past beat or the present one.
            tempo, beat, when = self.timeline
            passed = round((time.monotonic() - self.said) * 1e6)
            self.said = time.monotonic()
            self.timeline = (round(self.dice.choice(MUSICAL)), beat + max(1, passed * 1_000_000 // tempo), when + passed)
            self.pretend(self.founded[turn // 10 % 2], 9)


def main(words: list[str]) -> None:
    enemy = Enemy(int(words[2]))
    enemy.listen(1.2)
    enemy.attack(words[0], float(words[1]))
