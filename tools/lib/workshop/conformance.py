# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/conformance [FILTER]

Plays Ableton's test plan (Tests/Conformance), each case with both apps on one host and on two, one after the other, and
writes docs/conformance.md from what was done and heard. With FILTER (a regular expression, such as TEMPO-1) only those
cases, on standard output. Ends with 1 if a case failed. About 15 minutes."""

import contextlib
import datetime
import io
import os
import pathlib
import subprocess
import sys
import tempfile

from . import build, common
from .common import LAB, ROOT, package_list, shell

CASES = ([f"TEMPO-{n}" for n in range(1, 6)] + ["BEATTIME-1", "BEATTIME-2", "STARTSTOPSTATE-1", "STARTSTOPSTATE-2",
         "AUDIOENGINE-1", "AUDIOENGINE-2"] + [f"BACKGROUND-{n}" for n in range(1, 6)])

INTRODUCTION = """\
# Conformance

Ableton publishes a test plan for apps that speak Link: 16 cases, which any app is expected to pass. `tools/conformance` plays
them with the real program against Ableton's LinkHut (Debian's build, Link 3.0.6) and writes this page; nothing of it is written by
hand. It presses LinkHut's keys, reads its status line and records its sound. `tools/test` plays the cases, too.

tactus is judged by its sound: `tools/listen` records its click beside LinkHut's, joins the session as a third peer (with Ableton's
own library), and says how far each click is from the beat. The times of two hosts come from one clock, so they can be
compared. "ours from LinkHut's" is the distance of the two sounds; the plan allows 3 ms.

The plan is for apps with a screen. Here the app plays when JACK's transport rolls; OSC takes the place of its screen; it is in the
foreground while a controller shows it; a connected port takes the place of an Audiobus or IAA session; a route is the chain of
ports to the loudspeaker. On a busy machine LinkHut or the reference may themselves be off for seconds: a stretch in
which no two of the three agree is repeated, at most eight times, and then fails.
"""


Step = list[str]  # the verdict, what was done, what was observed


def verdict(steps: list[Step]) -> str:
    return "FAIL" if not steps or any(step[0] == "FAIL" for step in steps) else "pass"


def page(directory: str, commit: str) -> None:
    """From the records of a run (Tests/Conformance/CaseRecord.swift) to docs/conformance.md."""
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
        title = next((records[key][0] for key in records if key[0] == case), "was not played")
        print(f"## {case}: {title}\n")
        for hosts, where in ((1, "One host"), (2, "Two hosts")):
            if (case, hosts) not in records:
                continue
            steps = records[case, hosts][1]
            print(f"{where}: **{verdict(steps)}**\n\n| step | observed | |\n| --- | --- | --- |")
            for word, what, observed in steps:
                print(f"| {what.replace('|', '/')} | {observed.replace('|', '/')} | {word} |")
            print()


def main(words: list[str]) -> int:
    filters = common.read_words("conformance", __doc__ or "", words, {}).words
    shell("need_packages", *package_list("build_packages"), *package_list("peer_packages"))
    build.lab()
    build.tactus()
    if not common.succeeds(["swift", "build", "--package-path", ROOT, "--build-tests", "--no-color-diagnostics"]):
        common.fail("conformance", "the tests do not build", 1)
    commit = common.git("rev-parse", "--short=12", "HEAD") + (" and changes" if common.git("status", "--porcelain", "--", "Sources") else "")
    with tempfile.TemporaryDirectory() as records:
        environment = {"CONFORMANCE_AT_ONCE": "1", **os.environ, "CONFORMANCE_RECORD": records}
        status = subprocess.run(
            ["setpriv", "--pdeathsig", "TERM", LAB, "--no-server", "--grace", "10", "--", "swift", "test", "--skip-build",
             "--disable-xctest", "--filter", f"ConformanceTests.*{''.join(filters)}"],
            check=False, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode
        with contextlib.redirect_stdout(io.StringIO()) as text:
            page(records, commit)
    if filters:
        print(text.getvalue(), end="")
    else:
        pathlib.Path(ROOT, "docs/conformance.md").write_text(text.getvalue())
        print("\n".join(line for line in text.getvalue().splitlines() if " of " in line and " pass" in line))
    return status
