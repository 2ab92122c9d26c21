# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench [--quick] [--only AREA,...] [--out DIR] [--charts DIR]

Every area, one after the other, in about 40 minutes once everything is built: DIR (default: .build/bench) gets AREA.txt,
AREA.json and summary.txt, and --charts the pictures (default: DIR).

  --quick     each area's own --quick: about ten minutes
  --only ...  these areas and their charts"""

import os
import pathlib
import subprocess
import sys
import time

from .. import build, processes
from ..common import ROOT, TOOLS, choices, git, machine, read_words
from . import charts, fuzz_osc, link

# Measurements in microseconds come first, and those that only load the machine last. Some are shorter here
# than alone: rounds of joining, minutes of a bad wire, packets for the fuzzers.
PLAN: dict[str, list[str]] = {
    "link": [], "start": [], "idle": [], "crowd": [], "link-audio": ["--minutes", "1"], "audio": [], "host": [], "osc": [], "page": [], "forgers": [],
    "peers": ["--quick"], "far": ["--minutes", "2"], "fuzz": ["--quick"], "fuzz-osc": ["--quick"]}


def measure(name: str, words: list[str], path: str) -> tuple[str, bool]:
    """The area's text and JSON; a line for the summary, and whether it went well."""
    others = processes.quiet()
    sys.stderr.write(f"bench: {name} ...\n")
    began = time.monotonic()
    with open(path + ".txt", "w") as text:
        status = subprocess.run([os.path.join(TOOLS, "bench"), name, *words, "--json", path + ".json"], check=False,
                                stdin=subprocess.DEVNULL, stdout=text).returncode
    seconds = time.monotonic() - began
    failed = f", FAILED with status {status}" if status else ""
    return f"tools/bench {' '.join([name, *words])}: {seconds:.0f} s{others}{failed}", not status


def main(words: list[str]) -> int:
    options = read_words("bench", __doc__, words, {
        "--quick": False, "--only": None, "--out": os.path.join(ROOT, ".build", "bench"), "--charts": None})
    only = choices("bench", "--only", options.only, list(PLAN))
    os.makedirs(options.out, exist_ok=True)
    # Build now what the areas would otherwise build between two measurements.
    for make in (build.tactus, fuzz_osc.program, link.program, lambda: build.product("link-peer"), build.lab):
        make()
    began, went_well = time.monotonic(), True
    summary = [f"{time.strftime('%d %B %Y', time.gmtime())}, {machine()}, commit {git('rev-parse', '--short', 'HEAD')}"]
    for name, extra in PLAN.items():
        if name in only:
            line, is_well = measure(name, ["--quick"] if options.quick else extra, os.path.join(options.out, name))
            went_well = went_well and is_well
            summary.append(line)
            print(line, flush=True)
    charts.main([options.out, options.charts or options.out])
    summary.append(f"all: {(time.monotonic() - began) / 60:.1f} minutes")
    pathlib.Path(options.out, "summary.txt").write_text("\n".join(summary) + "\n")
    print(f"{summary[-1]}\ntexts and figures: {options.out}")
    return 0 if went_well else 1
