# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench peers: joining and agreement beside the reference library, on good wires and bad.
usage: tools/bench peers [--quick] [--channels N] [--json FILE]

Our Link and the reference library (PyPI) as two programs that join a reference peer's session, in turn and in the
same run: how long from being enabled until the other is seen, and how far the beat is then from the founder's. On
one host, on two, and on a wire that loses datagrams. About 5 minutes. With --channels, two more programs are in the session,
one on each side, and every round is played twice, in turn: once they do nothing but keep Link's time, once they send each other so
many stereo channels of Link Audio. About 12 minutes."""

import json
import time
from typing import Any

from .. import build
from ..common import fail, play, say
from ..peers import driver
from .actors import middle

TEMPO, QUANTUM, PATIENCE = 120, 4, 30
# name, number of hosts, settings of the wire, rounds, rounds with --quick
SCENES = [
    ("one host", 1, "", 20, 5),
    ("two hosts", 2, "", 20, 5),
    ("two hosts, 2 ms and 0 to 4 ms more", 2, "delay=2ms jitter=4ms", 20, 5),
    ("two hosts, 5 % lost each way", 2, "loss=5% seed=11", 10, 3),
    ("two hosts, 10 % lost each way", 2, "loss=10% seed=11", 6, 2),
]


def distance(a: float, b: float) -> float:
    """Of two phases, the short way round, in microseconds."""
    return ((a - b + QUANTUM / 2) % QUANTUM - QUANTUM / 2) * 60e6 / TEMPO


def company(program: str, host: int, channels: int) -> list[driver.Peer]:
    """Two that can send each other so many stereo channels, and do."""
    found = [driver.Peer([program], each) for each in (1, host)]
    for number, peer in enumerate(found):
        peer.ask("enable on")
        peer.ask(f"audio S{number}")
        for channel in range(channels):
            peer.ask(f"send C{channel} stereo")
    for peer in found:
        peer.ask("wait peers 2 20")
        while peer.ask("channels")["count"] < channels:
            time.sleep(0.1)
        peer.ask("takeall")
    return found


def stream(found: list[driver.Peer], channels: int) -> None:
    """From now on they do, or do not."""
    for peer in found:
        peer.ask(f"audio {'on' if channels else 'off'}")
    limit = time.monotonic() + 30
    while any(peer.ask("health")["listeners"] != channels for peer in found):
        if time.monotonic() > limit:
            fail("bench peers", f"no {channels} channels in 30 s", 1)
        time.sleep(0.1)


def scene(program: str, host: int, rounds: int, channels: int = 0) -> dict[str, Any]:
    founder = driver.Peer("reference", 1)
    peers = {"ours": driver.Peer([program], host), "reference": driver.Peer("reference", host)}
    loads = [0, channels] if channels else [0]
    figures: dict[str, Any] = {row(name, load): {"join_ms": [], "error_us": [], "not_joined": 0} for name in peers for load in loads}
    founder.ask("enable on")
    others = company(program, host, channels) if channels else []
    for turn in range(rounds * len(loads)):
        # In each pair of rounds, each load comes first equally often.
        load = loads[(turn + turn // 2) % len(loads)]
        if others:
            stream(others, load)
        # One joiner at a time, so that each meets the same session: one older peer.
        for name in sorted(peers, reverse=turn // len(loads) % 2 == 1):
            found = figures[row(name, load)]
            peer = peers[name]
            # The founder's session must be the older one by far more than the half second that the rule asks for.
            time.sleep(0.7)
            peer.ask("enable on")
            answer = peer.ask(f"wait peers {1 + len(others)} {PATIENCE}", may_refuse=True)
            if answer["ok"]:
                found["join_ms"].append(answer["waited"] * 1000)
                instant = founder.ask("clock")["time"]
                found["error_us"].append(distance(*(each.ask(f"beat {instant}")["phase"] for each in (peer, founder))))
            else:
                found["not_joined"] += 1
            peer.ask("enable off")
            # The goodbye may be lost like any datagram; then the peer expires after five seconds and more.
            founder.ask(f"wait peers {len(others)} 20")
    for peer in others:
        peer.end()
    return figures


def row(name: str, channels: int) -> str:
    return f"{name}, {channels} channels" if channels else name


def main(words: list[str]) -> None:
    say(scene(**json.loads(words[0])))


def ready(_: object) -> None:
    build.product("link-peer")
    build.lab()


def measure(options: Any) -> tuple[object, bool]:
    results = []
    for name, hosts, wire, rounds, few in SCENES:
        count = few if options.quick else rounds
        status, lines = play(["--no-server", "--hosts", str(hosts), *(["--wire", wire] if wire else [])], "bench.peers",
                             {"program": build.product("link-peer"), "host": hosts, "rounds": count, "channels": options.channels})
        if status != 0:
            fail("bench peers", f"{name}: ended with {status}", 1)
        results.append({**lines[0], "name": name})
        print(f"{name}: {count} rounds")
        for who, figures in lines[0].items():
            joins, errors, late = (figures[key] for key in ("join_ms", "error_us", "not_joined"))
            given_up = f", {late} not within {PATIENCE} s" if late else ""
            print(f"  {who:<22} joined after {middle(joins, ' ms  ', 8, ' to ')}{given_up}")
            print(f"  {'':<22} beat off by   {middle([abs(error) for error in errors], ' us  ', 8, ' to ')}", flush=True)
    return results, True
