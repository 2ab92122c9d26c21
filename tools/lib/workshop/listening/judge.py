# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges recorded events: when each was heard, and how far from the beat. All of this happens after the
recording."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from .recorder import Recording
from .wall import Array, Wall

SETTLED = 15e6  # microseconds after a stall until JACK's time filter (1/8 Hz) is right to 2 us
AGREED = 100  # microseconds by which the distance of JACK's clock and the wall clock may change
NEAR_CHANGE = 150e3
SETTLED_CHANGE = 1.5e6  # microseconds; a lost message about a change is repeated four times a second
MOVED = 0.02  # beats: half the distance of two MIDI clocks
CLOCK, STOP = 0xF8, 0xFC

JUDGED = numpy.dtype([
    ("event", "i8"), ("cycle", "i8"), ("frame", "i8"),
    ("jack", "f8"), ("wall", "f8"),  # the time when the event is heard, by both clocks; NaN if unknown
    ("beat", "f8"),  # the reference peer's beat at that time
    ("error", "f8"), ("wall_error", "f8"),  # microseconds from the nearest grid point, positive: late
    # The same error by the times of the cycle before: at the border of two cycles, JACK's clock gives two
    # times.
    ("before_error", "f8"),
    ("index", "i8"),  # the number of the grid point
    ("since_stall", "i8"),  # this cycle's number since the latest lost cycle, from 1
    ("quiet", "?"),  # no recent stall of the server, so JACK's clock has settled
    # The delay of JACK's clock behind the wall clock, beyond the usual one: a wake-up that was milliseconds
    # late disturbs the filter of JACK's clock.
    ("apart", "f8"),
    ("steady", "?"),  # no change of the session's tempo or phase near this time
    ("settled", "?"),  # the last change is so old that every peer must know it
])


class Continuity(NamedTuple):
    missing: list[int]
    doubled: list[int]
    excused: int  # events not heard, perhaps because they were due in a lost cycle
    moved: int  # the session's beat jumped between two events, so the number of events due is unknown


def statistics(values: Array) -> dict[str, Any]:
    values = values[~numpy.isnan(values)]
    if not len(values):
        return {"n": 0}
    found = {"median": numpy.median(values), "min": values.min(), "max": values.max(), "range": numpy.ptp(values),
             "p99": numpy.percentile(numpy.abs(values), 99, method="inverted_cdf")}
    return {"n": len(values), **{name: number(value) for name, value in found.items()}}


def number(value: float, digits: int = 1) -> float | None:
    return round(float(value), digits or None) if numpy.isfinite(value) else None


def is_sure(judged: Array) -> Array:
    return judged["steady"] & (judged["since_stall"] >= 2)


class Judge:
    """Judges the recorded events. `began`: when the server was last known to be disturbed. `news_take`: by
    how much another peer may have heard of a change earlier than ours, and played by it. `early`: the
    offset of each port's output, in microseconds; 0 for a port that is not named."""

    def __init__(self, heard: Recording, period: int, began: float = 0, news_take: float = NEAR_CHANGE,
                 early: Sequence[float] = ()) -> None:
        self.heard, self.early, cycles = heard, early, heard.cycles
        self.wall = Wall(heard.rate, period, heard.wakes)
        self.start = numpy.where(cycles["times_valid"], heard.by_link(cycles["current"]), numpy.nan)
        self.slope = numpy.where(cycles["times_valid"], (cycles["next"] - cycles["current"]) / cycles["frames"], numpy.nan)
        self.stretch = self.wall.find(heard.frames)
        self.wall_start = self.wall.times(self.stretch, heard.frames)
        self.count_since_stalls()
        since = numpy.array([began, *self.wall.times(numpy.arange(1, len(self.wall.first)), self.wall.first[1:])])
        self.quiet = (self.stretch >= 0) & (self.wall_start - since[self.stretch] > SETTLED)
        self.require_agreement()
        self.note_changes(news_take)

    def count_since_stalls(self) -> None:
        frames, place = self.heard.frames, numpy.arange(len(self.heard.frames))
        ends = frames + self.heard.cycles["frames"]
        anew = numpy.append(True, (frames[1:] != ends[:-1]) | (self.stretch[1:] != self.stretch[:-1]))[:len(frames)]
        first = numpy.where(anew | (self.stretch < 0), place, 0)
        torn = numpy.isin(self.heard.numbers, self.heard.torn)
        first[torn] = place[torn] + 1
        self.since = numpy.where(self.stretch >= 0, place - numpy.maximum.accumulate(first) + 1, 0)
        self.interruptions = int((frames[1:] != ends[:-1]).sum())

    def require_agreement(self) -> None:
        """Excludes times around a very late wake-up that was no stall, because it disturbs JACK's filter,
        too."""
        distances = numpy.where(self.quiet, self.start - self.wall_start, numpy.nan)
        sane = numpy.sort(distances[~numpy.isnan(distances)])
        self.usual = sane[len(sane) // 2] if len(sane) else numpy.nan
        if len(sane):
            self.quiet &= numpy.abs(distances - self.usual) < AGREED

    def note_changes(self, news_take: float) -> None:
        """Finds when the session's tempo or beat changed, and when its beat jumped."""
        cycles = self.heard.cycles
        a, b = cycles[:-1], cycles[1:]
        jump = (a["beat"] + (b["micros"] - a["micros"]) / a["micros_per_beat"] - b["beat"]) * b["micros_per_beat"]
        self.changes = b["micros"][(a["micros_per_beat"] != b["micros_per_beat"]) | (numpy.abs(jump) > 3)]
        self.moves = b["micros"][numpy.abs(jump) > MOVED * b["micros_per_beat"]]
        now = cycles["micros"]
        self.steady = ~has_in(self.changes, now - NEAR_CHANGE, now + news_take)
        self.settled = self.steady & ~has_in(self.changes, now - SETTLED_CHANGE, now)

    def is_clock(self) -> Array:
        return (self.heard.events["size"] == 1) & (self.heard.events["bytes"][:, 0] == CLOCK)

    def judged(self, port: int, per_beat: int) -> Array:
        """The judged onsets and clocks. Events without a known beat are left out."""
        events = self.heard.events
        found = self.judge((events["port"] == port) & ((events["size"] == 0) | self.is_clock()), port, per_beat)
        return found[numpy.isfinite(found["beat"])]

    def judge(self, which: Array, port: int, per_beat: int) -> Array:
        events = self.heard.events[which]
        place = self.heard.event_numbers[which] - (self.heard.numbers[0] if len(events) else 0)
        cycles, offset = self.heard.cycles[place], events["frame"].astype("f8")
        late = offset + self.heard.latency(port, cycles["wake"])
        j = numpy.zeros(len(events), JUDGED)
        j["event"], j["cycle"], j["frame"] = numpy.flatnonzero(which), place, self.heard.frames[place] + events["frame"]
        early = self.early[port] if port < len(self.early) else 0.0
        j["jack"] = self.start[place] + late * self.slope[place] + early
        j["wall"] = self.wall.times(self.stretch[place], self.heard.frames[place] + late) + early
        j["since_stall"], j["quiet"] = self.since[place], self.quiet[place]
        j["steady"], j["settled"] = self.steady[place], self.settled[place]
        j["apart"] = j["jack"] - j["wall"] - self.usual
        heard = numpy.where(numpy.isnan(j["wall"]), j["jack"], j["wall"])
        j["beat"] = cycles["beat"] + (heard - cycles["micros"]) / cycles["micros_per_beat"]
        j["index"] = numpy.rint(numpy.nan_to_num(j["beat"] * per_beat))
        ideal = cycles["micros"] + (j["index"] / per_beat - cycles["beat"]) * cycles["micros_per_beat"]
        j["error"], j["wall_error"] = j["jack"] - ideal, j["wall"] - ideal
        before = numpy.maximum(place - 1, 0)
        passed = self.heard.frames[place] - self.heard.frames[before]
        goes_on = (place > 0) & (passed == self.heard.cycles["frames"][before])
        j["before_error"] = numpy.where(goes_on, self.start[before] + (passed + late) * self.slope[before] + early - ideal, numpy.nan)
        return j

    def continuity(self, judged: Array, which: Array, port: int, since: float = -numpy.inf, until: float = numpy.inf) -> Continuity:
        """Compares the number of events between two events that `which` marks as sure with the number that
        the grid demands, whatever the exact times. Reports the pairs that end in the frames after `since`
        and up to `until`."""
        found = Continuity([], [], 0, 0)
        sure = numpy.flatnonzero(which & (judged["frame"] <= until))
        due = numpy.diff(judged["index"][sure]) - numpy.diff(sure)
        for place in numpy.flatnonzero((due != 0) & (judged["frame"][sure[1:]] > since)):
            found = self.compare(judged[sure[place]], judged[sure[place + 1]], int(due[place]), port, found)
        return found

    def compare(self, a: Array, b: Array, due: int, port: int, found: Continuity) -> Continuity:
        events, micros = self.heard.events, self.heard.cycles["micros"]
        between = slice(numpy.searchsorted(self.heard.event_numbers, a["cycle"] + self.heard.numbers[0]),
                        numpy.searchsorted(self.heard.event_numbers, b["cycle"] + self.heard.numbers[0], "right"))
        # In MIDI, nothing is due between a Stop and the next clock.
        stops = (events["port"] == port) & (events["size"] == 1) & (events["bytes"][:, 0] == STOP)
        if stops[between].any():
            return found
        if has_in(self.moves, micros[a["cycle"]], micros[b["cycle"]]):
            return found._replace(moved=found.moved + 1)
        is_lost = (self.since[a["cycle"]:b["cycle"] + 1] < 2).any()
        if due > 0 and is_lost:
            return found._replace(excused=found.excused + due)
        if due > 0:
            found.missing.extend(range(int(a["index"]) + 1, int(a["index"]) + 1 + due))
        elif not is_lost:
            found.doubled.append(int(b["index"]))
        return found


def has_in(times: Array, since: Array, until: Array) -> Array:
    return numpy.searchsorted(times, until, "right") > numpy.searchsorted(times, since)
