# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of a scene, and how long their process callbacks take."""

import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .. import build, listening
from ..common import say
from ..listening.wall import Array
from ..peers import driver

Figures = dict[str, Any]
TIMES = "/dev/shm/callback-time"


def timed() -> dict[str, str]:
    """An environment in which a program's process callback is timed."""
    return dict(os.environ, LD_PRELOAD=build.native("callback_time"), CALLBACK_TIME=TIMES)


class Times:
    """The durations of a process's callbacks: since the process began, or from now on."""

    def __init__(self, process: int, from_now: bool = True) -> None:
        self.process, self.skip = process, 0
        self.skip = len(self.calls()) if from_now else 0

    def calls(self) -> Array:
        """For each call, the nanoseconds of real time and of processor time."""
        log = numpy.memmap(f"{TIMES}.{self.process}", "u4", "r")
        return log[2:2 + 2 * int(log[0])].reshape(-1, 2)[self.skip:]

    def figures(self) -> Figures:
        micros = numpy.sort(self.calls(), axis=0) / 1000
        places = {"median": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        elapsed, cpu = ({name: float(column[min(len(column) - 1, int(len(column) * part))]) for name, part in places.items()}
                        for column in micros.T)
        return {"calls": len(micros), "elapsed_us": elapsed, "cpu_us": cpu}


def tactus(program: str, *options: str, environment: Mapping[str, str] | None = None) -> driver.Program:
    return driver.Program([program, "--name", "tactus", *options], environment)


def ear(*options: object) -> listening.Ear:
    """A listener whose messages are passed on unchanged."""
    return listening.Ear([str(option) for option in options], say)


def middle(values: Sequence[float] | None, unit: str = "", width: int = 0, to: str = "...") -> str:
    """The median, the least and the greatest value as text."""
    return f"{statistics.median(values):{width}.1f}{unit}({min(values):.1f}{to}{max(values):.1f})" if values else "-"
