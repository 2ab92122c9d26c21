# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says of a process under flood: memory, lost datagrams, and how long its thread waited for a core."""

import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../osc.d"))
from packets import HOST, message, messages  # noqa: E402

ECHO = ("127.0.0.1", 20810)


def anonymous(process):
    """Kilobytes that the process has written to: what can leak."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))


def dropped(family="udp"):
    """Datagrams to our port for which the kernel had no room."""
    with open(f"/proc/net/{family}") as file:
        return sum(int(line.split()[-1]) for line in file if line.split()[1].endswith(f":{HOST[1]:04X}"))


class Cores:
    """How long a thread ran, and how long it could have run but had no core."""

    def __init__(self, process, thread):
        self.path = f"/proc/{process}/task/{thread}/schedstat"

    def read(self):
        with open(self.path) as file:
            ran, waited, _ = file.read().split()
        return int(ran) / 1e6, int(waited) / 1e6


def busiest(process, work):
    """The thread that did most of it."""
    def ran():
        return {thread: Cores(process, thread).read()[0] for thread in os.listdir(f"/proc/{process}/task")}
    before = ran()
    work()
    after = ran()
    return max(after, key=lambda thread: after[thread] - before.get(thread, 0))


class Pinger:
    """Pings, and whose fault it was that an answer was late."""

    def __init__(self, cores, address=HOST):
        self.address = address
        self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.settimeout(2)
        self.cores, self.mine = cores, Cores("self", os.getpid())
        self.asked = self.unanswered = 0
        self.elapsed, self.own = [], []

    def ping(self):
        self.asked += 1
        ours, theirs = self.mine.read()[1], self.cores.read()[1]
        began = time.perf_counter()
        self.sock.sendto(message("/tactus/ping", "i", self.asked), self.address)
        try:
            while True:
                for address, arguments in messages(self.sock.recv(65536)):
                    if address == "/tactus/pong" and arguments[4:] == [self.asked]:
                        elapsed = (time.perf_counter() - began) * 1000
                        waited = self.mine.read()[1] - ours + self.cores.read()[1] - theirs
                        self.elapsed.append(elapsed)
                        self.own.append(max(0.0, elapsed - waited))
                        return elapsed
        except TimeoutError:
            self.unanswered += 1
            return None

    def figures(self):
        def at(values, share):
            return round(sorted(values)[int((len(values) - 1) * share)], 2) if values else None
        return {"pings": self.asked, "unanswered": self.unanswered, "median_ms": at(self.elapsed, 0.5),
                "99_ms": at(self.elapsed, 0.99), "worst_ms": at(self.elapsed, 1),
                "over_50_ms": sum(1 for value in self.elapsed if value > 50),
                "worst_with_a_core_ms": at(self.own, 1), "over_50_ms_with_a_core": sum(1 for v in self.own if v > 50)}


class Echo:
    """The same question to a process that does nothing else."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.settimeout(2)
        self.elapsed, self.asked = [], 0

    def ping(self):
        self.asked += 1
        began = time.perf_counter()
        self.sock.sendto(struct.pack(">I", self.asked), ECHO)
        try:
            while self.sock.recv(64) != struct.pack(">I", self.asked):
                pass
            self.elapsed.append((time.perf_counter() - began) * 1000)
        except TimeoutError:
            pass

    def figures(self):
        values = sorted(self.elapsed) or [0.0]
        return {"pings": self.asked, "median_ms": round(values[len(values) // 2], 2),
                "99_ms": round(values[len(values) * 99 // 100], 2), "worst_ms": round(values[-1], 2)}
