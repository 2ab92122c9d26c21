# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile machine on the wire: enemy.py KIND SECONDS SEED, on host 2. It listens for a moment who is there, then

  strangers  invents peers of the session, hundreds a second        crowd   200 peers at once, then silence
  byes       says goodbye in the others' names                      broken  real packets with bytes changed
  liars      founds sessions and answers questions about its clock with nonsense
  war        two that want other tempos, each later than the other; prints the last word's, in microseconds per beat
"""

import random
import select
import socket
import struct
import sys
import time

GROUP, PORT, MINE = "224.76.78.75", 20808, "10.77.0.2"
ALIVE, BYE = 1, 3
MUSICAL = [60e6 / bpm for bpm in (60, 90, 120, 140, 180)]


def entry(key, body):
    return key + struct.pack(">I", len(body)) + body


def alive(node, session, timeline, port):
    return (b"_asdp_v\x01" + bytes([ALIVE, 5, 0, 0]) + node + entry(b"tmln", struct.pack(">qqq", *timeline)) +
            entry(b"sess", session) + entry(b"mep4", socket.inet_aton(MINE) + struct.pack(">H", port)))


def bye(node):
    return b"_asdp_v\x01" + bytes([BYE, 0, 0, 0]) + node


class Enemy:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(MINE))
        self.ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.ear.bind((GROUP, PORT))
        self.ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + socket.inet_aton(MINE))
        self.clock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.clock.bind((MINE, 0))
        self.nodes, self.packets = {}, []

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if select.select([self.ear], [], [], rest)[0]:
                packet = self.ear.recv(2048)
                if packet[:8] == b"_asdp_v\x01" and packet[8] != BYE:
                    self.nodes[packet[12:20]] = self.read(packet)
                    self.packets.append(packet)

    @staticmethod
    def read(packet):
        """(session, timeline)"""
        place, session, timeline = 20, None, None
        while place + 8 <= len(packet):
            key, size = packet[place:place + 4], struct.unpack_from(">I", packet, place + 4)[0]
            body = packet[place + 8:place + 8 + size]
            if key == b"sess":
                session = body
            elif key == b"tmln":
                timeline = struct.unpack(">qqq", body)
            place += 8 + size
        return session, timeline

    def say(self, packet):
        try:
            self.out.sendto(packet, (GROUP, PORT))
        except OSError:
            pass  # the wire is down: somebody else's doing

    def node(self):
        return self.dice.randbytes(8)

    def port(self):
        return self.clock.getsockname()[1]

    def answer(self):
        """What time is it? Whatever comes to mind."""
        while select.select([self.clock], [], [], 0)[0]:
            ping, sender = self.clock.recvfrom(2048)
            if ping[:9] == b"_link_v\x01\x01":
                ghost = self.dice.choice([0, -1, 2**63 - 1, -2**63, self.dice.randrange(-2**40, 2**40),
                                          time.monotonic_ns() // 1000 + self.dice.randrange(10**9)])
                self.clock.sendto(b"_link_v\x01\x02" + entry(b"sess", self.dice.choice(self.founded)) +
                                  entry(b"__gt", struct.pack(">q", ghost)) + ping[9:], sender)

    def attack(self, kind, seconds):
        session, timeline = next(iter(self.nodes.values()), (self.node(), (500000, 0, 0)))
        self.founded = [self.node() for _ in range(8)]
        crowd = [self.node() for _ in range(200)]
        end, turn, said = time.monotonic() + seconds, 0, time.monotonic()
        while time.monotonic() < end:
            turn += 1
            if kind == "strangers":
                for _ in range(10):
                    self.say(alive(self.node(), session, timeline, self.dice.randrange(1, 65536)))
            elif kind == "crowd" and turn % 50 == 1:
                for node in crowd:
                    self.say(alive(node, session, timeline, 9))
            elif kind == "byes":
                for node in self.nodes:
                    self.say(bye(node))
            elif kind == "broken" and self.packets:
                packet = bytearray(self.dice.choice(self.packets))
                for _ in range(self.dice.randrange(1, 6)):
                    # Not the header, and not what makes a timeline that anybody may have.
                    packet[self.dice.choice([*range(9, 12), *range(20, 28)])] = self.dice.randrange(256)
                self.say(bytes(packet[:self.dice.randrange(8, len(packet) + 1)]))
            elif kind == "liars":
                self.say(alive(self.node(), self.founded[turn % 8], (500000, turn, turn), self.port()))
                self.answer()
            elif kind == "war" and turn % 10 == 0:
                # In phase with what is: a later word on the tempo, from a beat that has been, or is now.
                tempo, beat, when = timeline
                passed = round((time.monotonic() - said) * 1e6)
                said = time.monotonic()
                timeline = (round(self.dice.choice(MUSICAL)), beat + max(1, passed * 1_000_000 // tempo), when + passed)
                self.say(alive(self.founded[turn // 10 % 2], session, timeline, 9))
            time.sleep(0.005)
        if kind == "war":
            print(timeline[0], flush=True)
        # Whoever made themselves peers leave.
        for node in self.founded + (crowd if kind == "crowd" else []):
            self.say(bye(node))


enemy = Enemy(int(sys.argv[3]))
enemy.listen(1.2)
enemy.attack(sys.argv[1], float(sys.argv[2]))
