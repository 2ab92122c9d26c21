# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench link-audio [-h] [--quick] [--json FILE]

tools/bench link-audio: channels of sound from one machine to another, over a virtual wire.

    joins     how long it takes from taking a channel to its sound, in milliseconds, with the default delay
    places    a pulse on every beat, heard in the other machine, against the beat and the chosen delay, in frames: at equal rates,
              at 44.1 kHz, with cards that differ by 100 ppm, at 1 % loss and with 30 ms of jitter
    jack      the same through tactus and JACK: tactus's click through a sent and a received channel, one beat late, against its
              own click over there; both lie on whole frames
    cost      of tactus with so many stereo channels in each direction: processor in % of a core, resident memory

options:
  -h, --help   show this help message and exit
  --quick      fewer joins, shorter stretches
  --json FILE"""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from .. import build, processes
from ..common import LAB, TOOLS, fail
from ..peers import driver
from .actors import Figures

WIRES = {"wired": "", "44.1 kHz": "", "100 ppm": "", "1 % loss": "loss=1%", "30 ms of jitter": "jitter=30ms"}
CARDS = {"44.1 kHz": "44100", "100 ppm": "48000 100"}
APART = os.path.join(TOOLS, "lib", "workshop", "listening", "apart.py")


def wire(settings: str) -> None:
    for words in (["clear"], settings.split()):
        if words:
            subprocess.run([LAB, "wire", *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def pair(card: str = "48000") -> Iterator[tuple[driver.Peer, driver.Peer]]:
    """Two of our peers: one sends, the other has an ear."""
    peers = [driver.Peer([build.product("link-peer")], host) for host in (1, 2)]
    for peer, words in zip(peers, ("audio Rack", f"audio Ear {card}"), strict=True):
        peer.ask("enable on")
        peer.ask(words)
    peers[0].ask("send metro")
    peers[0].ask("wait peers 1")
    yield peers[0], peers[1]
    for peer in peers:
        peer.end()


def joins(rounds: int) -> Figures:
    found: list[float] = []
    with pair() as (_, ear):
        for _ in range(rounds):
            found.append(round(ear.ask("take Rack/metro")["milliseconds"], 1))
            time.sleep(0.3)
            ear.ask("release")
            time.sleep(0.1)
        ear.ask("take Rack/metro")
        time.sleep(5)
        delay = ear.ask("heard")["delay"]
    return {"first_sound_ms": found, "default_delay_ms": round(delay, 1)}


def places(name: str, seconds: float) -> Figures:
    with pair(CARDS.get(name, "48000")) as (_, ear):
        ear.ask("take Rack/metro 50")
        time.sleep(3)
        wire(WIRES[name])
        before = ear.ask("heard")
        time.sleep(seconds)
        after = ear.ask("heard")
        wire("")
    figures = {what: after.get(what) for what in ("pulses", "median", "least", "most")}
    return figures | {what: after[what] - before[what] for what in ("lost", "late", "concealed", "dropouts")}


@contextlib.contextmanager
def machine(host: int, home: str, *options: str) -> Iterator[int]:
    """tactus on a host; its process."""
    said = os.path.join(home, f"said-{host}")
    command = f'echo $$ > "$0" && exec "$@" > {said}.out 2>&1'
    process = subprocess.Popen([LAB, "on", str(host), "sh", "-c", command, said, build.tactus(), "--no-tui", "--link-audio", *options],
                               env=driver.without_choices(home))
    time.sleep(3)
    with open(said) as file:
        yield int(file.read())
    process.terminate()
    driver.ended(process)


def through_jack(seconds: float, home: str) -> Figures:
    with machine(1, home, "--click", "--click-pattern=x", "--send=Click=tactus:click_1"), \
            machine(2, home, "--click", "--click-pattern=x", "--link-audio-delay=1beat", "--receive=*/Click"):
        time.sleep(8)
        ports = subprocess.run([LAB, "on", "2", "jack_lsp", "Click_l"], check=True, capture_output=True, text=True).stdout.split()
        if not ports:
            fail("bench link-audio", "the channel did not come", 1)
        heard = subprocess.run([LAB, "on", "2", "/usr/bin/python3", APART, str(seconds), "tactus:click_1", ports[0]], check=True,
                               capture_output=True, text=True).stdout
    found: Figures = json.loads(heard)
    return found


def cost(count: int, seconds: float, home: str) -> Figures:
    sends = [f"--send=C{number}" for number in range(count)]
    with machine(1, home, *sends, "--receive=*/*") as here, machine(2, home, *sends, "--receive=*/*"):
        time.sleep(6)
        used = processes.percent(here, lambda: time.sleep(seconds))
        memory = processes.status(here, "VmRSS") / 1024
    return {"processor_percent": round(used, 2), "resident_MB": round(memory, 1)}


def ready(_: object) -> None:
    build.tactus()
    build.product("link-peer")


def measure(options: Any) -> tuple[object, bool]:
    seconds = 5.0 if options.quick else 30.0
    figures: Figures = {"joins": joins(5 if options.quick else 30)}
    first = figures["joins"]["first_sound_ms"]
    print(f"first sound after {median(first):.0f} ms ({min(first):.0f}...{max(first):.0f}, {len(first)} joins), "
          f"default delay {figures['joins']['default_delay_ms']} ms")
    figures["places"] = {name: places(name, seconds) for name in WIRES}
    for name, found in figures["places"].items():
        print(f"{name:<16}" + "  ".join(f"{what} {round(value, 3) if value is not None else '-'}" for what, value in found.items()))
    with tempfile.TemporaryDirectory() as home:
        figures["jack"] = through_jack(seconds, home)
        print("through JACK    " + "  ".join(f"{what} {value}" for what, value in figures["jack"].items()))
        figures["cost"] = {count: cost(count, seconds / 2, home) for count in (1, 8, 32)}
    for count, found in figures["cost"].items():
        print(f"{count:>2} each way     {found['processor_percent']} % of a core, {found['resident_MB']} MB")
    held = max(first) <= 600 and all(found["median"] is not None and abs(found["median"]) <= 1 for found in
                                     [*figures["places"].values(), figures["jack"]])
    print("holds" if held else "FAILS")
    return figures, held
