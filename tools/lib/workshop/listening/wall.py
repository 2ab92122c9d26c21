# SPDX-License-Identifier: GPL-2.0-or-later
"""The beginnings of cycles by the wall clock. After a stall, JACK's own conversion from frames to time is
wrong for seconds, so this judge does not use it. Every stretch without interruption is a line at the
nominal rate below the wake-up times (their lower envelope: a wake-up can be late, never early). A shift of
the line is a stall of the server.

jackd itself says where time began anew: the times of a cycle continue those of the cycle before, except in
the cycle in which its driver was too late. The next cycle begins the new line, at once and on time."""

import math
from typing import Any

import numpy

Array = Any
SAME = 100  # microseconds


class Wall:
    def __init__(self, rate: float, period: int, wakes: Array) -> None:
        """`wakes` has for each wake-up its frame, its time, and whether JACK's times do not continue those
        of the wake-up before."""
        frames, micros, resets = wakes
        self.frame_micros = 1e6 / rate
        cycle = period * self.frame_micros
        # A wake-up that is delayed by more than `tolerance` microseconds is late. `accident` late wake-ups in
        # a row count as a stall.
        self.tolerance, self.accident = max(200.0, cycle / 4), max(4, math.ceil(20_000 / cycle))
        # The times of PipeWire's cycles do not continue each other exactly, so almost all look like resets;
        # ignore them.
        self.resets = set(numpy.flatnonzero(resets).tolist()) if resets.sum() * 10 < len(frames) else set()
        self.stretches: list[tuple[int, int, float]] = []  # first frame, the end before the next stall, micros at frame 0
        begin, offsets, numbers = 0, (micros - frames * self.frame_micros).tolist(), frames.tolist()
        while begin < len(numbers):
            begin = self.stretch_from(begin, offsets, numbers)
        self.first, self.end, self.offset = (numpy.array([s[i] for s in self.stretches]) for i in range(3))

    def stretch_from(self, begin: int, offsets: list[float], frames: list[int]) -> int:
        """Returns where the next stretch begins. A single late wake-up is an accident; several in a row
        begin a new line."""
        if begin in self.resets:
            return begin + 1
        level, late, end, following = offsets[begin], 0, begin, len(frames)
        for i in range(begin, len(frames)):
            if i in self.resets:
                following = i
                break
            has_jumped = i >= 2 and frames[i] - frames[i - 1] != frames[i - 1] - frames[i - 2]
            if offsets[i] < level - self.tolerance and i - begin >= self.accident and has_jumped:
                following = i  # the frame counter has advanced more than the time
                break
            level = min(level, offsets[i])
            late = late + 1 if offsets[i] >= level + self.tolerance else 0
            if late == 0:
                end = i + 1
            if late >= self.accident:
                following = self.settled(offsets, end, i + 1)
                break
        period = frames[1] - frames[0] if len(frames) > 1 else 0
        self.stretches.append((frames[begin], frames[end - 1] + period, min(offsets[begin:end])))
        return following

    def settled(self, offsets: list[float], start: int, end: int) -> int:
        """The first of the late wake-ups in [start, end) that lies on the same line as the last ones."""
        level = min(offsets[end - (end - start + 1) // 2:end])
        while start < end and not level - SAME <= offsets[start] <= level + self.tolerance:
            start += 1
        return start

    def find(self, frames: Array) -> Array:
        """The stretch of each frame; -1: the frame was lost in a stall."""
        if not self.stretches:
            return numpy.full(len(frames), -1)
        found = numpy.searchsorted(self.first, frames, "right") - 1
        return numpy.where((found >= 0) & (frames < self.end[found]), found, -1)

    def times(self, stretches: Array, frames: Array) -> Array:
        """The time of each frame; NaN where the stretch is unknown."""
        if not self.stretches:
            return numpy.full(len(frames), numpy.nan)
        return numpy.where(stretches >= 0, self.offset[stretches] + frames * self.frame_micros, numpy.nan)

    def began(self) -> float | None:
        """When the last stretch began; None: no stretch was known before it."""
        return self.offset[-1] + self.first[-1] * self.frame_micros if len(self.stretches) > 1 else None
