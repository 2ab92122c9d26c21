# SPDX-License-Identifier: GPL-2.0-or-later
"""One scene of tools/bench peers, inside of its lab: scene.py LINK-PEER HOST ROUNDS SECONDS, figures as JSON."""

import json
import os
import subprocess
import sys

LAB = os.environ["LAB"]
TEMPO, QUANTUM = 120, 4


class Peer:
    def __init__(self, host, command):
        self.process = subprocess.Popen(
            [LAB, "on", str(host), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line, may_refuse=False):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer["ok"] and not may_refuse:
            raise SystemExit(f"{line}: {answer}")
        return answer


def distance(a, b):
    """Of two phases, the short way round, in microseconds."""
    return ((a - b + QUANTUM / 2) % QUANTUM - QUANTUM / 2) * 60e6 / TEMPO


def main():
    ours, host, rounds, patience = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    founder = Peer(1, [LAB, "peer", "reference"])
    peers = {"ours": Peer(host, [ours]), "reference": Peer(host, [LAB, "peer", "reference"])}
    figures = {name: {"join_ms": [], "error_us": [], "not_joined": 0} for name in peers}
    founder.ask("enable on")
    for turn in range(rounds):
        # One joiner at a time, so that each meets the same: one older peer.
        for name in sorted(peers, reverse=turn % 2 == 1):
            peer = peers[name]
            # The founder's session must be the older one by far more than the half second that the rule asks for.
            subprocess.run(["sleep", "0.7"])
            peer.ask("enable on")
            answer = peer.ask(f"wait peers 1 {patience}", may_refuse=True)
            if answer["ok"]:
                figures[name]["join_ms"].append(answer["waited"] * 1000)
                instant = founder.ask("clock")["time"]
                phases = [each.ask(f"beat {instant}")["phase"] for each in (peer, founder)]
                figures[name]["error_us"].append(distance(*phases))
            else:
                figures[name]["not_joined"] += 1
            peer.ask("enable off")
            # The goodbye may be lost like everything else; silence is noticed after five seconds and more.
            founder.ask("wait peers 0 20")
    print(json.dumps(figures))


main()
