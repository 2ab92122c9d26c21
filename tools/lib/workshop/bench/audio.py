# SPDX-License-Identifier: GPL-2.0-or-later
"""What tactus and LinkHut play, judged in the same run by tools/listen: clicks against the beat of the reference Link
library, MIDI clock, swing, process callback times. About 11 minutes, with --quick under one. --json has a list of every beat.
docs/benchmarks.md says how it measures and what its own error is."""

from typing import Any

from .. import build
from ..common import shell
from ..options import Parser, names, within
from . import table

Scene = dict[str, Any]
NAMES = ["self-test", "beat", "periods", "rates", "pipewire", "clock", "pulse", "swing", "callback"]


def steady(bpm: float, seconds: float) -> Scene:
    return {"name": f"{bpm:g}", "tempo": bpm, "seconds": seconds}


def changes(seconds: float) -> Scene:
    """A scene with a new tempo every few seconds, halfway between two beats and anywhere in the bar."""
    return {"name": "tempo-changes", "tempo": 120, "seconds": seconds, "changes": [140, 97.3, 187.3, 60.7, 120]}


def scene(name: str, title: str, kind: str = "beat", period: int = 256, rate: int = 48000, **more: object) -> Scene:
    return {"name": name, "title": title, "kind": kind, "period": period, "rate": rate, **more}


def scenes(options: Any) -> list[Scene]:
    if options.endurance:
        seconds = options.endurance * 60
        return [scene("endurance", f"64 frames for {options.endurance:g} minutes", "callback", 64, seconds=seconds)]
    return [s for s in (quick() if options.quick else full()) if s["name"] in options.only]


def quick() -> list[Scene]:
    return [
        scene("self-test", "the method on a click that is known", "exact", offsets=[1000], seconds=2),
        scene("beat", "clicks, jackd, 48 kHz, 256 frames", sections=[steady(187.3, 8), changes(8)]),
        scene("pulse", "pulses between two frames", "pulse", seconds=5),
        scene("callback", "process callback, 64 frames", "callback", 64, seconds=4),
    ]


def full() -> list[Scene]:
    found = [
        scene("self-test", "the method on a click that is known", "exact", offsets=[0, 1000, -3700], seconds=5),
        scene("beat", "clicks, jackd, 48 kHz, 256 frames",
              sections=[steady(60, 20), steady(120, 101), steady(187.3, 20), changes(25)]),
    ]
    for period in (64, 1024):
        found.append(scene("periods", f"clicks, jackd, 48 kHz, {period} frames", period=period,
                           sections=[steady(187.3, 15)]))
    for rate in (44100, 96000):
        found.append(scene("rates", f"clicks, jackd, {rate / 1000:g} kHz, 256 frames", rate=rate,
                           sections=[steady(187.3, 15)]))
    for period in (256, 1024):
        found.append(scene("pipewire", f"clicks, PipeWire, 48 kHz, {period} frames", period=period, pipewire=True,
                           sections=[steady(187.3, 15), changes(10)][:2 if period == 256 else 1]))
    found += [
        scene("clock", "MIDI clock from odd places", "clock"),
        scene("pulse", "pulses between two frames", "pulse", seconds=60),
        scene("swing", "eighths that swing by 60 %", "swing", tempos={"20": 60, "120": 20, "300": 10}),
        scene("callback", "process callback, 64 frames", "callback", 64, seconds=12),
    ]
    return found


def arguments(parser: Parser) -> None:
    parser.add_argument("--only", type=names(NAMES), default=NAMES, metavar="SCENE,...", help=", ".join(NAMES))
    parser.add_argument("--endurance", type=within(0, kind=float), metavar="MIN", help="only this: MIN minutes at 64 frames, xruns counted")
    parser.add_argument("--tactus", metavar="PROGRAM", help="this build of tactus (default: .build/release/tactus, built first)")


def ready(options: Any) -> None:
    shell("need_packages", "ableton-link-utils")
    build.native("callback_time")
    build.listener()
    build.tactus(options.tactus)
    build.lab()


def measure(options: Any) -> tuple[object, bool]:
    return table.play(scenes(options), "bench.audio_scene", options, table.of)
