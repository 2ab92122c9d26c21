# SPDX-License-Identifier: GPL-2.0-or-later
"""JACK's transport as a peer: what any JACK client is shown and may do, driven by lines (lines.py).

`time` is when the shown frame's cycle began, by JACK's clock; `latency` is how much later the hardware is heard. The
client has no ports. It only asks, unless it is told to be timebase master or to count relocations: then JACK calls it."""

import ctypes
import os
import time
from typing import Any

from . import lines
from .lines import Fields

NO_START_SERVER = 1
STARTING = 3
BBT = 0x10
OUTPUT_LATENCY = 1  # JackPlaybackLatency


class Position(ctypes.Structure):
    """As far as the members that are at the same place on every machine."""
    _fields_ = [
        ("unique", ctypes.c_uint64), ("usecs", ctypes.c_uint64), ("frame_rate", ctypes.c_uint32),
        ("frame", ctypes.c_uint32), ("valid", ctypes.c_uint32), ("bar", ctypes.c_int32), ("beat", ctypes.c_int32),
        ("tick", ctypes.c_int32), ("bar_start_tick", ctypes.c_double), ("beats_per_bar", ctypes.c_float),
        ("beat_type", ctypes.c_float), ("ticks_per_beat", ctypes.c_double), ("beats_per_minute", ctypes.c_double),
        ("rest", ctypes.c_byte * 256),
    ]


class Range(ctypes.Structure):
    _fields_ = [("least", ctypes.c_uint32), ("most", ctypes.c_uint32)]


PROCESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
SYNC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(Position), ctypes.c_void_p)
TIMEBASE = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(Position), ctypes.c_int, ctypes.c_void_p)


class Master:
    """A timebase master as a script has it: bars of four, and a tempo that may ramp."""

    def __init__(self, bpm: float, ticks: float) -> None:
        self.ticks, self.bpm, self.wanted, self.rise, self.beats, self.frame = ticks, bpm, bpm, 0.0, 0.0, 0

    def come_to(self, bpm: float, seconds: float) -> None:
        """In equal steps of time; in none, with the next cycle."""
        self.wanted, self.rise = bpm, (bpm - self.bpm) / (seconds or 1e-9)

    def tempo_after(self, seconds: float) -> float:
        return (min if self.rise > 0 else max)(self.wanted, self.bpm + self.rise * max(seconds, 1e-6))

    def write(self, place: Any) -> None:
        rate = 48000.0  # the position's own is 0 after a locate
        passed = (place.frame - self.frame) & 0xffffffff
        self.frame = place.frame
        before, self.bpm = self.bpm, self.tempo_after(passed / rate)
        if passed < 8192:
            self.beats += passed / rate * (before + self.bpm) / 120
        else:
            self.beats = place.frame / rate * self.bpm / 60
        whole = int(self.beats)
        place.valid, place.bar, place.beat = BBT, whole // 4 + 1, whole % 4 + 1
        place.tick, place.bar_start_tick = int((self.beats - whole) * self.ticks), whole // 4 * 4 * self.ticks
        place.beats_per_bar, place.beat_type = 4, 4
        place.ticks_per_beat, place.beats_per_minute = self.ticks, self.bpm


class Transport:
    pause = 0.005
    relocations = 0
    callbacks: tuple[Any, ...] = ()
    timebase: Any = None
    mastership: Master | None = None

    def __init__(self) -> None:
        self.jack = ctypes.CDLL("libjack.so.0")
        for name in ("jack_client_open", "jack_port_by_name"):
            getattr(self.jack, name).restype = ctypes.c_void_p
        client = self.jack.jack_client_open(b"transport", NO_START_SERVER, None)
        if not client:
            raise SystemExit("transport: no JACK server")
        self.client = ctypes.c_void_p(client)
        self.jack.jack_activate(self.client)

    def status(self) -> Fields:
        position = Position()
        state = self.jack.jack_transport_query(self.client, ctypes.byref(position))
        shown = {"playing": state == 1, "waiting": state == 3, "frame": position.frame, "time": position.usecs,
                 "latency": self.latency(position.frame_rate), "bbt": bool(position.valid & BBT), "tempo": 0.0,
                 "bar": 0, "beat": 0.0, "phase": 0.0, "pid": os.getpid(),
                 "relocations": self.relocations}
        if shown["bbt"] and position.ticks_per_beat > 0:
            within = position.beat - 1 + position.tick / position.ticks_per_beat
            shown.update(tempo=position.beats_per_minute, bar=position.bar, phase=within,
                         beat=(position.bar - 1) * position.beats_per_bar + within)
        return shown

    def latency(self, rate: int) -> float:
        for name in (b"system:playback_1", b"system:playback_FL"):
            port = self.jack.jack_port_by_name(self.client, name)
            if port and rate:
                found = Range()
                self.jack.jack_port_get_latency_range(ctypes.c_void_p(port), OUTPUT_LATENCY, ctypes.byref(found))
                return float(found.most * 1_000_000 / rate)
        return 0.0

    def beat(self) -> Fields:
        return self.status()

    def play(self) -> None:
        self.jack.jack_transport_start(self.client)

    def stop(self) -> None:
        self.jack.jack_transport_stop(self.client)

    def locate(self, word: str) -> None:
        self.jack.jack_transport_locate(self.client, ctypes.c_uint32(int(word)))

    def called(self, *callbacks: Any) -> None:
        """JACK calls a client only if it has a process callback, and some things must be set before activation."""
        self.callbacks += (PROCESS(lambda frames, context: 0), *callbacks)
        self.jack.jack_deactivate(self.client)
        self.jack.jack_set_process_callback(self.client, self.callbacks[0], None)
        for callback in callbacks:
            if isinstance(callback, SYNC):
                self.jack.jack_set_sync_callback(self.client, callback, None)
        self.jack.jack_activate(self.client)

    def count(self) -> None:
        # JACK asks until it hears a yes, and it does at once.
        self.relocations = 0

        def ready(state: int, position: Any, context: Any) -> int:
            self.relocations += 1
            return 1

        self.called(SYNC(ready))

    def slow(self, word: str) -> None:
        """It is asked once a cycle of a held start."""
        needed, held = float(word), 0.0

        def ready(state: int, position: Any, context: Any) -> int:
            nonlocal held
            cycle = 1000.0 * self.jack.jack_get_buffer_size(self.client) / self.jack.jack_get_sample_rate(self.client)
            held = held + cycle if state == STARTING else 0.0
            if state == STARTING and held < needed:
                return 0
            held = 0.0
            return 1

        self.called(SYNC(ready))

    def tempo(self, word: str) -> None:
        self.ramp(word, "0")

    def ramp(self, word: str, seconds: str) -> None:
        if not self.mastership:
            raise lines.Refused("only a master has a tempo")
        self.mastership.come_to(float(word), float(seconds))
        # While nothing rolls a master is only called if it asks anew.
        if seconds == "0":
            self.jack.jack_set_timebase_callback(self.client, 0, self.timebase, None)

    def master(self, word: str, ticks: str = "960") -> None:
        self.mastership = master = Master(float(word), float(ticks))
        self.timebase = TIMEBASE(lambda state, frames, position, is_new, context: master.write(position[0]))
        self.called()
        self.jack.jack_set_timebase_callback(self.client, 0, self.timebase, None)

    def leave(self) -> None:
        self.jack.jack_client_close(self.client)
        time.sleep(0.01)


def main(_: list[str]) -> None:
    lines.serve(Transport())
