# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench peers: a lab per scene, in it scene.py; then the table."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(os.path.dirname(os.path.dirname(HERE)), "lab")

# name, options of the lab, host of the joiners, rounds, rounds with --quick, seconds to wait for a joiner
SCENES = [
    ("one host", ["--hosts", "1"], 1, 20, 5, 30),
    ("two hosts", ["--hosts", "2"], 2, 20, 5, 30),
    ("two hosts, 2 ms and 0 to 4 ms more", ["--hosts", "2", "--wire", "delay=2ms jitter=4ms"], 2, 20, 5, 30),
    ("two hosts, 5 % lost each way", ["--hosts", "2", "--wire", "loss=5% seed=11"], 2, 10, 3, 30),
    ("two hosts, 10 % lost each way", ["--hosts", "2", "--wire", "loss=10% seed=11"], 2, 6, 2, 30),
]


def median(values):
    values = sorted(values)
    if not values:
        return float("nan")
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def range_of(values, unit):
    if not values:
        return "-"
    return f"{median(values):8.1f} {unit}  ({min(values):.1f} to {max(values):.1f})"


def main():
    peer, words = sys.argv[1], sys.argv[2:]
    target = words[words.index("--json") + 1] if "--json" in words[:-1] else None
    results = []
    for name, options, host, rounds, few, patience in SCENES:
        count = few if "--quick" in words else rounds
        done = subprocess.run(
            [LAB, "--no-server", *options, "--", "/usr/bin/python3", "-I", "-S", os.path.join(HERE, "scene.py"), peer,
             str(host), str(count), str(patience)], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.stderr.write(f"bench peers: {name}: ended with {done.returncode}\n")
            sys.exit(1)
        scene = dict(json.loads(done.stdout), name=name)
        results.append(scene)
        if target != "-":
            print(f"{name}: {count} rounds")
            for who in ("ours", "reference"):
                joins, errors, late = (scene[who][key] for key in ("join_ms", "error_us", "not_joined"))
                given_up = f", {late} not within {patience} s" if late else ""
                print(f"  {who:<10} joined after {range_of(joins, 'ms')}{given_up}")
                print(f"  {'':<10} beat off by   {range_of([abs(error) for error in errors], 'us')}", flush=True)
    if target:
        text = json.dumps(results, indent=1) + "\n"
        if target == "-":
            sys.stdout.write(text)
        else:
            with open(target, "w") as file:
                file.write(text)


main()
