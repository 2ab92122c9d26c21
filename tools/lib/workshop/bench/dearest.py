# SPDX-License-Identifier: GPL-2.0-or-later
"""Searches for the most expensive input for tactus: an OSC datagram, a frame of the page's socket, a Link
datagram. The area osc of tools/bench runs these searches."""

import json
import os
import random
import statistics
import struct
import time
from collections.abc import Callable
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

from .. import link, osc, processes
from ..enemy import EDGES

PIECES = ["/tactus/", "//", "*", "?", "[!a]", "[a-z]", "{,}", "{,a,b,c}", "{click,clock}", "/klick/", "x", "query", "ping", "tempo",
          "subscribe", "midi/list", "midi/forget", "midi/learn", "quantum", "click/pattern", "set_", "/"]
PATHS = ["ping", "query", "tempo", "quantum", "click/pattern", "peers", "midi/list", "midi/learn", "midi/forget", "subscribe",
         "unsubscribe", "nonsense", "tempo/nudge", "locate/bar", "click/toggle", "tempo/tap"]
TEXTS = ["", "*", "//*", "all", "state beat", "click", "{,}{,}{,}{,}{,}{,}{,}x", "now", "XxXx", "a" * 200]
HERE = "127.0.0.1"
CROWD, BATCH = 1000, 20


def hears_osc(process: int) -> str:
    """The thread that receives OSC. It also carries out the messages of pages."""
    controller = osc.Controller()
    return processes.busiest(process, lambda: [controller.ping() for _ in range(300)])


def serves_page(process: int) -> str:
    return next(task for task in processes.threads(process) if processes.name(process, task) == "web")


class Search:
    """A search for the UDP datagram that costs the given threads most."""

    LONGEST = 65000

    def __init__(self, process: int, tasks: list[str], seed: int) -> None:
        self.process, self.tasks, self.dice, self.sock = process, tasks, random.Random(seed), osc.speaker()

    def seconds(self) -> float:
        """How long the threads ran so far, by the kernel's account."""
        return sum(processes.schedule(self.process, task)[0] for task in self.tasks) / 1e9

    def cost(self, packet: list[bytes], rounds: int, pause: float = 0.02) -> float:
        """The milliseconds for which the threads ran because of the packet. This is the median of several
        rounds, because other work on the machine can only add to the time."""
        costs = []
        for _ in range(rounds):
            start = self.seconds()
            self.post(packet)
            time.sleep(pause)
            costs.append((self.seconds() - start) * 1000)
            self.read()
        return statistics.median(costs)

    def post(self, packet: list[bytes]) -> None:
        self.sock.sendto(osc.bundle(packet), osc.HOST)

    def read(self) -> None:
        """Reads the answers, so that the next packet meets empty queues."""
        osc.came(self.sock)

    def one(self) -> bytes:
        dice = self.dice
        piece = dice.choice(PIECES)
        address = dice.choice([
            "/tactus/" + dice.choice(PATHS), "/tactus/" + piece * dice.randrange(1, 247 // len(piece)) + "x",
            "/" + "".join(dice.choice(PIECES) for _ in range(dice.randrange(1, 8))).lstrip("/")])
        values: list[Any] = [dice.choice([dice.randrange(70000), 1.0, dice.choice(TEXTS), True]) for _ in range(dice.randrange(3))]
        return osc.message("/tactus/ping" if "quit" in address else address[:250], None, *values)

    def changed(self, before: list[bytes]) -> list[bytes]:
        packet, dice = list(before), self.dice
        kind = dice.randrange(4) if packet else 1 + 2 * dice.randrange(2)
        if kind == 0:
            packet[dice.randrange(len(packet))] = self.one()
        elif kind == 1:
            packet = [self.one()] * dice.randrange(1, 257)
        elif kind == 2:
            packet += [dice.choice(packet)] * dice.randrange(1, 100)
        else:
            packet.append(self.one())
        while sum(len(part) + 4 for part in packet) > self.LONGEST:
            packet.pop()
        return packet[:256]

    def by_message(self, packet: list[bytes]) -> dict[str, float]:
        """The three messages with the highest cost when a packet is filled with one kind of message. The
        kinds are all known messages and those in this packet. Messages beyond the packet's allowance cost
        nothing, so several lengths are tried."""
        kinds = {address(one): one for one in [*(osc.message("/tactus/" + path) for path in PATHS), *packet]}
        costs = {name: round(max(self.cost([one] * count, 5) for count in (20, 60, 110)), 3) for name, one in kinds.items()}
        return dict(sorted(costs.items(), key=lambda pair: -pair[1])[:3])

    def dearest(self, tries: int) -> tuple[bytes, dict[str, Any]]:
        best, found, patience = (0.0, list[bytes]()), (0.0, list[bytes]()), 0
        for _ in range(tries):
            packet = self.changed(best[1])
            cost = self.cost(packet, 3)
            patience += 1
            if cost > best[0]:
                best, patience = (cost, packet), 0
            found = max(found, best)
            if patience > 40:
                best, patience = (0.0, []), 0
        packet, data = found[1], osc.bundle(found[1])
        return data, {"ms": round(self.cost(packet, 31), 3), "messages": len(packet), "bytes": len(data),
                      "first": address(packet[0]), "tries": tries, "of_one_kind_ms": self.by_message(packet)}


def address(message: bytes) -> str:
    return message[:message.index(b"\0")].decode()


class PageSearch(Search):
    """A search for the most expensive frame of the page's socket: one OSC packet, or lines of JSON with the
    same messages."""

    LONGEST = 16000
    ROOM = 16384  # bytes; tactus closes a socket that sends a longer frame

    def __init__(self, process: int, tasks: list[str], seed: int, page: str) -> None:
        super().__init__(process, tasks, seed)
        self.page = page
        self.sockets = {is_text: self.opened() for is_text in (False, True)}

    def opened(self) -> Any:
        return connect(f"ws://{self.page}/osc", origin=Origin(f"http://{self.page}"), compression=None, proxy=None, ping_interval=None)

    def dearest(self, tries: int) -> tuple[bytes, dict[str, Any]]:
        try:
            return super().dearest(tries)
        finally:
            for socket in self.sockets.values():
                socket.close()

    def post(self, packet: list[bytes]) -> None:
        while len(osc.bundle(packet)) > self.ROOM:
            packet = packet[:-1]
        lines = "\n".join(json.dumps([path, *values]) for part in packet for path, values in osc.messages(part))
        is_text = len(packet) % 2 == 0 and len(lines) < self.ROOM
        try:
            self.sockets[is_text].send(lines if is_text else osc.bundle(packet))
        except ConnectionClosed:  # tactus may close a socket; the search goes on with a new one
            self.sockets[is_text] = self.opened()

    def read(self) -> None:
        for is_text, socket in self.sockets.items():
            try:
                while True:
                    socket.recv(0)
            except TimeoutError:
                pass
            except ConnectionClosed:
                self.sockets[is_text] = self.opened()


class LinkSearch(Search):
    """A search for the kind of Link datagram that costs most, among a thousand invented peers. The audio
    thread is left out."""

    def __init__(self, process: int, seed: int) -> None:
        # Take all threads but the audio thread, which runs in each period anyway.
        tasks = [task for task in processes.threads(process) if os.sched_getscheduler(int(task)) == os.SCHED_OTHER]
        super().__init__(process, tasks, seed)
        self.out = link.mouth(HERE)
        self.sessions = [self.dice.randbytes(8) for _ in range(64)]
        self.nodes = [self.dice.randbytes(8) for _ in range(CROWD)]
        for first in range(0, CROWD, BATCH):
            self.post([self.alive(node) for node in self.nodes[first:first + BATCH]])
            time.sleep(0.02)

    def post(self, packet: list[bytes]) -> None:
        for datagram in packet:
            self.out.sendto(datagram, link.GROUP)

    def alive(self, node: bytes) -> bytes:
        timeline = struct.pack(">qqq", *(self.dice.choice([500_000, 10**6, *EDGES]) for _ in range(3)))
        return link.alive(node, self.dice.choice(self.sessions), timeline, link.endpoint(HERE, self.dice.randrange(1, 65536)))

    def dearest(self, tries: int) -> tuple[bytes, dict[str, Any]]:
        dice = self.dice
        makers: dict[str, Callable[[], bytes]] = {
            "known": lambda: self.alive(dice.choice(self.nodes)),
            "stranger": lambda: self.alive(dice.randbytes(8)),
            "bye": lambda: link.bye(dice.choice(self.nodes)),
            "entries": lambda: self.alive(dice.randbytes(8)) + link.entry(dice.randbytes(4), b"") * dice.randrange(1, 150),
            "half": lambda: self.alive(dice.randbytes(8))[:dice.randrange(8, 60)],
            "response": lambda: self.alive(dice.choice(self.nodes)).replace(bytes([link.ALIVE, 5]), b"\x02\x05", 1)}
        costs = {kind: max(statistics.median(self.cost([make() for _ in range(BATCH)], 1, 0.1) / BATCH for _ in range(3))
                           for _ in range(max(1, tries // 30))) for kind, make in makers.items()}
        worst = max(costs, key=lambda kind: costs[kind])
        return b"", {"ms": round(costs[worst], 3), "kind": worst, "peers": CROWD, "of_one_kind_ms": {k: round(v, 3) for k, v in costs.items()}}
