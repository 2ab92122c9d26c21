# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench audio: builds what it needs, plays each scene in a lab of its own, prints a table.

Parts: plan (which scenes, how long), scene (what happens inside of a lab), table (words and figures)."""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOOLS, "lib")]

import builds
import plan
import table

USAGE = """\
usage: tools/bench audio [options]

What tactus and LinkHut play, judged in the same run by tools/listen: clicks against the beat of the reference Link
library, MIDI clock, process callback times. About 9 minutes.

  --quick          less of everything, under a minute
  --only NAMES     some scenes: %s
  --json FILE      all figures, with a list of every beat, as JSON ("-": standard output instead of the table)
  --tactus PROGRAM this build of tactus (default: .build/release/tactus, built first)
  --without-tactus LinkHut alone: does the method find what is known of it?
  --endurance MIN  only this: MIN minutes at 64 frames, xruns counted
docs/benchmarks.md says how it measures and what its own error is."""


def fail(message, status=2):
    sys.stderr.write(f"bench audio: {message}\n")
    sys.exit(status)


class Options:
    quick = False
    only = None
    json = None
    tactus = None
    without = False
    endurance = 0.0


def parse(words):
    options = Options()
    words = list(words)
    while words:
        flag = words.pop(0)
        if flag in ("-h", "--help"):
            print(USAGE % ", ".join(plan.NAMES))
            sys.exit(0)
        elif flag == "--quick":
            options.quick = True
        elif flag == "--without-tactus":
            options.without = True
        elif flag in ("--only", "--json", "--tactus", "--endurance"):
            if not words:
                fail(f"{flag} needs a value. Try 'tools/bench audio --help'")
            value = words.pop(0)
            if flag == "--only":
                options.only = value.split(",")
                unknown = [name for name in options.only if name not in plan.NAMES]
                if unknown:
                    fail(f"--only {unknown[0]}: there are {', '.join(plan.NAMES)}")
            elif flag == "--json":
                options.json = value
            elif flag == "--tactus":
                options.tactus = value
            else:
                try:
                    options.endurance = float(value)
                except ValueError:
                    fail("--endurance needs a number of minutes")
        else:
            fail(f"{flag}: no such option. Try 'tools/bench audio --help'")
    return options


def programs(options):
    """Everything that is built, before a lab closes the network."""
    try:
        listen = builds.listen()
        timer = builds.beside(listen, "callback_time.so", os.path.join(HERE, "callback_time.c"), "gcc", "-shared", "-fPIC",
                              libraries=["-ldl"])
        least = builds.beside(listen, "least", os.path.join(HERE, "least.c"), "gcc", libraries=["-ljack"])
        tactus = None if options.without else builds.tactus(options.tactus)
        builds.lab()
    except builds.Failed as failed:
        fail(failed, 1)
    return {"listen": listen, "timer": timer, "least": least, "tactus": tactus}


def play(scene, tools):
    """One scene in a lab of its own: the JSON lines that it prints."""
    command = [os.path.join(TOOLS, "lab"), "--period", str(scene["period"]), "--rate", str(scene["rate"])]
    if scene.get("pipewire"):
        command.append("--pipewire")
    if not scene.get("realtime", True):
        command.append("--no-realtime")
    command += ["--", "/usr/bin/python3", "-I", "-S", os.path.join(HERE, "scene.py"), json.dumps({**scene, **tools})]
    began = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in done.stdout.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            sys.stderr.write(line + "\n")
    return {"scene": scene, "seconds": round(time.monotonic() - began, 1), "status": done.returncode, "lines": lines}


def main():
    options = parse(sys.argv[1:])
    tools = programs(options)
    scenes = plan.scenes(options)
    results, failed = [], False
    for scene in scenes:
        sys.stderr.write(f"{scene['title']} ...\n")
        result = play(scene, tools)
        results.append(result)
        failed = failed or result["status"] != 0
        if options.json != "-":
            print(table.of(result), flush=True)
    if options.json:
        text = json.dumps({"machine": table.machine(), "results": results}, indent=1)
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w") as file:
                file.write(text + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
