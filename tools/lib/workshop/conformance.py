# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays Ableton's test plan (Tests/Program/InteropTests/Conformance), each case with both apps on one host and on two, one after the other, and
writes docs/conformance.md from what was done and heard. With FILTER (a regular expression, such as TEMPO-1) only those
cases, on standard output. Ends with 1 if a case failed. About 15 minutes."""

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
page. `tools/test` plays the cases, too ([testing.md](testing.md)).

The plan is for apps with a screen. Here the app plays when JACK's transport rolls; OSC takes the place of its screen; it is in the
foreground while a controller shows it; a connected port takes the place of an Audiobus or IAA session; a route is the chain of
ports to the loudspeaker. The tables leave out steps at which nothing has to be seen, such as "Open LinkHut".

`tools/listen` judges the sound as a third peer, with Ableton's own library. The tables give the median distance of each program's
clicks from that peer's beat, and how far the two programs are apart, with the range in brackets; the plan allows 3 ms. If no two of
the three agree for a stretch, it is repeated, at most eight times.
"""


Step = list[str]  # the verdict, what was done, what was observed

# The long words of CaseRecord's observations, and the short ones of the tables.
SHORTER = (
    (r"; from the reference beat: ours median (\S+) us \([^)]*\), LinkHut's median (\S+) us \([^)]*\); ours from LinkHut's: median",
     r": ours \1, LinkHut's \2, apart"),
    (r"; from the reference beat: ours median", r": ours"),
    (r"ours from LinkHut's: median", r"apart"),
    (r"; from one line: median", r"; from one line"),
    (r"last four from the first four", r"at the end"),
    (r" heard\b", r""),
    (r" us \((\S+) to (\S+), n=(\d+)\)", r" us (\1…\2)"),
)


def verdict(steps: list[Step]) -> str:
    return "FAIL" if not steps or any(step[0] == "FAIL" for step in steps) else "pass"


def cell(step: Step, row: str) -> str:
    """The text of an observation. The step is added if the row has another step, and the verdict if it is
    not "pass"."""
    word, what, observed = step
    for long, short in SHORTER:
        observed = re.sub(long, short, observed)
    return ("**FAIL** " if word == "FAIL" else "") + (f"{what}: " if what != row else "") + observed


def table(runs: dict[int, list[Step]]) -> str:
    """A table with a row for each step of the longest run that had something to observe, and a column for
    each number of hosts."""
    places = {1: "one host", 2: "two hosts"}
    head = " | ".join(f"{places[hosts]}: {verdict(runs[hosts])}" for hosts in runs)
    text = f"| step | {head} |\n| ---{' | ---' * len(runs)} |\n"
    longest: list[Step] = max(runs.values(), key=len)
    for number, (word, row, _) in enumerate(longest):
        if not word:
            continue
        cells = [cell(steps[number], row) if number < len(steps) else "" for steps in runs.values()]
        if len(cells) == 2 and cells[0] == cells[1]:
            cells[1] = "same"
        text += "| " + " | ".join(part.replace("|", "/") for part in [row, *cells]) + " |\n"
    return text


def page(directory: str, commit: str) -> None:
    """Writes docs/conformance.md from the records of a run
    (Tests/Program/InteropTests/Conformance/CaseRecord.swift)."""
    records: dict[tuple[str, int], tuple[str, list[Step]]] = {}
    for path in pathlib.Path(directory).iterdir():
        case, _, number = path.name.rpartition(".")
        if case in CASES:
            title, *lines = path.read_text().splitlines()
            records[case, int(number)] = title, [line.split("\t") for line in lines]
    cases = [case for case in CASES if any(key[0] == case for key in records)] if len(records) < 2 * len(CASES) else CASES
    print(INTRODUCTION)
    for hosts, where in ((1, "on one host"), (2, "across two hosts")):
        passed = sum(verdict(records.get((case, hosts), ("", []))[1]) == "pass" for case in cases)
        print(f"**{passed} of {len(cases)} pass {where}.**  ")
    today, where = datetime.date.today(), common.machine().replace(" in a virtual", ", a virtual")
    print(f"\n{today.day} {today:%B %Y}, commit {commit}, {where}.\n")
    for case in cases:
        runs = {hosts: records[case, hosts] for hosts in (1, 2) if (case, hosts) in records}
        title = next((title for title, _ in runs.values()), "was not played")
        print(f"## {case}: {title}\n")
        if runs:
            print(table({hosts: steps for hosts, (_, steps) in runs.items()}))


def main(words: list[str]) -> int:
    parser = Parser("conformance", __doc__)
    parser.add_argument("filter", metavar="FILTER", nargs="?", default="")
    only = parser.parse_args(words).filter
    shell("need_packages", *package_list("build_packages"), *package_list("peer_packages"))
    build.lab()
    # The build that tools/test makes.
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
        with contextlib.redirect_stdout(io.StringIO()) as text:
            page(records, commit)
    if only:
        print(text.getvalue(), end="")
    else:
        pathlib.Path(ROOT, "docs/conformance.md").write_text(text.getvalue())
        print("\n".join(line for line in text.getvalue().splitlines() if " of " in line and " pass" in line))
    return status
