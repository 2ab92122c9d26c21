# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays Ableton's test plan (Tests/Program/InteropTests/Conformance), each case with both apps on one host and on two, one after the other, and
writes docs/conformance.md from what was done and heard. With FILTER (a regular expression, such as TEMPO-1) only those
cases, with each step, on standard output. Ends with 1 if a case failed. About 15 minutes."""

import contextlib
import datetime
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from . import build, common
from .common import LAB, ROOT, package_list, shell
from .options import Parser

CASES = ([f"TEMPO-{n}" for n in range(1, 6)] + ["BEATTIME-1", "BEATTIME-2", "STARTSTOPSTATE-1", "STARTSTOPSTATE-2",
         "AUDIOENGINE-1", "AUDIOENGINE-2"] + [f"BACKGROUND-{n}" for n in range(1, 6)])

INTRODUCTION = """\
# Conformance

You can play Ableton's test plan for apps that speak Link, 16 cases, with `tools/conformance`. It runs the real program against
Ableton's LinkHut (Debian's build, Link 3.0.6), presses LinkHut's keys, reads its status line, records its sound, and writes this
page. `tools/conformance TEMPO-1` plays one case and prints each of its steps with what was seen and heard. `tools/test` plays the
cases, too ([testing.md](testing.md)).

The plan is for apps with a screen. Here the app plays when JACK's transport rolls; OSC takes the place of its screen; it is in the
foreground while a controller shows it; a connected port takes the place of an Audiobus or IAA session; a route is the chain of
ports to the loudspeaker.

`tools/listen` judges the sound as a third peer, with Ableton's own library. The figures say how far the clicks of the two programs are
apart: the median of a stretch, and its range in brackets. The table has the case's stretch with the largest median; the plan allows
3 ms. If no two of the three agree for a stretch, it is repeated, at most eight times. A case without a figure has other conditions,
such as a number of peers, or clicks that go on without a jump.
"""


Step = list[str]  # the verdict, what was done, what was observed

APART = re.compile(r"ours from LinkHut's: median (\S+) us \((\S+) to (\S+), n=\d+\)")


def verdict(steps: list[Step]) -> str:
    return "FAIL" if not steps or any(step[0] == "FAIL" for step in steps) else "pass"


def cell(steps: list[Step]) -> str:
    """The verdict of a case, and the largest distance between the two programs."""
    apart = [match.groups() for step in steps for match in APART.finditer(step[2])]
    if not apart:
        return verdict(steps)
    median, least, most = max(apart, key=lambda figures: abs(float(figures[0])))
    return f"{verdict(steps)}, {median} us ({least}…{most})"


def page(directory: str, commit: str) -> None:
    """Prints docs/conformance.md from the records of a run
    (Tests/Program/InteropTests/Conformance/CaseRecord.swift)."""
    records: dict[tuple[str, int], tuple[str, list[Step]]] = {}
    for path in pathlib.Path(directory).iterdir():
        case, _, number = path.name.rpartition(".")
        if case in CASES:
            title, *lines = path.read_text().splitlines()
            records[case, int(number)] = title, [line.split("\t") for line in lines]
    all_cases = len(records) == 2 * len(CASES)
    cases = CASES if all_cases else [case for case in CASES if any(key[0] == case for key in records)]
    print(INTRODUCTION)
    for hosts, where in ((1, "on one host"), (2, "across two hosts")):
        passed = sum(verdict(records.get((case, hosts), ("", []))[1]) == "pass" for case in cases)
        print(f"**{passed} of {len(cases)} pass {where}.**  ")
    today, where = datetime.date.today(), common.machine().replace(" in a virtual", ", a virtual")
    print(f"\n{today.day} {today:%B %Y}, commit {commit}, {where}.\n")
    print("| case | what has to be true | one host | two hosts |\n| --- | --- | --- | --- |")
    for case in cases:
        runs = [records.get((case, hosts), ("was not played", [])) for hosts in (1, 2)]
        title = next((title for title, steps in runs if steps), "was not played")
        print(f"| {case} | {title} | {' | '.join(cell(steps) for _, steps in runs)} |")
    for (case, hosts), (_, steps) in sorted(records.items()):
        for _, what, observed in (step for step in steps if step[0] == "FAIL"):
            print(f"\n{case} failed on {hosts} host{'s' if hosts != 1 else ''}: {what}: {observed}")


def print_steps(directory: str) -> None:
    """Prints each step of the played cases that has a verdict, with what was observed."""
    for path in sorted(pathlib.Path(directory).iterdir()):
        case, _, number = path.name.rpartition(".")
        print(f"\n{case}, {number} host{'s' if number != '1' else ''}")
        for step in (line.split("\t") for line in path.read_text().splitlines()[1:]):
            if step[0]:
                print(f"  {step[0]}  {step[1]}: {step[2]}")


def main(words: list[str]) -> int:
    parser = Parser("conformance", __doc__)
    parser.add_argument("filter", metavar="FILTER", nargs="?", default="")
    only = parser.parse_args(words).filter
    shell("need_packages", *package_list("build_packages"), *package_list("peer_packages"))
    build.lab()
    # The folder of the build that tools/test makes.
    products = os.path.join(ROOT, ".build-tests", "release")
    if not common.succeeds(["swift", "build", "--package-path", ROOT, "--scratch-path", os.path.dirname(products), "-c", "release",
                            "-Xswiftc", "-enable-testing", "--build-tests", "--no-color-diagnostics"]):
        common.fail("conformance", "the tests do not build", 1)
    commit = common.git("rev-parse", "--short=12", "HEAD") + (" and changes" if common.git("status", "--porcelain", "--", "Sources") else "")
    with tempfile.TemporaryDirectory() as records:
        environment = {"CONFORMANCE_AT_ONCE": "1", **os.environ, "CONFORMANCE_RECORD": records, "TACTUS_PRODUCTS": products}
        status = subprocess.run(
            ["setpriv", "--pdeathsig", "TERM", LAB, "--no-server", "--grace", "10", "--",
             f"{products}/tactusPackageTests.xctest", "--testing-library", "swift-testing",
             "--filter", f"InteropTests.Conformance/.*{only}"],
            check=False, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode
        if only:
            print_steps(records)
            return status
        with contextlib.redirect_stdout(io.StringIO()) as text:
            page(records, commit)
    pathlib.Path(ROOT, "docs/conformance.md").write_text(text.getvalue())
    print("\n".join(line for line in text.getvalue().splitlines() if " of " in line and " pass" in line))
    return status
