# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/soak: builds what it needs, then plays the evening in a lab of two hosts.

Parts: evening (what happens inside of the lab, second by second), cast (the programs), trouble (commands and faults), enemy
(somebody hostile), invariants (what must hold); faults (one after another, by name). In native: soak_plant (faults of ours
that must be found), clocks (a host whose clocks can be set)."""

import json
import os
import random
import subprocess
import tempfile
from types import SimpleNamespace

from .. import build
from ..common import LAB, Number, choices, fail, is_in_lab, module, read_words, shell

FAULTS = ["interface", "outage", "address", "cut", "crash", "stop", "server", "suspend", "clock", "disk",
          "crowd", "strangers", "byes", "broken", "liars", "forgers", "war"]
PLANTS = ["click", "clock", "late", "leak", "descriptor", "thread", "network", "osc"]

USAGE = f"""\
usage: tools/soak HOURS [options]      (tools/soak 0.01 is 36 seconds)

A set is played for HOURS: tactus with click and clock, LinkHut and reference peers on a second host, and a listener that is
itself a peer of the reference library. Commands by OSC, tempo changes by everybody, peers that come, go and crash, a
network that loses, is cut and changes addresses, processes that are stopped: all drawn from a seed. Every second is
checked: one click a beat, one clock every 1/24 beat, both in phase, everybody counted, OSC answered, no growth of memory,
descriptors or threads. What breaks ends the run with status 1, the moment, and what went before.

  --seed N          the same set again (otherwise drawn, and printed)
  --calm            no faults, only music
  --hostile         somebody on the wire who floods, forges, lies and wars, most of the time
  --tactus PROGRAM  this build (default: .build/release/tactus, built first)
  --log FILE        everything that happened (default: a file in the directory for temporary files, named at the end)
  --plant NAME      a fault of ours in tactus' process, which must be found: {', '.join(PLANTS)}
  --plants          each of them in turn: status 0 if all are found
  --fault NAME,...  no set, but these faults one after another, and after each all is right again, or status 1:
                    {', '.join(FAULTS[:10])}; somebody hostile: {', '.join(FAULTS[10:])}
  --long            the faults for half a minute each
  --pipewire        on PipeWire's JACK
  --ready           build and install what it needs, and end"""

OPTIONS = {"--calm": False, "--plants": False, "--ready": False, "--hostile": False, "--long": False, "--pipewire": False,
           "--seed": Number(None, 0), "--tactus": None, "--log": None, "--plant": None, "--fault": None}


def read(words: list[str]) -> SimpleNamespace:
    options = read_words("soak", USAGE, words, OPTIONS)
    if options.plant is not None:
        choices("soak", "--plant", options.plant, PLANTS)
    options.faults = choices("soak", "--fault", options.fault, FAULTS) if options.fault else []
    try:
        options.hours = float(options.words[0]) if options.words else None
    except ValueError:
        fail("soak", f"{options.words[0]}: not a number of hours, and no option. Try 'tools/soak --help'")
    if options.hours is None and not (options.plants or options.ready or options.faults):
        fail("soak", "how many hours? Try 'tools/soak --help'")
    if options.hours is not None and not 0.002 <= options.hours <= 1000:
        fail("soak", "HOURS must be from 0.002 to 1000")
    return options


def play(options: SimpleNamespace, tactus: str, hours: float, plant: str | None) -> int:
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
