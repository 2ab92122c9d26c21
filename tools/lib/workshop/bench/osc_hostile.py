# SPDX-License-Identifier: GPL-2.0-or-later
"""The enemies of the area osc: a search for the dearest packet, a flood of it, and clients who ask for too many trees."""

import contextlib
import json
import multiprocessing
import random
import socket
import statistics
import threading
import time
from typing import Any

from .. import osc, processes
from .page_crowd import Socket

PIECES = ["/tactus/", "//", "*", "?", "[!a]", "[a-z]", "{,}", "{,a,b,c}", "{click,clock}", "/klick/", "x", "query", "ping", "tempo",
          "subscribe", "midi/list", "midi/forget", "midi/learn", "quantum", "click/pattern", "set_", "/"]
PATHS = ["ping", "query", "tempo", "quantum", "click/pattern", "peers", "midi/list", "midi/learn", "midi/forget", "subscribe",
         "unsubscribe", "nonsense", "tempo/nudge", "locate/bar", "click/toggle", "tempo/tap"]
TEXTS = ["", "*", "//*", "all", "state beat", "click", "{,}{,}{,}{,}{,}{,}{,}x", "now", "XxXx", "a" * 200]


class Surface:
    """The thread that hears OSC."""

    def __init__(self, process: int) -> None:
        controller = osc.Controller()
        self.process = process
        self.task = processes.busiest(process, lambda: [controller.ping() for _ in range(300)])

    def seconds(self) -> float:
        return processes.schedule(self.process, self.task)[0] / 1e9


class Page(Surface):
    """The thread that serves the page. What pages say is carried out by the thread that hears OSC."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.task = next(task for task in processes.threads(process) if processes.name(process, task) == "web")


class Search:
    """For the UDP datagram that costs most."""

    LONGEST = 65000

    def __init__(self, thread: Surface, seed: int) -> None:
        self.thread, self.dice, self.sock = thread, random.Random(seed), osc.speaker()

    def post(self, packet: list[bytes]) -> None:
        self.sock.sendto(osc.bundle(packet), osc.HOST)

    def read(self) -> None:
        """Takes the answers, so that the next packet meets empty queues."""
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

    def cost(self, packet: list[bytes], rounds: int) -> float:
        """Milliseconds that the thread ran for it: the median, as other work on the machine only ever adds."""
        costs = []
        for _ in range(rounds):
            start = self.thread.seconds()
            self.post(packet)
            time.sleep(0.02)
            costs.append((self.thread.seconds() - start) * 1000)
            self.read()
        return statistics.median(costs)

    def by_message(self, packet: list[bytes]) -> dict[str, float]:
        """The three that cost most for what they are charged: a packet that spends all it may on one kind of message, of those
        that are known and those in this packet. With more than are obeyed, the rest would cost nothing; so some lengths are tried."""
        def address(message: bytes) -> str:
            return message[:message.index(b"\0")].decode()

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
                      "first": packet[0][:packet[0].index(b"\0")].decode(), "tries": tries, "of_one_kind_ms": self.by_message(packet)}


class PageSearch(Search):
    """For the frame of the page's socket that costs most: one OSC packet, or lines of JSON with the same messages."""

    LONGEST = 16000
    ROOM = 16384  # a longer frame ends the socket

    def __init__(self, thread: Surface, seed: int, here: str) -> None:
        super().__init__(thread, seed)
        self.here = here
        self.sockets = {is_text: Socket(here) for is_text in (False, True)}

    def post(self, packet: list[bytes]) -> None:
        while len(osc.bundle(packet)) > self.ROOM:
            packet = packet[:-1]
        lines = "\n".join(json.dumps([address, *values]) for part in packet for address, values in osc.messages(part))
        is_text = len(packet) % 2 == 0 and len(lines) < self.ROOM
        try:
            self.sockets[is_text].say(lines if is_text else osc.bundle(packet), 1 if is_text else 2)
        except OSError:  # tactus may end a socket; the search goes on with another
            self.sockets[is_text] = Socket(self.here)

    def read(self) -> None:
        for page in self.sockets.values():
            page.sock.settimeout(0)
            with contextlib.suppress(OSError):
                while page.sock.recv(1 << 16):  # nothing comes from a socket that has ended
                    pass
            page.sock.settimeout(5)


class Attack:
    """In a process of its own, so that our pings do not wait for it."""

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
    """One packet 4000 times a second, from sixteen sources."""

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
    """Eight clients who ask for the whole tree 300 times in a row, read the answers, and start over. Counts megabytes."""

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
