# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench crowd: what many peers cost our Link and the reference library. [--quick] [--json FILE]

A second host announces 0 to 250 peers of one session, each four times a second as the reference does; on the first our
Link (link-peer) and the reference library, one after the other, are members of it. The processor time of all of a
program's threads, from the kernel's books, in per cent of one core. About 2 minutes."""

import random
import subprocess
import time
from typing import Any

from .. import build, link, processes
from ..common import LAB, module
from ..peers import driver

MINE, OURS = "10.77.0.2", 10.0
COUNTS = [0, 1, 3, 10, 30, 100, 250]
PAUSE = 0.25  # seconds between two Alives of a peer


def many(count: int) -> None:
    """So many peers of one session, spread over each quarter of a second; each has a timeline that nobody prefers."""
    out, ear = link.mouth(MINE), link.ear(MINE)
    while (packet := ear.recv(2048))[:9] != link.DISCOVERY + bytes([link.ALIVE]):
        pass
    # The entries of the peer that spoke first, apart from the node and its measurement endpoint.
    theirs, dice = link.entries(packet), random.Random(1)
    packets = [link.alive(dice.randbytes(8), theirs[b"sess"], theirs[b"tmln"], link.endpoint(MINE, 9)) for _ in range(count)]
    due = time.monotonic()
    while True:
        for each in packets:
            out.sendto(each, link.GROUP)
            due += PAUSE / count
            time.sleep(max(0, due - time.monotonic()))


def cost(kind: str | list[str], count: int, seconds: float) -> tuple[float, int]:
    """Per cent of a core, and how many peers it counted at the end."""
    peer = driver.Peer(kind)
    peer.ask("enable on")
    crowd = None
    if count:
        crowd = subprocess.Popen([LAB, "on", "2", *module("bench.crowd", str(count))])
        peer.ask(f"wait peers {count} 10", may_refuse=True)
    time.sleep(1)
    percent = processes.percent(peer.pid, lambda: time.sleep(seconds))
    counted = peer.ask("status")["peers"]
    if crowd:
        crowd.kill()
        crowd.wait()
    peer.kill()
    return round(percent, 3), counted


def main(words: list[str]) -> None:
    many(int(words[0]))


def ready(_: object) -> None:
    build.product("link-peer")


def measure(options: Any) -> tuple[object, bool]:
    kinds: dict[str, str | list[str]] = {"ours": [build.product("link-peer")], "reference": "reference"}
    rows: list[dict[str, Any]] = []
    print(f"{'peers':>6} {'our Link, %':>14} {'reference, %':>14}   of one core")
    for count in [0, 10, 100] if options.quick else COUNTS:
        row: dict[str, Any] = {"peers": count}
        for name, kind in kinds.items():
            row[name], row[name + "_counted"] = cost(kind, count, 2 if options.quick else OURS)
        rows.append(row)
        wrong = "".join(f"   {name} counted {row[name + '_counted']}" for name in kinds if row[name + "_counted"] != count)
        print(f"{count:>6} {row['ours']:>14.3f} {row['reference']:>14.3f}{wrong}", flush=True)
    return {"rows": rows}, True
