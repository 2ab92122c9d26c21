# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds where between two frames the edge of a pulse is."""

import numpy

from .judge import Judge, is_sure
from .recorder import ONSET
from .wall import Array

WIDTH = 3  # frames: the width of the bell curve that is fitted to an edge's slope
TURNS = 60


def places(samples: Array) -> Array:
    """The places of edges, in frames from the first of their three samples. Before an edge is silence, and
    after it a constant level. The place is where a smooth step's slope correlates best with the samples. An
    edge of a single sample lies half a frame before that sample."""
    slopes = numpy.diff(samples, axis=1, prepend=0)
    frames = numpy.arange(slopes.shape[1]) - 0.5
    middle = numpy.zeros(len(slopes))
    for _ in range(TURNS):
        likeness = slopes * numpy.exp(-((frames - middle[:, None]) / WIDTH) ** 2 / 2)
        middle = (likeness * frames).sum(axis=1) / likeness.sum(axis=1)
    return middle


def errors(judge: Judge, port: int) -> tuple[Array, Array, Array]:
    """For each edge of a pulse: when it is heard, how many microseconds after the nearest beat by JACK's
    clock, and how often our Link peer's grid had moved by then. The rounding of one cycle's times is not
    multiplied by the port's latency, which is many cycles long."""
    which = (judge.heard.events["port"] == port) & (judge.heard.events["kind"] == ONSET)
    events, judged = judge.heard.events[which], judge.judge(which, port, 1)
    place = judged["cycle"]
    cycles, frames = judge.heard.cycles[place], judge.heard.frames
    steady = (judge.start[-1] - judge.start[0]) / (frames[-1] - frames[0])
    inside = events["frame"] + places(numpy.column_stack([events[name] for name in ("current", "next", "driver")]))
    heard = judge.start[place] + inside * judge.slope[place] + judge.heard.latency(port, cycles["wake"]) * steady
    ideal = cycles["micros"] + (judged["index"] - cycles["beat"]) * cycles["micros_per_beat"]
    known = is_sure(judged) & judged["quiet"] & numpy.isfinite(heard)
    return heard[known], (heard - ideal)[known], numpy.searchsorted(judge.changes, cycles["micros"][known])
