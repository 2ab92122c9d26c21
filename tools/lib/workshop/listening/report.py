# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a judge as messages: flat JSON objects."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from .judge import CLOCK, Judge, is_sure, number, statistics
from .recorder import MIDI, ONSET
from .wall import Array

Message = dict[str, Any]
ROLLING = 1  # the state of JACK's transport
CLOSE = 500  # microseconds


class Source(NamedTuple):
    """A port that is judged, and how many onsets or clocks are expected in a beat."""
    name: str
    per_beat: int
    is_midi: bool


def beats(indices: list[int], per_beat: int) -> list[float]:
    return [round(index / per_beat, 4) for index in indices]


class Report:
    def __init__(self, judge: Judge, section: str, sources: list[Source], has_events: bool) -> None:
        self.judge, self.section, self.sources, self.has_events = judge, section, sources, has_events

    def everything(self, xruns: int) -> Iterator[Message]:
        for port, source in enumerate(self.sources):
            yield from self.source(port, source)
        latency = self.latency(0) if self.sources else 0
        yield from self.bbt(latency)
        yield from self.host(latency)
        yield self.method(xruns)
        yield {"type": "end", "section": self.section, "peers": self.judge.heard.peers, "changes": len(self.judge.changes)}

    def latency(self, port: int) -> float:
        return float(self.judge.heard.latency(port, numpy.array([numpy.inf]))[0])

    def source(self, port: int, source: Source) -> Iterator[Message]:
        judged = self.judge.judged(port, source.per_beat)
        if self.has_events:
            yield from self.events(source, judged)
        which = is_sure(judged)
        sure = judged[which]
        settled = sure[sure["quiet"] & ~numpy.isnan(sure["error"])]
        within = self.is_within_a_frame(settled)
        gaps = self.judge.continuity(judged, which, port)
        yield {"type": "summary", "section": self.section, "port": source.name, "per_beat": source.per_beat,
               "heard": len(judged), "missing": beats(gaps.missing, source.per_beat),
               "doubled": beats(gaps.doubled, source.per_beat), "lost_in_stalls": gaps.excused,
               "latency": round(self.latency(port)),
               "interval": number(numpy.median(numpy.diff(judged["frame"])) * 1e6 / self.judge.heard.rate) if len(judged) > 1 else None,
               "by_jack": statistics(settled["error"]),
               "by_wall": statistics(sure["wall_error"]),
               "wall_over_500us": int((numpy.abs(sure["wall_error"]) > 500).sum()), "beyond_a_frame": int((~within).sum())}
        if source.is_midi:
            yield from self.messages(port, source)

    def is_within_a_frame(self, settled: Array) -> Array:
        """Whether each event is within a frame of the beat. If JACK's clock and the wall clock differ, we
        cannot know which one is right. An event then counts if it is within two frames by one of the
        clocks, or lies between them: a few wake-ups do not give the wall clock to a frame."""
        frame = 1 + 1e6 / self.judge.heard.rate  # plus 1 us, by which JACK's times are rounded
        by_jack, by_wall = settled["error"], settled["error"] - settled["apart"]
        reach = numpy.where(numpy.abs(settled["apart"]) > frame, 2 * frame, frame)
        is_between = (numpy.minimum(by_jack, by_wall) <= reach) & (numpy.maximum(by_jack, by_wall) >= -reach)
        return is_between | (numpy.abs(settled["before_error"]) <= frame)

    def look(self, port: int, source: Source, since: float, until: float) -> Iterator[Message]:
        """Reports what was heard of a port in the frames after `since` and up to `until`."""
        judged = self.judge.judged(port, source.per_beat)
        known = judged[judged["frame"] <= until]
        is_fresh = (judged["frame"] > since) & (judged["frame"] <= until)
        fresh = judged[is_fresh]
        if self.has_events:
            yield from self.events(source, fresh)
        # The listener or tactus may miss the first message about a change. Until it is repeated,
        # their grids and counts differ.
        which = is_sure(judged) & judged["settled"]
        sure = judged[which & is_fresh]
        # A disturbance before the recording is visible only as a difference between JACK's clock and the wall
        # clock.
        settled = sure[sure["quiet"] & (numpy.abs(sure["error"] - sure["wall_error"]) < CLOSE)]
        gaps = self.judge.continuity(judged, which, port, since, until)
        yield {"type": "heard", "port": source.name, "count": len(fresh), "missing": beats(gaps.missing, source.per_beat),
               "doubled": beats(gaps.doubled, source.per_beat), "lost_in_stalls": gaps.excused, "moved": gaps.moved,
               "by_jack": statistics(settled["error"]), "by_wall": statistics(sure["wall_error"]),
               "latest": number(known["wall"][-1]) if len(known) else None,
               "latest_beat": number(known["beat"][-1], 6) if len(known) else None}

    def events(self, source: Source, judged: Array) -> Iterator[Message]:
        heard, peaks = self.judge.heard, self.judge.heard.events["value"]
        for j in judged:
            unbroken = min(j["cycle"] - j["since_stall"] + 1, len(heard.frames) - 1)
            is_onset = heard.events["kind"][j["event"]] == ONSET
            yield {"type": "onset" if is_onset else "clock", "section": self.section, "port": source.name,
                   "frame": int(j["frame"]), "heard": number(j["jack"]), "heard_by_wall": number(j["wall"]),
                   "beat": number(j["beat"], 6), "error": number(j["error"]), "wall_error": number(j["wall_error"]),
                   "since_stall": int(j["since_stall"]), "unbroken_from": int(heard.frames[unbroken]),
                   "quiet": bool(j["quiet"]), "steady": bool(j["steady"]),
                   **({"peak": number(peaks[j["event"]], 3)} if is_onset else {})}

    def messages(self, port: int, source: Source) -> Iterator[Message]:
        """Start, Continue, Stop and Song Position, each with its beat and with the next clock."""
        heard = self.judge.heard
        which = (heard.events["port"] == port) & (heard.events["kind"] == MIDI)
        all_of_it = self.judge.judge(which, port, source.per_beat)
        is_clock = heard.events["bytes"][which][:, 0] == CLOCK
        for place in numpy.flatnonzero(~is_clock):
            here, event = all_of_it[place], heard.events[which][place]
            found = {"type": "midi", "section": self.section, "port": source.name,
                     "bytes": bytes(event["bytes"][:event["size"]]).hex(), "frame": int(here["frame"]),
                     "song_frame": int(heard.cycles["song_frame"][here["cycle"]]) + int(event["frame"]),
                     "heard": number(here["jack"]), "beat": number(here["beat"], 6)}
            for clock in all_of_it[place:][is_clock[place:]][:1]:
                found |= {"next_clock_beat": number(clock["beat"], 6), "next_clock_after": number(clock["jack"] - here["jack"])}
            yield found

    def rolling(self) -> Array:
        return self.judge.heard.cycles["state"] == ROLLING

    def beat(self, latency: float) -> Array:
        """The session's beat when frame 0 of each cycle is heard."""
        cycles = self.judge.heard.cycles
        return cycles["beat"] + (self.judge.start + latency * self.judge.slope - cycles["micros"]) / cycles["micros_per_beat"]

    def bbt(self, latency: float) -> Iterator[Message]:
        """Compares the bar, beat and tick of JACK's transport with the beat at which their frame is
        heard."""
        cycles, rolling = self.judge.heard.cycles, self.rolling()
        # In the first rolling cycles, jack2 shows values that the timebase master wrote before it knew of the
        # start.
        known = rolling & numpy.append([False] * 2, rolling[:-2])[:len(rolling)] & numpy.append(False, rolling[:-1])[:len(rolling)]
        which = cycles["has_bbt"] & known & self.judge.steady & self.judge.quiet
        late = self.beat(latency) - cycles["bbt_beats"]
        errors = ((late - numpy.rint(late)) * cycles["micros_per_beat"])[which]
        if len(errors):
            yield {"type": "bbt", "section": self.section, "error": statistics(errors)}

    def host(self, latency: float) -> Iterator[Message]:
        """Compares the beat that is heard with the beat of a host that counts the transport's frames at the
        session's tempo."""
        cycles = self.judge.heard.cycles
        which = self.rolling() & self.judge.steady & self.judge.quiet
        late = self.beat(latency) - cycles["song_frame"] * 1e6 / self.judge.heard.rate / cycles["micros_per_beat"]
        errors = ((late - numpy.rint(late)) * cycles["micros_per_beat"])[which]
        if len(errors):
            yield {"type": "host", "section": self.section, "error": statistics(errors),
                   "beats": round(numpy.median(numpy.rint(late[which])))}

    def method(self, xruns: int) -> Message:
        """The accuracy of the measurement itself."""
        judge, wakes = self.judge, self.judge.heard.wakes
        difference = (judge.start - judge.wall_start)[judge.quiet]
        lateness = wakes[1] - judge.wall.times(judge.wall.find(wakes[0]), wakes[0])
        return {"type": "method", "section": self.section, "cycles": len(judge.heard.cycles),
                "interruptions": judge.interruptions, "server_stalls": max(0, len(judge.wall.stretches) - 1), "xruns": xruns,
                "overflow": judge.heard.lost, "jack_minus_wall": statistics(difference), "wake_lateness": statistics(lateness)}
