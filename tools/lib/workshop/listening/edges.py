# SPDX-License-Identifier: GPL-2.0-or-later
"""Where between two frames the edge of a pulse is."""

import numpy

from .judge import Judge, is_sure
from .recorder import ONSET
from .wall import Array

WIDTH = 3  # frames: how wide the bell is that an edge's slope is held against
TURNS = 60


def places(samples: Array) -> Array:
    """Of edges whose first three samples these are, after silence and before what stays as it is, in frames from the first:
    where a smooth step's slope is most like theirs, by correlation. An edge that is one sample's is half a frame before it."""
    slopes = numpy.diff(samples, axis=1, prepend=0)
    frames = numpy.arange(slopes.shape[1]) - 0.5
    middle = numpy.zeros(len(slopes))
    for _ in range(TURNS):
        likeness = slopes * numpy.exp(-((frames - middle[:, None]) / WIDTH) ** 2 / 2)
        middle = (likeness * frames).sum(axis=1) / likeness.sum(axis=1)
    return middle


def errors(judge: Judge, port: int) -> tuple[Array, Array, Array]:
    """When each edge of a pulse is heard, how late after the nearest beat, in microseconds by JACK's clock, and how often our Link
    peer's grid had moved by then. What one cycle's times are rounded to is not carried through the port's latency, which is many
    cycles long."""
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
