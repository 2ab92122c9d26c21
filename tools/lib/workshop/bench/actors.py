# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of a scene, and how long their process callbacks take."""

import array
import mmap
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .. import build, listening
from ..common import say
from ..listening.recorder import CYCLE, ONSET, Recorder
from ..peers import driver

Figures = dict[str, Any]
TIMES = "/dev/shm/callback-time"


def timed() -> dict[str, str]:
    """An environment in which a program's process callback is timed."""
    return dict(os.environ, LD_PRELOAD=build.native("callback_time"), CALLBACK_TIME=TIMES)


class Times:
    """Of the callbacks of a process, from now on."""

    def __init__(self, process: int) -> None:
        self.process, self.skip = process, 0
        self.skip = len(self.calls()[0])

    def calls(self) -> tuple[Sequence[int], Sequence[int]]:
        with open(f"{TIMES}.{self.process}", "rb") as file:
            log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        values = array.array("I", log[8:8 + 8 * int.from_bytes(log[:8], "little")])
        return values[0::2][self.skip:], values[1::2][self.skip:]

    def figures(self) -> dict[str, object]:
        def of(values: Sequence[int]) -> dict[str, float]:
            ordered = sorted(values)
            at = {name: ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1000
                  for name, part in (("median", 0.5), ("p99", 0.99), ("p99.9", 0.999))}
            return {**at, "max": ordered[-1] / 1000}

        elapsed, cpu = self.calls()
        return {"calls": len(elapsed), "elapsed_us": of(elapsed), "cpu_us": of(cpu)}


def tactus(program: str, *options: str, environment: Mapping[str, str] | None = None) -> driver.Program:
    return driver.Program([program, "--name", "tactus", *options], environment)


def ear(*options: object) -> listening.Ear:
    """What it hears is passed on as it is."""
    return listening.Ear([str(option) for option in options], say)


class Watch(Recorder):
    """Hears a port without Link: what came in each cycle, by JACK's clock, which is Link's on jackd."""

    def __init__(self, port: str, silence: float = 0.005) -> None:
        super().__init__([f"port={port}", "name=watch", "no_link=1", f"silence={silence}", "latency=0"])
        self.next(30)

    def cycles(self) -> list[tuple[float, list[float]]]:
        """Since it was asked last: when each began, and its onsets."""
        self.tell("mark")
        found: list[tuple[float, list[float]]] = []
        for record in self.until_mark(10):
            if record["kind"] == CYCLE:
                frame = (record["next"] - record["current"]) / record["frames"]
                found.append((record["current"], []))
            elif record["kind"] == ONSET and found:
                found[-1][1].append(found[-1][0] + record["frame"] * frame)
        return found

    def onsets(self) -> list[float]:
        return [onset for _, onsets in self.cycles() for onset in onsets]


def middle(values: Sequence[float] | None, unit: str = "", width: int = 0, to: str = "...") -> str:
    """The median, and from the least to the most."""
    return f"{statistics.median(values):{width}.1f}{unit}({min(values):.1f}{to}{max(values):.1f})" if values else "-"
