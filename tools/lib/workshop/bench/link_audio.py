# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench link-audio [-h] [--quick] [--only SCENES] [--minutes MIN] [--json FILE]

tools/bench link-audio: channels of sound from one machine to another, over a virtual wire. About 18 minutes.

    joins     how long it takes from taking a channel to its sound, in milliseconds, with the default delay, and that delay
    places    a pulse on every beat, heard in the other machine, against the beat and the chosen delay, in frames: at equal rates,
              at 44.1 kHz, with cards that differ by 100 ppm, with 30 ms of jitter; and before, in and after a stretch of 1 % loss
    tone      1 kHz, nearly full scale, sent at 44.1 kHz and played at 48: signal to noise in dB, the 16 bits of the wire included, of
              a tenth of a second and of the whole, in which the sender's clock is followed
    jack      through tactus and JACK: tactus's click through a sent and a received channel, one beat late, at equal rates and
              sent at 44.1 kHz: against the beat, by a fine pulse of the tactus over there; how many of them are beyond a frame; and
              against its own clicks, where two roundings to whole frames are in it. And the default delay there
    jitter    MIN minutes with 30 ms of jitter, one listener with 50 ms of delay and one with the default: gaps and pulses
    cost      of tactus with so many stereo channels in each direction: processor in % of a core, resident memory
    callback  its process callback with none and with 8 stereo channels in each direction, in microseconds

options:
  -h, --help    show this help message and exit
  --quick       fewer joins, shorter stretches
  --only ...    these scenes; --json keeps what the file has of others
  --minutes MIN of jitter (10)
  --json FILE"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import numpy

from .. import build, processes
from ..common import LAB, TOOLS, choices, fail
from ..lab.servers import may_run_realtime
from ..peers import driver
from . import actors
from .actors import Figures

NAMES = ["joins", "places", "tone", "jack", "jitter", "cost", "callback"]
PLACES = {"wired": ("", ""), "44.1 kHz": ("44100", ""), "100 ppm": ("48000 100", ""), "30 ms of jitter": ("48000", "jitter=30ms")}
LOSSES = ("lost", "late", "concealed", "dropouts")
APART = os.path.join(TOOLS, "lib", "workshop", "listening", "apart.py")
Environment = Mapping[str, str]


def wire(settings: str) -> None:
    for words in (["clear"], settings.split()):
        if words:
            subprocess.run([LAB, "wire", *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def peers(*cards: str) -> Iterator[list[driver.Peer]]:
    """Peers of ours on hosts of their own, each with a card: the first sends, the others have an ear."""
    found = [driver.Peer([build.product("link-peer")], host) for host in range(1, len(cards) + 1)]
    for number, (peer, card) in enumerate(zip(found, cards, strict=True)):
        peer.ask("enable on")
        peer.ask(f"audio P{number} {card}")
    found[0].ask("send metro")
    found[0].ask(f"wait peers {len(cards) - 1}")
    yield found
    for peer in found:
        peer.end()


def stretch(ear: driver.Peer, seconds: float) -> Figures:
    """What an ear hears meanwhile."""
    before = ear.ask("heard")
    time.sleep(seconds)
    after = ear.ask("heard")
    places = {what: round(after[what], 3) if what in after else None for what in ("median", "least", "most")}
    return {"pulses": after["pulses"], **places, "delay": round(after["delay"], 1),
            **{what: after[what] - before[what] for what in LOSSES}}


def joins(rounds: int) -> Figures:
    found: list[float] = []
    with peers("", "") as (_, ear):
        for _ in range(rounds):
            found.append(round(ear.ask("take P0/metro")["milliseconds"], 1))
            time.sleep(0.3)
            ear.ask("release")
            time.sleep(0.1)
        ear.ask("take P0/metro")
        time.sleep(5)
        return {"first_sound_ms": found, "default_delay_ms": round(ear.ask("heard")["delay"], 1)}


def places(seconds: float) -> Figures:
    found: Figures = {}
    for name, (card, settings) in PLACES.items():
        with peers("", card) as (_, ear):
            wire(settings)
            ear.ask("take P0/metro 50")
            time.sleep(3)
            found[name] = stretch(ear, seconds)
            wire("")
    with peers("", "") as (_, ear):
        ear.ask("take P0/metro 50")
        time.sleep(3)
        for name, settings in (("before 1 % loss", ""), ("in 1 % loss", "loss=1%"), ("after 1 % loss", "")):
            wire(settings)
            found[name] = stretch(ear, seconds)
    return found


def tone(seconds: float, home: str) -> Figures:
    with peers("44100", "48000") as (sender, ear):
        sender.ask("tone")
        ear.ask("take P0/metro 50")
        time.sleep(20)
        path = os.path.join(home, "tone")
        ear.ask(f"record {path} {seconds}")
    samples = numpy.fromfile(path, "f4").astype("f8")
    cycles, window = 1000 / 48000, 4800
    parts = [signal_to_noise(samples[first:first + window], cycles) for first in range(0, len(samples) - window, window)]
    return {"decibels": round(median(parts), 1), "whole": round(signal_to_noise(samples, cycles), 1)}


def signal_to_noise(samples: Any, cycles: float) -> float:
    """Of what is left without the tone that is in it, whose pitch is found, too (four parameters, as IEEE 1057 has it)."""
    place = numpy.arange(len(samples)) - len(samples) / 2
    for _ in range(6):
        angle = 2 * numpy.pi * cycles * place
        sine, cosine = numpy.sin(angle), numpy.cos(angle)
        columns = [sine, cosine, numpy.ones_like(sine)]
        (a, b, _), *_ = numpy.linalg.lstsq(numpy.column_stack(columns), samples, rcond=None)
        columns.append(2 * numpy.pi * place * (a * cosine - b * sine))
        (a, b, constant, change), *_ = numpy.linalg.lstsq(numpy.column_stack(columns), samples, rcond=None)
        cycles += change
    rest = samples - a * sine - b * cosine - constant - change * columns[3]
    return float(10 * numpy.log10((a * a + b * b) / 2 / numpy.mean(rest * rest)))


@contextlib.contextmanager
def machine(host: int, home: str, *options: str, environment: Environment | None = None) -> Iterator[int]:
    """tactus on a host; its process."""
    said = os.path.join(home, f"said-{host}")
    command = f'echo $$ > "$0" && exec "$@" > {said}.out 2>&1'
    process = subprocess.Popen([LAB, "on", str(host), "env", *(f"{name}={value}" for name, value in (environment or {}).items()),
                                "sh", "-c", command, said, build.tactus(), "--no-tui", *options], env=driver.without_choices(home))
    time.sleep(3)
    yield int(pathlib.Path(said).read_text())
    process.terminate()
    driver.ended(process)


@contextlib.contextmanager
def server(host: int, rate: int) -> Iterator[Environment]:
    """Another JACK server beside the lab's, with real-time scheduling if that has it."""
    scheduling = ["--realtime", "--realtime-priority", "10"] if may_run_realtime() else ["--no-realtime"]
    name = f"at-{rate}"
    running = subprocess.Popen([LAB, "on", str(host), "jackd", *scheduling, "--name", name, "-d", "dummy", "--rate", str(rate),
                                "--period", "256"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    yield {"JACK_DEFAULT_SERVER": name}
    running.terminate()
    driver.ended(running)


def on_second_host(*command: str) -> str:
    return subprocess.run([LAB, "on", "2", *command], check=True, capture_output=True, text=True).stdout


def through_jack(seconds: float, home: str, there: Environment) -> Figures:
    # A beat of 15376.4 frames, so that rounding errors do not repeat.
    click = ("--link-audio", "--click", "--click-pattern=x", "--tempo=187.3")
    with machine(1, home, *click, "--send=Click=tactus:click_1", environment=there), \
            machine(2, home, *click, "--link-audio-delay=1beat", "--receive=*/Click", "--out=beat=pulse fine=yes"):
        time.sleep(8)
        ports = on_second_host("jack_lsp", "Click_l").split()
        if not ports:
            fail("bench link-audio", "the channel did not come", 1)
        found: Figures = json.loads(on_second_host("/usr/bin/python3", APART, str(seconds), "tactus:click_1", ports[0], "tactus:beat"))
        on_second_host(build.tactus(), "send", "link/audio/delay", "auto")
        time.sleep(5)
        received = json.loads(on_second_host(build.tactus(), "status", "--json"))["audio/received"]
    delay = re.search(r"([0-9.]+) ms", str(received))
    by_click = {f"{what}_by_click": found[what] for what in ("median", "least", "most")}
    return {"count": found["count"], **found["beat"], **by_click, "default_delay_ms": float(delay[1]) if delay else None}


def jitter(minutes: float) -> Figures:
    with peers("", "", "") as (_, fixed, auto):
        fixed.ask("take P0/metro 50")
        auto.ask("take P0/metro")
        wire("jitter=30ms")
        time.sleep(5)
        auto.ask("heard")
        before = auto.ask("heard")
        found = {"minutes": minutes, "50 ms": stretch(fixed, minutes * 60)}
        after = auto.ask("heard")
        wire("")
    return found | {"auto": {"delay": round(after["delay"], 1), **{what: after[what] - before[what] for what in LOSSES}}}


@contextlib.contextmanager
def crowd(count: int, home: str, environment: Environment | None = None) -> Iterator[int]:
    """Two machines that send each other so many channels; the process of the first."""
    sends = ["--link-audio", *(f"--send=C{number}" for number in range(count)), "--receive=*/*"] if count else []
    with machine(1, home, *sends, environment=environment) as here, machine(2, home, *sends):
        time.sleep(6)
        yield here


def cost(count: int, seconds: float, home: str) -> Figures:
    with crowd(count, home) as here:
        used = processes.percent(here, lambda: time.sleep(seconds))
        return {"processor_percent": round(used, 2), "resident_MB": round(processes.status(here, "VmRSS") / 1024, 1)}


def callback(count: int, seconds: float, home: str) -> Figures:
    timed = {name: value for name, value in actors.timed().items() if name in ("LD_PRELOAD", "CALLBACK_TIME")}
    with crowd(count, home, timed) as here:
        times = actors.Times(here)
        time.sleep(seconds)
        return times.figures()


def ready(options: Any) -> None:
    choices("bench link-audio", "--only", options.only, NAMES)
    build.tactus()
    build.product("link-peer")
    build.native("callback_time")


def line(name: object, found: Figures) -> None:
    print(f"{name:<16}" + "  ".join(f"{what} {value if value is not None else '-'}" for what, value in found.items()), flush=True)


def measure(options: Any) -> tuple[object, bool]:
    only = choices("bench link-audio", "--only", options.only, NAMES)
    seconds = 5.0 if options.quick else 20.0
    kept = options.only and options.json and os.path.exists(options.json)
    figures: Figures = json.loads(pathlib.Path(options.json).read_text()) if kept else {}
    with tempfile.TemporaryDirectory() as home:
        for name in only:
            if name == "joins":
                figures[name] = joins(5 if options.quick else 30)
            elif name == "places":
                figures[name] = places(seconds / 2)
            elif name == "tone":
                figures[name] = tone(seconds / 4, home)
            elif name == "jack":
                figures[name] = {"48 kHz": through_jack(seconds * 1.5, home, {})}
                with server(1, 44100) as there:
                    figures[name]["44.1 kHz"] = through_jack(seconds * 1.5, home, there)
            elif name == "jitter":
                figures[name] = jitter(0.2 if options.quick else options.minutes)
            elif name == "cost":
                figures[name] = {str(count): cost(count, seconds / 2, home) for count in (0, 1, 8, 32)}
            else:
                figures[name] = {str(count): callback(count, seconds / 2, home) for count in (0, 8)}
            tell(name, figures[name])
    held = holds(figures)
    print("holds" if held else "FAILS")
    return figures, held


def tell(name: str, found: Figures) -> None:
    if name == "joins":
        first = found["first_sound_ms"]
        print(f"first sound after {median(first):.0f} ms ({min(first):.0f}...{max(first):.0f}, {len(first)} joins), "
              f"default delay {found['default_delay_ms']} ms", flush=True)
    elif name == "tone":
        print(f"1 kHz, 44.1 to 48 kHz: {found['decibels']} dB, over all of it {found['whole']} dB", flush=True)
    else:
        for row, figures in found.items():
            line(f"{name} {row}" if name != "places" else row, figures if isinstance(figures, dict) else {"": figures})


def holds(figures: Figures) -> bool:
    """What docs/benchmarks.md claims, of what was measured."""
    medians = [found["median"] for name in ("places", "jack") for found in figures.get(name, {}).values()]
    gaps = figures.get("jitter", {}).get("50 ms", {}).get("dropouts", 0)
    return (max(figures.get("joins", {}).get("first_sound_ms", [0])) <= 600 and figures.get("tone", {}).get("decibels", 90) >= 90
            and gaps == 0 and all(found is not None and abs(found) <= 1 for found in medians))
