# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench all: builds first, then waits for a quiet machine before each area, since the areas are about time."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
AREAS = os.path.dirname(HERE)
TOOLS = os.path.dirname(AREAS)
ROOT = os.path.dirname(TOOLS)
sys.path.insert(0, os.path.join(AREAS, "audio.d"))

import table

USAGE = """\
usage: tools/bench [--quick] [--only AREA,...] [--out DIR] [--charts DIR]

Every area, one after the other, in under half an hour once everything is built: DIR (default: .build/bench) gets AREA.txt,
AREA.json and summary.txt, and --charts the pictures (default: DIR).

  --quick     each area's own --quick: about ten minutes
  --only ...  these areas and their charts"""

# What is about microseconds comes first; what only loads the machine, last. Some are shorter here than
# alone: rounds of joining, packets for the fuzzers.
PLAN = [("link", []), ("start", []), ("crowd", []), ("audio", []), ("host", []), ("osc", []),
        ("peers", ["--quick"]), ("fuzz", ["--quick"]), ("fuzz-osc", ["--quick"])]
QUIET, PATIENCE = 0.06, 60.0  # of the machine in use by others, and how many seconds that is waited for


def fail(message):
    sys.stderr.write(f"bench: {message}\n")
    sys.exit(2)


def parse(words):
    options, words = {"quick": False, "only": None, "out": os.path.join(ROOT, ".build", "bench"), "charts": None}, list(words)
    while words:
        flag = words.pop(0)
        if flag in ("-h", "--help"):
            print(USAGE)
            sys.exit(0)
        if flag == "--quick":
            options["quick"] = True
        elif flag in ("--out", "--charts", "--only") and words:
            options[flag[2:]] = words.pop(0)
        else:
            fail(f"{flag}: no such option, or it needs a value. Try 'tools/bench --help'")
    names = [name for name, _ in PLAN]
    options["only"] = options["only"].split(",") if options["only"] else names
    for name in options["only"]:
        if name not in names:
            fail(f"--only {name}: there are {', '.join(names)}")
    return options


def build():
    """What the areas would build between two measurements."""
    release = ["swift", "build", "--package-path", ROOT, "-c", "release", "--quiet"]
    for command in ([*release, "--product", "tactus"], [*release, "--product", "link-peer"], [os.path.join(TOOLS, "listen"), "--build"],
                    [*release, "--product", "tactus", "--static-swift-stdlib", "--scratch-path", os.path.join(ROOT, ".build-static")],
                    [*release, "--product", "tactus", "--sanitize=address", "--scratch-path", os.path.join(ROOT, ".build-address")],
                    ["swift", "build", "-c", "release", "--quiet", "--package-path", os.path.join(AREAS, "link.d"),
                     "--scratch-path", os.path.join(ROOT, ".build-bench-link")],
                    [os.path.join(TOOLS, "lab"), "prepare"]):
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode != 0:
            fail(f"this failed: {' '.join(command)}")


def in_use(seconds=2.0):
    """The part of all processors' time that is not idle."""
    def read():
        with open("/proc/stat") as file:
            values = [int(word) for word in file.readline().split()[1:9]]
        return sum(values), values[3] + values[4]
    (all_before, idle_before), _ = read(), time.sleep(seconds)
    everything, idle = read()
    return 1 - (idle - idle_before) / max(1, everything - all_before)


def quiet():
    end = time.monotonic() + PATIENCE
    while (part := in_use()) > QUIET and time.monotonic() < end:
        pass
    return part


def measure(name, extra, options):
    """The area's text and JSON; a line for the summary, and whether it went well."""
    busy = quiet()
    sys.stderr.write(f"bench: {name} ...\n")
    began = time.monotonic()
    path = os.path.join(options["out"], name)
    words = ["--quick"] if options["quick"] else extra
    with open(path + ".txt", "w") as text:
        done = subprocess.run([os.path.join(AREAS, name), *words, "--json", path + ".json"], stdin=subprocess.DEVNULL, stdout=text)
    seconds = time.monotonic() - began
    noise = f", {100 * busy:.0f} % of the machine in use by others before it" if busy > QUIET else ""
    how = f"tools/bench {' '.join([name, *words])}"
    return f"{how}: {seconds:.0f} s{noise}{'' if done.returncode == 0 else f', FAILED with status {done.returncode}'}", done.returncode == 0


def main():
    options = parse(sys.argv[1:])
    os.makedirs(options["out"], exist_ok=True)
    build()
    began, went_well = time.monotonic(), True
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    summary = [f"{time.strftime('%d %B %Y', time.gmtime())}, {table.machine()}, commit {commit or 'unknown'}"]
    for name, extra in PLAN:
        if name in options["only"]:
            line, is_well = measure(name, extra, options)
            went_well = went_well and is_well
            summary.append(line)
            print(line, flush=True)
    subprocess.run([os.path.join(AREAS, "charts"), options["out"], options["charts"] or options["out"]])
    summary.append(f"all: {(time.monotonic() - began) / 60:.1f} minutes")
    with open(os.path.join(options["out"], "summary.txt"), "w") as file:
        file.write("\n".join(summary) + "\n")
    print(summary[-1])
    print(f"texts and figures: {options['out']}")
    sys.exit(0 if went_well else 1)


main()
