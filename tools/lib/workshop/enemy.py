# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile machines and clients.

enemy KIND SECONDS SEED, on host 2 of a lab: listens to the Link peers for a moment, then does one of these:

    strangers  invents peers of the session, hundreds a second        crowd   200 peers at once, then silence
    byes       says goodbye in the names of the other peers           broken  real packets with bytes changed
    liars      founds sessions, and answers questions about their clocks with nonsense
    forgers    4,000 forgeries a second: session times, beats and tempos that jump to 0, below 0 or to the largest
               numbers, and half packets
    war        two peers want different tempos, each with a later message than the other; prints the tempo of the last
               message, in microseconds per beat

enemy far TARGET PORT RECORDING SECONDS RATE: has recorded the far wire (listening/secrecy.py) without its
key, and sends RATE datagrams a second to TARGET, from its own address and from false ones: hellos of random
bytes; answers to calls that may be under way; forgeries with recorded indices and numbers; replays;
recorded datagrams that are cut, too long or have a bit changed; Link's own datagrams. Prints as JSON how
many it sent, how many TARGET sent to its own address ("answered"), and to how many recorded hellos TARGET
had not answered ("lost").

Flood and Trees are attacks on OSC and OSCQuery from a process beside the one that measures."""

import contextlib
import json
import multiprocessing
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

from . import link, osc

MINE = "10.77.0.2"
KINDS = ("strangers", "crowd", "byes", "broken", "liars", "forgers", "war")
EDGES = [0, 1, -1, 2**62, 2**63 - 1, -2**63]
MUSICAL = [60e6 / bpm for bpm in (60, 90, 120, 140, 180)]


class LinkEnemy:
    """A hostile machine on the lab's wire, as host 2."""

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
        with contextlib.suppress(OSError):  # a fault may have cut the wire
            self.out.sendto(packet, link.GROUP)

    def pretend(self, node: bytes, port: int, session: bytes | None = None, timeline: tuple[int, ...] | None = None) -> None:
        self.say(link.alive(node, session or self.session, struct.pack(">qqq", *(timeline or self.timeline)),
                            link.endpoint(MINE, port)))

    def forge(self) -> None:
        """Sends a datagram that every peer must ignore: it is not a later change of the present session."""
        session, beat = (self.session, self.dice.choice([0, -1, -2**63])) if self.dice.randrange(2) else (self.node(), self.dice.choice(EDGES))
        if self.dice.randrange(4) == 0:
            packet = self.dice.choice(self.heard)
            self.say(packet[:self.dice.randrange(8, len(packet))])
        else:
            self.pretend(self.node(), 9, session, (self.dice.choice([self.timeline[0], *EDGES]), beat, self.dice.choice(EDGES)))

    def node(self) -> bytes:
        return self.dice.randbytes(8)

    def answer(self) -> None:
        """Answers pings with false times."""
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
        # Say goodbye for the invented peers.
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
            # Make a timeline with a new tempo that is in phase with the session's beats, from the present
            # beat or one before.
            tempo, beat, when = self.timeline
            passed = round((time.monotonic() - self.said) * 1e6)
            self.said = time.monotonic()
            self.timeline = (round(self.dice.choice(MUSICAL)), beat + max(1, passed * 1_000_000 // tempo), when + passed)
            self.pretend(self.founded[turn // 10 % 2], 9)


class FarEnemy:
    """A hostile machine on the far wire, without the key."""

    def __init__(self, target: str, port: int, recording: str) -> None:
        self.target, self.port, self.dice = target, port, random.Random(1)
        with open(recording) as file:
            lines = [line.split() for line in file]
        answers = sum(line[0] == target and line[4][:2] == "02" for line in lines)
        self.heard = [(line[0], int(line[1]), bytes.fromhex(line[4])) for line in lines if line[2] == target and int(line[3]) == port]
        self.sealed = [each for each in self.heard if each[2][:1] == b"\3"]
        # The number of recorded handshake requests that the target did not get, for example because its
        # socket was not open yet. The target may answer each of them once.
        self.lost = max(0, sum(each[2][:1] == b"\1" for each in self.heard) - answers)
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.mouth.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.mouth.setblocking(False)
        self.answered = 0

    def say(self, payload: bytes, name: tuple[str, int] | None = None) -> None:
        """Sends a datagram from a false address if `name` is given, otherwise from our own."""
        if name is None:
            self.mouth.sendto(payload, (self.target, self.port))
            return
        # UDP allows a datagram without a checksum.
        head = struct.pack(">HHHH", name[1], self.port, 8 + len(payload), 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, socket.inet_aton(name[0]), socket.inet_aton(self.target))
        self.raw.sendto(ip + head + payload, (self.target, 0))

    def anybody(self) -> tuple[str, int]:
        return f"10.{self.dice.randrange(78, 250)}.{self.dice.randrange(256)}.{self.dice.randrange(1, 255)}", self.dice.randrange(1024, 65536)

    def hello(self) -> None:
        self.say(b"\1" + self.dice.randbytes(80), self.anybody() if self.dice.randrange(2) else None)

    def answer(self) -> None:
        self.say(b"\2" + self.dice.randbytes(64), self.dice.choice(self.heard)[:2])

    def forgery(self) -> None:
        address, port, payload = self.dice.choice(self.sealed)
        number = struct.unpack(">Q", payload[5:13])[0] + self.dice.choice([0, 1, 100, 10_000, 1 << 40])
        self.say(payload[:5] + struct.pack(">Q", number) + self.dice.randbytes(len(payload) - 13), (address, port))

    def replay(self) -> None:
        address, port, payload = self.dice.choice(self.heard)
        self.say(payload, (address, port) if self.dice.randrange(2) else None)

    def wound(self) -> None:
        address, port, payload = self.dice.choice(self.heard)
        place, how = self.dice.randrange(len(payload)), self.dice.randrange(3)
        wounded = payload[:place] if how == 0 else payload + self.dice.randbytes(place) if how == 1 else \
            payload[:place] + bytes([payload[place] ^ 1 << self.dice.randrange(8)]) + payload[place + 1:]
        self.say(wounded, (address, port) if self.dice.randrange(2) else None)

    def link(self) -> None:
        word = self.dice.choice([b"_asdp_v\1\1\5\0\0", b"_asdp_v\1\3\0\0\0", b"_link_v\1\1"])
        self.say(word + self.dice.randbytes(self.dice.randrange(100)), self.dice.choice(self.heard)[:2])

    def listen(self) -> None:
        while True:
            try:
                self.answered += self.mouth.recvfrom(2048)[1][0] == self.target
            except BlockingIOError:
                return

    def attack(self, seconds: float, rate: int) -> dict[str, int]:
        kinds: list[Callable[[], None]] = [self.hello, self.answer, self.forgery, self.replay, self.wound, self.link]
        start, sent = time.monotonic(), 0
        while (passed := time.monotonic() - start) < seconds:
            # If this machine could not send datagrams in time, do not send all of them at once later.
            for _ in range(min(rate // 50, int(passed * rate) - sent)):
                kinds[sent % len(kinds)]()
                sent += 1
            self.listen()
            time.sleep(0.005)
        time.sleep(0.5)
        self.listen()
        return {"sent": sent, "answered": self.answered, "recorded": len(self.heard), "lost": self.lost}


class Attack:
    """An attack that runs in a process of its own, so that our pings do not wait for it."""

    def __init__(self) -> None:
        self.done = multiprocessing.Value("d", 0)

    def run(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        self.done.value, self.began = 0, time.perf_counter()
        self.worker = multiprocessing.get_context("fork").Process(target=self.run)
        self.worker.start()

    def rate(self) -> float:
        return round(float(self.done.value) / (time.perf_counter() - self.began), 1)

    def stop(self) -> None:
        self.worker.kill()
        self.worker.join()


class Flood(Attack):
    """Sends one packet 4000 times a second, from sixteen sources."""

    def __init__(self, packet: bytes) -> None:
        super().__init__()
        self.packet = packet

    def run(self) -> None:
        sources = [osc.speaker() for _ in range(16)]
        while True:
            due = int((time.perf_counter() - self.began) * 4000)
            while self.done.value < due:
                sources[int(self.done.value) % 16].sendto(self.packet, osc.HOST)
                self.done.value += 1
            time.sleep(0.002)


class Trees(Attack):
    """Eight clients that each request the whole tree 300 times in a row, read the answers, and start over.
    Counts megabytes."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port

    def run(self) -> None:
        workers = [threading.Thread(target=self.client) for _ in range(8)]
        for worker in workers:
            worker.start()
        workers[0].join()

    def client(self) -> None:
        requests = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 2) as sock:
                    sock.settimeout(5)
                    sock.sendall(requests)
                    while count := len(sock.recv(1 << 20)):
                        with self.done.get_lock():
                            self.done.value += count / 1e6
            except OSError:
                time.sleep(0.05)


def main(words: list[str]) -> None:
    kind, *rest = words
    if kind == "far":
        target, port, recording, seconds, rate = rest
        print(json.dumps(FarEnemy(target, int(port), recording).attack(float(seconds), int(rate))))
    else:
        enemy = LinkEnemy(int(rest[1]))
        enemy.listen(1.2)
        enemy.attack(kind, float(rest[0]))
