# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/soak: builds what it needs, then plays the evening in a lab of two hosts.

Parts: evening (what happens inside of the lab, second by second), cast (the programs), trouble (commands and faults),
invariants (what must hold), plant.c (faults of ours that must be found); faults (one after another, by name), clocks.c (a
host whose clocks can be set)."""

import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOOLS, "lib"))

import builds

FAULTS = ["interface", "address", "cut", "crash", "stop", "server", "suspend", "clock", "disk",
          "crowd", "strangers", "byes", "broken", "liars", "war"]
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
                    {', '.join(FAULTS[:9])}; somebody hostile: {', '.join(FAULTS[9:])}
  --long            the faults for half a minute each
  --pipewire        on PipeWire's JACK
  --ready           build and install what it needs, and end"""


def fail(message, status=2):
    sys.stderr.write(f"soak: {message}\n")
    sys.exit(status)


class Options:
    hours = None
    seed = None
    tactus = None
    log = None
    plant = None
    fault = None
    calm = plants = ready = hostile = long = pipewire = False


def parse(words):
    options, words = Options(), list(words)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(USAGE)
            sys.exit(0)
        if word in ("--calm", "--plants", "--ready", "--hostile", "--long", "--pipewire"):
            setattr(options, word[2:], True)
        elif word in ("--seed", "--tactus", "--log", "--plant", "--fault"):
            if not words:
                fail(f"{word} needs a value. Try 'tools/soak --help'")
            setattr(options, word[2:], words.pop(0))
        else:
            try:
                options.hours = float(word)
            except ValueError:
                fail(f"{word}: not a number of hours, and no option. Try 'tools/soak --help'")
    if options.seed is not None and not options.seed.isdigit():
        fail("--seed takes a whole number")
    if options.plant is not None and options.plant not in PLANTS:
        fail(f"--plant {options.plant}: there are {', '.join(PLANTS)}")
    options.fault = options.fault.split(",") if options.fault else []
    for fault in options.fault:
        if fault not in FAULTS:
            fail(f"--fault {fault}: there are {', '.join(FAULTS)}")
    if options.hours is None and not (options.plants or options.ready or options.fault):
        fail("how many hours? Try 'tools/soak --help'")
    if options.hours is not None and not 0.002 <= options.hours <= 1000:
        fail("HOURS must be from 0.002 to 1000")
    return options


def preloaded(listen, source):
    name = os.path.basename(source)[:-2] + ".so"
    return builds.beside(listen, name, source, "gcc", "-Wno-unused-parameter", "-shared", "-fPIC", libraries=["-ldl"])


def programs(options):
    """Everything that is built, before a lab closes the network."""
    try:
        listen = builds.listen()
        sources = ["plant.c", "clocks.c", os.path.join(TOOLS, "bench.d", "audio.d", "callback_time.c")]
        libraries = [preloaded(listen, os.path.join(HERE, source)) for source in sources]
        tactus = builds.tactus(options.tactus)
        builds.lab()
    except builds.Failed as failed:
        fail(failed, 1)
    return {"listen": listen, "tactus": tactus,
            **dict(zip(("plant_library", "clocks_library", "callback_library"), libraries))}


def play(options, tools, seconds, seed, plant, log):
    evening = {**tools, "seconds": seconds, "seed": seed, "calm": options.calm, "hostile": options.hostile, "plant": plant,
               "log": log, "faults": options.fault, "long": options.long, "pipewire": options.pipewire}
    command = [os.path.join(TOOLS, "lab"), "--hosts", "2", "--period", "256", *(["--pipewire"] if options.pipewire else []), "--",
               sys.executable, "-I", "-S", os.path.join(HERE, "faults.py" if options.fault else "evening.py"), json.dumps(evening)]
    return subprocess.run(command).returncode


def main():
    options = parse(sys.argv[1:])
    tools = programs(options)
    if options.ready:
        return 0
    seed = int(options.seed) if options.seed is not None else random.SystemRandom().randrange(1, 10**6)
    log = os.path.abspath(options.log or os.path.join(tempfile.gettempdir(), f"tactus-soak-{seed}.log"))
    if not options.plants:
        return play(options, tools, (options.hours or 0.1) * 3600, seed, options.plant, log)
    options.calm, unseen = True, []
    for plant in PLANTS:
        print(f"planted: {plant}", flush=True)
        if play(options, tools, (options.hours or 0.008) * 3600, seed, plant, log) != 1:
            unseen.append(plant)
    print(f"not found: {', '.join(unseen)}" if unseen else f"all {len(PLANTS)} planted faults were found")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
