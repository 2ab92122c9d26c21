# SPDX-License-Identifier: GPL-2.0-or-later
"""Channels of sound from one machine to another, over a virtual wire.

    joins     the time from the choice of a channel to its sound, in milliseconds, with the default delay, and that
              delay
    jack      through tactus and JACK: tactus's click through a sent and a received channel, one beat late, at equal
              sample rates and sent at 44.1 kHz. Compared with the beat, by a fine pulse of the receiving tactus:
              how many clicks are off by more than a frame. Compared with its own clicks, which includes two roundings
              to whole frames. And the default delay there
    cost      of tactus with stereo channels that play clicks in each direction: processor in % of a core, resident
              memory
    silent    the same for tactus with ports for stereo channels that have never sounded and have no cable

The exit status is 1 if a click's median is off by more than a frame, or a join takes more than 0.6 s."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from .. import build, processes
from ..common import LAB, TOOLS, fail
from ..lab.servers import may_run_realtime
from ..options import Parser, names
from ..peers import driver
from .actors import Figures, middle

STAGE = ["--hosts", "2"]
NAMES = ["joins", "jack", "cost", "silent"]
APART = os.path.join(TOOLS, "lib", "workshop", "listening", "apart.py")
Environment = Mapping[str, str]


@contextlib.contextmanager
def peers() -> Iterator[driver.Peer]:
    """Two peers with ideal sound cards, each on a host of its own. The first one sends. Yields the second
    one, which listens."""
    found = [driver.Peer([build.product("link-peer")], host) for host in (1, 2)]
    for number, peer in enumerate(found):
        peer.ask("enable on")
        peer.ask(f"audio P{number}")
    found[0].ask("send metro")
    found[0].ask("wait peers 1")
    yield found[1]
    for peer in found:
        peer.end()


def joins(rounds: int) -> Figures:
    found: list[float] = []
    with peers() as ear:
        for _ in range(rounds):
            found.append(round(ear.ask("take P0/metro")["milliseconds"], 1))
            time.sleep(0.3)
            ear.ask("release")
            time.sleep(0.1)
        ear.ask("take P0/metro")
        time.sleep(5)
        return {"first_sound_ms": found, "default_delay_ms": round(ear.ask("heard")["delay"], 1)}


@contextlib.contextmanager
def machine(host: int, home: str, *options: str, environment: Environment | None = None) -> Iterator[int]:
    """Runs tactus on a host. Yields its process id."""
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
    """Runs another JACK server beside the lab's, with real-time scheduling if the lab's server has it."""
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
    # At 187.3 BPM a beat has 15376.4 frames, so rounding errors do not repeat.
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
        received = json.loads(on_second_host(build.tactus(), "status", "--json"))["audio/received/list"]
    # `received` has the number of channels, then the name, state and delay of the channel. Without a channel,
    # it is only the number 0.
    delay = (received[3] or None) if isinstance(received, list) else None
    by_click = {f"{what}_by_click": found[what] for what in ("median", "least", "most")}
    return {"count": found["count"], **found["beat"], **by_click, "default_delay_ms": delay}


def spent(here: int, seconds: float) -> Figures:
    used = processes.percent(here, lambda: time.sleep(seconds))
    return {"processor_percent": round(used, 2), "resident_MB": round(processes.status(here, "VmRSS") / 1024, 1)}


def cost(count: int, seconds: float, home: str) -> Figures:
    """The cost of the first of two machines that send each other this many channels."""
    sends = ["--link-audio", "--click", *(f"--send=C{number}=tactus:click_1" for number in range(count)), "--receive=*/*"] if count else []
    with machine(1, home, *sends) as here, machine(2, home, *sends):
        time.sleep(6)
        return spent(here, seconds)


def silent(count: int, seconds: float, home: str) -> Figures:
    """The cost of a machine with ports for this many silent channels that have no cables."""
    with machine(1, home, "--link-audio", "--receive=*/*") as here, \
            machine(2, home, "--link-audio", *(f"--send=C{number}" for number in range(count))):
        time.sleep(6 + count / 4)  # two channels at a time are heard, for half a second each
        return spent(here, seconds)


def arguments(parser: Parser) -> None:
    parser.add_argument("--only", type=names(NAMES), default=NAMES, metavar="SCENE,...", help=", ".join(NAMES))


def ready(_: object) -> None:
    build.tactus()
    build.product("link-peer")


def measure(options: Any) -> tuple[object, bool]:
    seconds, figures, held = 5.0 if options.quick else 20.0, dict[str, Figures](), True
    with tempfile.TemporaryDirectory() as home:
        if "joins" in options.only:
            figures["joins"] = joins(5 if options.quick else 30)
            first = figures["joins"]["first_sound_ms"]
            print(f"first sound after {middle(first)} ms, {len(first)} joins; default delay {figures['joins']['default_delay_ms']} ms", flush=True)
            held = max(first) <= 600
        if "jack" in options.only:
            figures["jack"] = {"48 kHz": through_jack(seconds * 1.5, home, {})}
            with server(1, 44100) as there:
                figures["jack"]["44.1 kHz"] = through_jack(seconds * 1.5, home, there)
            held = held and all(found["median"] is not None and abs(found["median"]) <= 1 for found in figures["jack"].values())
        if "cost" in options.only:
            figures["cost"] = {f"{count} channels": cost(count, seconds / 2, home) for count in (0, 1, 8, 32)}
        if "silent" in options.only:
            figures["silent"] = {f"{count} silent channels": silent(count, seconds / 2, home) for count in (0, 32)}
    for name in ("jack", "cost", "silent"):
        for row, found in figures.get(name, {}).items():
            print(f"{name} {row:<19}" + "  ".join(f"{what} {value if value is not None else '-'}" for what, value in found.items()))
    print("holds" if held else "FAILS")
    return figures, held
