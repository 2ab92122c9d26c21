# SPDX-License-Identifier: GPL-2.0-or-later
"""JACK's transport as a peer: what every JACK client can see and do, driven by lines (lines.py).

`time` is when the shown frame's cycle began, by Link's clock, which is also jackd's; `latency` is how much
later the hardware is heard. The client has no ports. JACK calls it only if it is timebase master or counts relocations; otherwise
it only asks JACK."""

import ctypes
import os
import time
from typing import Any

import jack

from . import lines
from .lines import Fields

OUTPUT_LATENCY = 1  # JackPlaybackLatency
SAME_CLOCK = 5000  # microseconds


class Master:
    """A timebase master such as a script may have: bars of four beats, and a tempo that changes with the
    next cycle."""

    def __init__(self, bpm: float, ticks: float) -> None:
        self.ticks, self.bpm, self.beats, self.frame = ticks, bpm, 0.0, 0

    def write(self, place: Any) -> None:
        rate = 48000.0  # the rate in the position is 0 after a locate
        passed = (place.frame - self.frame) & 0xffffffff
        self.frame = place.frame
        if passed < 8192:
            self.beats += passed / rate * self.bpm / 60
        else:
            self.beats = place.frame / rate * self.bpm / 60
        whole = int(self.beats)
        place.valid, place.bar, place.beat = jack.POSITION_BBT, whole // 4 + 1, whole % 4 + 1
        place.tick, place.bar_start_tick = int((self.beats - whole) * self.ticks), whole // 4 * 4 * self.ticks
        place.beats_per_bar, place.beat_type = 4, 4
        place.ticks_per_beat, place.beats_per_minute = self.ticks, self.bpm


class Transport:
    pause = 0.005
    relocations = 0
    mastership: Master | None = None

    def __init__(self) -> None:
        try:
            self.client = jack.Client("transport", no_start_server=True)
        except jack.JackOpenError:
            raise SystemExit("transport: no JACK server") from None
        self.client.activate()

    def status(self) -> Fields:
        state, position = self.client.transport_query_struct()
        shown = {"playing": state == jack.ROLLING, "waiting": state == jack.STARTING, "frame": position.frame,
                 "time": position.usecs - self.ahead(), "latency": self.latency(position.frame_rate),
                 "bbt": bool(position.valid & jack.POSITION_BBT), "tempo": 0.0, "bar": 0, "beat": 0.0, "phase": 0.0,
                 "pid": os.getpid(), "relocations": self.relocations}
        if shown["bbt"] and position.ticks_per_beat > 0:
            within = position.beat - 1 + position.tick / position.ticks_per_beat
            shown.update(tempo=position.beats_per_minute, bar=position.bar, phase=within,
                         beat=(position.bar - 1) * position.beats_per_bar + within)
        return shown

    def latency(self, rate: int) -> float:
        """The hardware's latency, from libjack itself, because the Python library does not offer it."""
        found = (ctypes.c_uint32 * 2)()
        for port in self.client.get_ports("system:playback_(1|FL)") if rate else ():
            address = int(jack._ffi.cast("uintptr_t", port._ptr))
            ctypes.CDLL("libjack.so.0").jack_port_get_latency_range(ctypes.c_void_p(address), OUTPUT_LATENCY, found)
        return float(found[1] * 1_000_000 / max(1, rate))

    def ahead(self) -> int:
        """The microseconds by which JACK's clock is ahead of Link's: PipeWire has another clock than jackd."""
        library = ctypes.CDLL("libjack.so.0")
        library.jack_get_time.restype = ctypes.c_uint64
        ahead = int(library.jack_get_time()) - lines.link_time()
        return ahead if abs(ahead) > SAME_CLOCK else 0

    def beat(self) -> Fields:
        return self.status()

    def play(self) -> None:
        self.client.transport_start()

    def stop(self) -> None:
        self.client.transport_stop()

    def flip(self, count: str, hertz: str) -> None:
        began = time.monotonic()
        for turn in range(int(count)):
            time.sleep(max(0, began + turn / float(hertz) - time.monotonic()))
            (self.stop if turn % 2 else self.play)()

    def locate(self, word: str) -> None:
        self.client.transport_locate(int(word))

    def called(self, ready: Any = None) -> None:
        """Activates the client again with a process callback, without which JACK does not call it. Some
        callbacks must be set before the activation."""
        self.client.deactivate()
        self.client.set_process_callback(lambda frames: None)
        if ready:
            self.client.set_sync_callback(ready)
        self.client.activate()

    def count(self) -> None:
        # Ignore the locates up to now. JACK calls the sync callback until its answer is yes; here it is yes
        # at once.
        self.relocations = 0

        def ready(state: int, position: Any) -> bool:
            self.relocations += 1
            return True

        self.called(ready)

    def slow(self, word: str) -> None:
        """Acts as a slow client. JACK asks it once a cycle while a start is held."""
        needed, held = float(word), 0.0

        def ready(state: int, position: Any) -> bool:
            nonlocal held
            held = held + 1000.0 * self.client.blocksize / self.client.samplerate if state == jack.STARTING else 0.0
            if state == jack.STARTING and held < needed:
                return False
            held = 0.0
            return True

        self.called(ready)

    def tempo(self, word: str) -> None:
        if not self.mastership:
            raise lines.Refused("only a master has a tempo")
        self.mastership.bpm = float(word)
        # While the transport is stopped, JACK calls a timebase master only if the master registers anew.
        self.ask()

    def ask(self) -> None:
        def show(state: int, frames: int, position: Any, is_new: bool) -> None:
            assert self.mastership
            self.mastership.write(position)

        self.client.set_timebase_callback(show)

    def master(self, word: str, ticks: str = "960") -> None:
        self.mastership = Master(float(word), float(ticks))
        self.called()
        self.ask()

    def leave(self) -> None:
        self.client.close()
        time.sleep(0.01)


def main(_: list[str]) -> None:
    lines.serve(Transport())
