# SPDX-License-Identifier: GPL-2.0-or-later
"""From the records of a run (Tests/Conformance/CaseRecord.swift) to docs/conformance.md, on standard output."""

import datetime
import os
import re
import sys

CASES = ([f"TEMPO-{n}" for n in range(1, 6)] + ["BEATTIME-1", "BEATTIME-2", "STARTSTOPSTATE-1", "STARTSTOPSTATE-2",
         "AUDIOENGINE-1", "AUDIOENGINE-2"] + [f"BACKGROUND-{n}" for n in range(1, 6)])

INTRODUCTION = """\
# Conformance

Ableton publishes a test plan for apps that speak Link: 16 cases, which any app is expected to pass. `tools/conformance` plays
them with the real program against Ableton's LinkHut (Debian's build, Link 3.0.6: its keys are pressed, its status line is
read, its sound is recorded) and writes this page; nothing of it is written by hand. `tools/test` plays them too.

What tactus does is judged by its sound: `tools/listen` records its click beside LinkHut's and, once it has joined the session as
a third peer (Ableton's own library), says how far each is from the beat. Times of two hosts are of one clock, so
both can be compared. "ours from LinkHut's" is the distance of the two sounds, which the plan allows to be 3 ms.

In JACK's terms: the app plays when JACK's transport rolls; its screen is touched by OSC; it is in the foreground while a
controller shows it; a port that is connected is what a place in an Audiobus or IAA session is; a route is the chain of
ports to the loudspeaker. Where a machine is too busy, LinkHut or the reference may themselves be off for seconds: a stretch in
which not two of the three agree is repeated, eight times at most, and then fails.
"""


def read(path):
    with open(path) as file:
        title, *lines = file.read().splitlines()
    return title, [line.split("\t") for line in lines]


def verdict(steps):
    return "FAIL" if not steps or any(step[0] == "FAIL" for step in steps) else "pass"


def machine():
    with open("/proc/cpuinfo") as file:
        text = file.read()
    model = re.search(r"model name\s*: (.*)", text)
    virtual = ", a virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.M) else ""
    return f"{os.cpu_count()} cores of {model.group(1) if model else 'unknown'}{virtual}"


def main():
    directory, commit = sys.argv[1:3]
    records = {}
    for name in os.listdir(directory):
        case, _, hosts = name.rpartition(".")
        if case in CASES:
            records[case, int(hosts)] = read(os.path.join(directory, name))
    cases = [case for case in CASES if any(key[0] == case for key in records)] if len(records) < 2 * len(CASES) else CASES
    print(INTRODUCTION)
    for hosts, where in ((1, "on one host"), (2, "across two hosts")):
        passed = sum(verdict(records.get((case, hosts), ("", []))[1]) == "pass" for case in cases)
        print(f"**{passed} of {len(cases)} pass {where}.**  ")
    today = datetime.date.today()
    print(f"\n{today.day} {today:%B %Y}, commit {commit}, {machine()}.\n")
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


main()
