# SPDX-License-Identifier: GPL-2.0-or-later
"""The invariants that must hold each second. An excuse is a time until which an invariant may be broken,
with its reason; only faults give excuses. The one exception is what the listener itself could not hear
(lost cycles)."""

import collections
import statistics
from typing import Any

from . import cast

Heard = dict[str, Any]

# The limits of the phase error: by JACK's clock if it has settled, otherwise by the wall clock, which itself
# is up to 130 us early (docs/benchmarks.md).
PHASE_LIMIT = {"by_jack": 1000.0, "by_wall": 3000.0}  # microseconds
PHASE_WINDOW = 5  # seconds of which the median is taken
REUNION = 6.0  # seconds in which the listener measures another session and follows tactus into it
AFTER_REUNION = 2.0  # seconds until the listener judges by the beat of the new session
CATCH_UP = 3.0  # seconds after a lost cycle in which tactus sends late MIDI clock messages
SLOWEST = 4.0  # seconds without a click: at 20 BPM a beat lasts three
ANSWER = 2.0  # seconds for a pong
GROWTH = {"kilobytes": 3000, "threads": 0, "descriptors": 0}  # allowed beyond the maximum of the first stretch


class Violation(Exception):
    pass


class Excuses:
    def __init__(self) -> None:
        self.until: dict[str, float] = collections.defaultdict(float)

    def give(self, now: float, seconds: float, *whats: str) -> None:
        for what in whats:
            self.until[what] = max(self.until[what], now + seconds)

    def has(self, now: float, what: str) -> bool:
        return now < self.until[what]


class Invariants:
    def __init__(self, excuses: Excuses, seconds: float) -> None:
        self.excuses = excuses
        # The least value of each later stretch of time is compared with the first stretch. So a value that
        # grows for a while, such as during a controller's visit, does not count as growth.
        self.stretch = min(60.0, max(6.0, seconds / 4))
        self.samples: dict[str, list[tuple[float, int]]] = {name: [] for name in GROWTH}
        self.baseline: dict[str, int] = {}
        self.errors: dict[str, collections.deque[tuple[float, str, float]]] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.worst: dict[str, float] = collections.defaultdict(float)
        self.disturbed = -1e9
        self.asked: float | None = None
        self.beats: list[tuple[float, float]] = []
        self.apart: float | None = None

    def one_session(self, now: float, is_apart: bool) -> None:
        """Checks that the listener and tactus share a session, since sound is judged only then. They must
        find each other again within the time that a peer of Ableton's library needs."""
        if not is_apart or self.excuses.has(now, "session"):
            self.apart = None
        elif self.apart is None:
            self.apart = now
        if is_apart:
            self.counts["seconds apart"] += 1
            self.excuses.give(now, AFTER_REUNION, "click", "clock", "phase")
        if self.apart is not None and now - self.apart > REUNION:
            raise Violation(f"the listener and tactus are in two sessions for {now - self.apart:.1f} s")

    def check(self, now: float, ports: dict[str, Heard], where: Heard) -> None:
        """Judges all that was heard until now. Raises the first violation."""
        if where["lost"]:
            self.disturbed = now
        self.counts["lost cycles"] += where["lost"]
        for port, heard in ports.items():
            self.one_each(now, port, heard)
            self.in_phase(now, port, heard)
            self.not_silent(now, port, heard, where)

    def one_each(self, now: float, port: str, heard: Heard) -> None:
        what = "clock" if port.endswith("clock") else "click"
        self.counts[what + "s"] += heard["count"]
        self.counts[what + "s in lost cycles"] += heard["lost_in_stalls"]
        if self.excuses.has(now, what) or (what == "clock" and now - self.disturbed < CATCH_UP):
            return
        for wrong in ("missing", "doubled"):
            if heard[wrong]:
                beats = ", ".join(f"{beat:g}" for beat in heard[wrong][:6])
                raise Violation(f"{port}: {len(heard[wrong])} {wrong}, at beat {beats}")

    def in_phase(self, now: float, port: str, heard: Heard) -> None:
        clock = "by_jack" if heard["by_jack"]["n"] else "by_wall"
        recent = self.errors.setdefault(port, collections.deque())
        if self.excuses.has(now, "phase"):
            recent.clear()
            return
        if heard[clock]["n"]:
            recent.append((now, clock, heard[clock]["median"]))
        while recent and recent[0][0] < now - PHASE_WINDOW:
            recent.popleft()
        for clock, limit in PHASE_LIMIT.items():
            errors = [error for _, which, error in recent if which == clock]
            if len(errors) < 3:
                continue
            median = statistics.median_high(errors)
            self.worst[f"{port} {clock}"] = max(self.worst[f"{port} {clock}"], abs(median))
            if abs(median) > limit:
                raise Violation(f"{port}: off the beat by {median:.0f} us, median of {len(errors)} seconds, {clock}")

    def not_silent(self, now: float, port: str, heard: Heard, where: Heard) -> None:
        if self.excuses.has(now, "click"):
            return
        self.beats = [(when, beat) for when, beat in self.beats if when > now - SLOWEST] + [(now, 60 / where["tempo"])]
        beats = max(beat for _, beat in self.beats)  # a beat may have begun before the tempo rose
        latest = heard["latest"]
        silence = where["now"] / 1e6 - latest / 1e6 if latest is not None else now
        if silence > 2.5 * beats + 2 and where["lost"] == 0:
            raise Violation(f"{port}: silent for {silence:.1f} s at {where['tempo']:g} BPM")

    def everybody_counted(self, now: float, seen: int, expected: int) -> None:
        if seen != expected and not self.excuses.has(now, "peers"):
            raise Violation(f"the listener sees {seen} peers; there are {expected}")

    def answered(self, now: float, controller: cast.Controller) -> None:
        """Sends a ping each second, and expects the pong within two."""
        if controller.answers() or self.excuses.has(now, "osc"):
            self.asked = None
        if self.asked is not None and now - self.asked > ANSWER:
            raise Violation(f"OSC: no answer for {now - self.asked:.1f} s")
        if self.asked is None:
            self.asked = now
        controller.ask()

    def no_growth(self, now: float, figures: dict[str, int]) -> None:
        for name, value in figures.items():
            samples = self.samples[name]
            samples.append((now, value))
            if name not in self.baseline and now - samples[0][0] >= self.stretch:
                self.baseline[name] = max(value for _, value in samples)
            while samples[0][0] < now - self.stretch:
                samples.pop(0)
            least = min(value for _, value in samples)
            if name in self.baseline and least > self.baseline[name] + GROWTH[name]:
                raise Violation(f"{name}: never less than {least} for {self.stretch:g} s; at first {self.baseline[name]}")
