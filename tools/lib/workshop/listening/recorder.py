# SPDX-License-Identifier: GPL-2.0-or-later
"""The process native/record, and what it has recorded since a section began."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .. import build
from ..common import LAB
from ..peers import driver
from .wall import Array

CYCLE, TORN, ONSET, MIDI, WAKE, CLOCK, LATENCY, MARK = range(8)
RECORD = numpy.dtype([
    ("kind", "u1"), ("port", "u1"), ("times_valid", "?"), ("has_bbt", "?"), ("size", "u1"), ("bytes", "u1", 3),
    ("frame", "u4"), ("frames", "u4"), ("song_frame", "u4"), ("state", "i4"), ("wake", "f8"), ("current", "f8"),
    ("next", "f8"), ("driver", "f8"), ("micros", "f8"), ("beat", "f8"), ("micros_per_beat", "f8"), ("bbt_beats", "f8"),
    ("value", "f8")])
NONE = numpy.empty(0, RECORD)


class Deaf(RuntimeError):
    """The listener is silent, or has ended."""


class Recorder(driver.Child):
    """The process of native/record: it writes one line of text, then records."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None = None, host: int | None = None) -> None:
        place = [LAB, "on", str(host)] if host else []
        super().__init__([*place, build.native("record"), *words], text=False, stdin=subprocess.PIPE, env=environment)

    def read(self) -> None:
        pipe: Any = self.process.stdout
        self.inbox.put(pipe.readline().decode().split() or None)
        rest = b""
        while chunk := pipe.read1(1 << 16):
            whole = len(rest + chunk) // RECORD.itemsize * RECORD.itemsize
            self.inbox.put(numpy.frombuffer((rest + chunk)[:whole], RECORD))
            rest = (rest + chunk)[whole:]
        self.inbox.put(None)

    def next(self, seconds: float | None = None) -> Any:
        if (found := super().next(seconds)) is None:
            raise Deaf("the listener is silent")
        return found

    def end(self) -> None:
        self.kill()

    def until_mark(self, seconds: float) -> Array:
        found = [NONE]
        while not (found[-1]["kind"] == MARK).any():
            found.append(self.next(seconds))
        return numpy.concatenate(found)


class Recording:
    """The cycles, events and wake-ups since a section began, in columns. Clocks and latencies are kept for
    the whole time."""

    def __init__(self, rate: float) -> None:
        self.rate, self.last_frame, self.last_wake = rate, -1, NONE
        self.clocks = numpy.empty((0, 2))
        self.latencies: dict[int, list[tuple[float, float]]] = {}
        self.count = 0  # the number of all cycles so far
        self.peers, self.xruns, self.lost = 0, 0, 0
        self.clear()

    def clear(self) -> None:
        self.cycles, self.frames, self.numbers = NONE, numpy.empty(0, "i8"), numpy.empty(0, "i8")
        self.torn = numpy.empty(0, "i8")
        self.events, self.event_numbers = NONE, numpy.empty(0, "i8")
        self.wakes: Array = numpy.empty((3, 0))  # rows: frame, time, whether JACK's times start anew

    def add(self, records: Array) -> None:
        kind = records["kind"]
        told = records[kind == CLOCK]
        self.clocks = numpy.append(self.clocks, numpy.column_stack([told["current"], told["value"]]), axis=0)
        for record in records[kind == LATENCY]:
            self.latencies.setdefault(int(record["port"]), []).append((float(record["wake"]), float(record["value"])))
        for record in records[kind == MARK]:
            self.peers, self.xruns, self.lost = (int(record[name]) for name in ("frames", "value", "current"))
        numbers = self.count + numpy.cumsum(kind == CYCLE) - 1  # for each record, the latest cycle's number
        self.count += int((kind == CYCLE).sum())
        self.wakes = numpy.hstack([self.wakes, self.wake_ups(records[kind == WAKE])])
        cycles = records[kind == CYCLE]
        self.cycles, self.frames = numpy.append(self.cycles, cycles), numpy.append(self.frames, self.unwrapped(cycles["frame"]))
        self.numbers = numpy.append(self.numbers, numbers[kind == CYCLE])
        self.torn = numpy.append(self.torn, numbers[kind == TORN])
        is_event = ((kind == ONSET) | (kind == MIDI)) & (numbers >= (self.numbers[0] if len(self.numbers) else self.count))
        self.events = numpy.append(self.events, records[is_event])
        self.event_numbers = numpy.append(self.event_numbers, numbers[is_event])

    def unwrapped(self, frames: Array) -> Array:
        """The frames without the overflow of JACK's 32-bit counter."""
        if not len(frames):
            return numpy.empty(0, "i8")
        if self.last_frame < 0:
            self.last_frame = int(frames[0])
        found = self.last_frame + (frames.astype("i8") - self.last_frame + 2**31) % 2**32 - 2**31
        self.last_frame = int(found[-1])
        return found

    def wake_ups(self, wakes: Array) -> Array:
        """The times of wake-ups. The driver's time counts only if it is plausible: PipeWire's belongs to
        another cycle."""
        driver = self.by_link(wakes["driver"])
        own, period = wakes["wake"], wakes["frames"] * 1e6 / self.rate
        micros = numpy.where((driver < own) & (own - driver < 0.8 * period), driver, own)
        # jackd's times of a cycle continue the times of the last cycle, exact to the microsecond, unless
        # jackd's driver was too late. After missed cycles they can be predicted only roughly.
        before = numpy.append(self.last_wake, wakes)[:-1]
        after = wakes[len(wakes) - len(before):]
        missed = (after["frame"] - before["frame"] - before["frames"]).astype("i4") * 1e6 / self.rate
        jump = numpy.abs(after["current"] - before["next"] - missed)
        resets = numpy.zeros(len(wakes), bool)
        resets[len(wakes) - len(before):] = ~after["times_valid"] | (jump > numpy.where(missed == 0, 2, 150))
        self.last_wake = wakes[-1:] if len(wakes) else self.last_wake
        return numpy.array([self.unwrapped(wakes["frame"]), micros, resets])

    def by_link(self, jack: Array) -> Array:
        """Converts a time of JACK's clock into Link's time."""
        return jack + (numpy.interp(jack, self.clocks[:, 0], self.clocks[:, 1]) if len(self.clocks) else 0)

    def latency(self, port: int, wakes: Array) -> Array:
        known = self.latencies.get(port, [(0.0, 0.0)])
        place = numpy.searchsorted([since for since, _ in known], wakes, "right") - 1
        return numpy.array([frames for _, frames in known])[numpy.maximum(place, 0)]

    def forget(self, frame: int) -> None:
        """Forgets everything before that frame, for a listener that runs for hours."""
        keep = self.frames >= frame
        self.cycles, self.frames, self.numbers = self.cycles[keep], self.frames[keep], self.numbers[keep]
        keep = self.event_numbers >= self.numbers[0]
        self.events, self.event_numbers = self.events[keep], self.event_numbers[keep]
        self.torn = self.torn[self.torn >= self.numbers[0]]
        self.wakes = self.wakes[:, self.wakes[0] >= frame]
        self.clocks = self.clocks[-3000:]
