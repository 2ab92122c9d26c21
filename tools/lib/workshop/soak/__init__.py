# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/soak: builds what it needs, then plays the evening in a lab of two hosts.

Parts: evening (what happens inside of the lab, second by second), cast (the programs), trouble (commands and faults),
invariants (what must hold); faults (one after another, by name). In native: soak_plant (faults of ours
that must be found), clocks (a host whose clocks can be set)."""

import argparse
import json
import os
import random
import subprocess
import tempfile

from .. import build
from ..common import LAB, is_in_lab, module, shell
from ..options import Parser, names, within

FAULTS = ["interface", "outage", "address", "cut", "crash", "stop", "server", "suspend", "clock", "disk",
          "crowd", "strangers", "byes", "broken", "liars", "forgers", "war"]
PLANTS = ["click", "late", "leak", "network", "osc"]

TEXT = """\
A set is played for HOURS: tactus with click and clock, LinkHut and reference peers on a second host, and a listener that is
itself a peer of the reference library. Commands by OSC, tempo changes by everybody, peers that come, go and crash, a
network that loses, is cut and changes addresses, processes that are stopped: all drawn from a seed. Every second is
checked: one click a beat, one clock every 1/24 beat, both in phase, everybody counted, OSC answered, no growth of memory,
descriptors or threads. What breaks ends the run with status 1, the moment, and what went before."""


def read(words: list[str]) -> argparse.Namespace:
    parser = Parser("soak", TEXT)
    known = parser.add_argument
    known("hours", metavar="HOURS", nargs="?", type=within(0.002, 1000, float), help="0.01 is 36 seconds")
    known("--seed", type=within(0), metavar="N", help="the same set again (otherwise drawn, and printed)")
    known("--calm", action="store_true", help="no faults, only music")
    known("--hostile", action="store_true", help="somebody on the wire who floods, forges, lies and wars, most of the time")
    known("--tactus", metavar="PROGRAM", help="this build (default: .build/release/tactus, built first)")
    known("--log", metavar="FILE", help="everything that happened (default: a temporary file, named at the end)")
    known("--plant", choices=PLANTS, help="a fault of ours in tactus' process, which must be found")
    known("--plants", action="store_true", help="each of them in turn: status 0 if all are found")
    known("--fault", type=names(FAULTS), default=[], metavar="NAME,...", dest="faults",
          help=f"no set, but these faults one after another, and after each all is right again, or status 1: {', '.join(FAULTS)}")
    known("--long", action="store_true", help="the faults for half a minute each")
    known("--pipewire", action="store_true", help="on PipeWire's JACK")
    known("--ready", action="store_true", help="build and install what it needs, and end")
    options = parser.parse_args(words)
    if options.hours is None and not (options.plants or options.ready or options.faults):
        parser.error("the number of hours is missing")
    return options


def play(options: argparse.Namespace, tactus: str, hours: float, plant: str | None) -> int:
    plan = {"tactus": tactus, "seconds": (options.hours or hours) * 3600, "plant": plant,
            "plant_library": build.native("soak_plant"),
            **{name: getattr(options, name) for name in ("seed", "calm", "hostile", "log", "faults", "long", "pipewire")}}
    command = [LAB, "--hosts", "2", "--period", "256", *(["--pipewire"] if options.pipewire else []), "--",
               *module("soak.faults" if options.faults else "soak.evening", json.dumps(plan))]
    return subprocess.run(command, check=False).returncode


def main(words: list[str]) -> int:
    options = read(words)
    if not is_in_lab():
        shell("need_packages", "ableton-link-utils", "iproute2", "jackd2", "gcc", "libjack-jackd2-dev")
    # Build everything before a lab closes the network.
    build.listener()
    for name in ("soak_plant", "clocks", "callback_time"):
        build.native(name)
    tactus = build.tactus(options.tactus)
    build.lab()
    if options.ready:
        return 0
    options.seed = random.SystemRandom().randrange(1, 10**6) if options.seed is None else options.seed
    options.log = os.path.abspath(options.log or os.path.join(tempfile.gettempdir(), f"tactus-soak-{options.seed}.log"))
    if not options.plants:
        return play(options, tactus, 0.1, options.plant)
    options.calm, unseen = True, []
    for plant in PLANTS:
        print(f"planted: {plant}", flush=True)
        if play(options, tactus, 0.008, plant) != 1:
            unseen.append(plant)
    print(f"not found: {', '.join(unseen)}" if unseen else f"all {len(PLANTS)} planted faults were found")
    return 1 if unseen else 0
