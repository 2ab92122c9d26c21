# SPDX-License-Identifier: GPL-2.0-or-later
"""The enemy of Link's thread: a search for the dearest of Link's datagrams, among a thousand invented peers."""

import os
import random
import statistics
import struct
import time
from typing import Any

from .. import link, processes

HERE = "127.0.0.1"
CROWD, BATCH = 1000, 20
EDGES = [0, 1, -1, 10**6, 2**62, 2**63 - 1, -2**63]


class LinkSearch:
    def __init__(self, process: int, seed: int) -> None:
        self.process, self.dice, self.out = process, random.Random(seed), link.mouth(HERE)
        # All threads but the audio thread, which runs in each period anyway.
        self.tasks = [task for task in processes.threads(process) if os.sched_getscheduler(int(task)) == os.SCHED_OTHER]
        self.sessions = [self.dice.randbytes(8) for _ in range(64)]
        self.nodes = [self.dice.randbytes(8) for _ in range(CROWD)]
        for number, node in enumerate(self.nodes):
            self.say(self.alive(node))
            if number % 20 == 0:
                time.sleep(0.02)

    def say(self, datagram: bytes) -> None:
        self.out.sendto(datagram, link.GROUP)

    def seconds(self) -> float:
        return sum(processes.schedule(self.process, task)[0] for task in self.tasks) / 1e9

    def alive(self, node: bytes) -> bytes:
        timeline = struct.pack(">qqq", *(self.dice.choice([500_000, *EDGES]) for _ in range(3)))
        return link.alive(node, self.dice.choice(self.sessions), timeline, link.endpoint(HERE, self.dice.randrange(1, 65536)))

    def batch(self, kind: str) -> list[bytes]:
        """Datagrams of one kind, so that what one costs is measured over many."""
        dice = self.dice
        makers = {
            "known": lambda: self.alive(dice.choice(self.nodes)),
            "stranger": lambda: self.alive(dice.randbytes(8)),
            "bye": lambda: link.bye(dice.choice(self.nodes)),
            "entries": lambda: self.alive(dice.randbytes(8)) + link.entry(dice.randbytes(4), b"") * dice.randrange(1, 150),
            "half": lambda: self.alive(dice.randbytes(8))[:dice.randrange(8, 60)],
            "response": lambda: self.alive(dice.choice(self.nodes)).replace(bytes([link.ALIVE, 5]), b"\x02\x05", 1),
        }
        return [makers[kind]() for _ in range(BATCH)]

    def cost(self, kind: str) -> float:
        """Milliseconds that all threads but the audio thread ran for each datagram: the median of a few batches."""
        costs = []
        for _ in range(3):
            batch, start = self.batch(kind), self.seconds()
            for datagram in batch:
                self.say(datagram)
            time.sleep(0.1)
            costs.append((self.seconds() - start) * 1000 / BATCH)
        return statistics.median(costs)

    def dearest(self, tries: int) -> dict[str, Any]:
        kinds = ("known", "stranger", "bye", "entries", "half", "response")
        costs = {kind: max(self.cost(kind) for _ in range(max(1, tries // 30))) for kind in kinds}
        worst = max(kinds, key=lambda kind: costs[kind])
        return {"ms": round(costs[worst], 3), "kind": worst, "peers": CROWD, "of_one_kind_ms": {k: round(v, 3) for k, v in costs.items()}}
