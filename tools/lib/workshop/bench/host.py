# SPDX-License-Identifier: GPL-2.0-or-later
"""JACK's transport against the beat of the reference Link library: the bar and beat that tactus shows, beside a naive
bridge's; starts from the transport and from a Link peer, as a DAW that counts frames hears them, alone and beside a client
that needs 200 ms; two machines with song sync, also with DAWs. Under 20 minutes, with --quick two. docs/benchmarks.md says how it
measures and what its own error is."""

import math
from statistics import median
from typing import Any

from .. import build
from ..options import Parser
from . import song_scene, table
from .actors import middle

Line = dict[str, Any]


def scene(kind: str, title: str, **more: object) -> Line:
    return {"kind": kind, "title": title, "period": 256} | more


def scenes(quick: bool) -> list[Line]:
    if quick:
        return [scene("bbt", "bar, beat and tick, jackd, 256 frames", tempos=[120], seconds=5),
                scene("start", "starts, jackd, 256 frames", slowed=False, tempos=[120], quantums=[1], rounds=2),
                scene("start", "starts beside a client that needs 200 ms", slowed=True, tempos=[300], quantums=[4], rounds=2),
                scene("song", "song sync: a JACK client's locates on two machines", hosts=2, locates=6)]
    # The tempo of 300 BPM comes first: its bars are short, so tactus learns quickly how long the slow client
    # needs for a start.
    matrix = {"tempos": [300, 120, 20], "quantums": [1, 4, 7]}
    return [scene("bbt", "bar, beat and tick, jackd, 256 frames", tempos=[60, 120, 187.3], seconds=5),
            scene("bbt", "the same on PipeWire", pipewire=True, tempos=[120, 187.3], seconds=5),
            scene("bbt", "jackd, 1024 frames", period=1024, tempos=[120, 187.3], seconds=5),
            scene("start", "starts, jackd, 256 frames", slowed=False, rounds=2, **matrix),
            scene("start", "starts beside a client that needs 200 ms", slowed=True, rounds=1, **matrix),
            scene("start", "starts on PipeWire", pipewire=True, slowed=False, tempos=[120], quantums=[1, 4], rounds=2),
            scene("song", "song sync: a JACK client's locates on two machines", hosts=2, locates=50),
            *song_scenes()]


def song_scenes() -> list[Line]:
    """The scenes in which DAWs locate on two machines."""
    pairs = [("Hydrogen on two machines", ["hydrogen", "hydrogen"], False), ("Hydrogen and Ardour", ["hydrogen", "ardour"], False),
             ("Hydrogen on jackd and on PipeWire", ["hydrogen", "hydrogen"], True)]
    return [*(scene("daws", f"song sync: {title}", hosts=2, daws=daws, pipewire=pipewire, locates=20, starts=4)
              for title, daws, pipewire in pairs),
            scene("loops", "song sync: a loop of four bars in Qtractor", hosts=2, daws=["hydrogen", "qtractor"], turns=10)]


def scenes_on(suite: str, quick: bool) -> list[Line]:
    """The scenes with eight starts of each kind, enough for a median and a range; with `quick`, two
    starts."""
    return [scene("start", f"starts on {suite}'s {server}, {period} frames", root=suite, period=period, pipewire=server == "PipeWire",
                  slowed=False, tempos=[120], quantums=[4], rounds=1 if quick else 4)
            for server in ("PipeWire", "jackd") for period in (256, 1024)]


def shown(result: Line) -> str:
    text = [f"{result['scene']['title']}, microseconds; late is positive{result['others']}"]
    if result["status"] != 0:
        text.append(f"  ended with status {result['status']}")
    if result["scene"]["kind"] == "bbt":
        text.append(table.COLUMNS.format("", "", "n", "median", "least", "most", "range", ""))
        for line in result["lines"]:
            if line["type"] == "bbt" and line["error"]["n"]:
                # JACK's ticks are rounded down, so the true position is up to one tick later.
                who, tempo = line["section"].split("_")
                tick = 60e6 / float(tempo) / 1920
                rest = (f"a tick is {tick:.0f}; without: median {line['error']['median'] - tick / 2:+.1f}, "
                        f"range {max(0, line['error']['range'] - tick):.1f}")
                text.append(table.row(f"{who}, {tempo} BPM", "bar|beat|tick", line["error"], rest))
        return "\n".join(text) + "\n"
    if result["scene"]["kind"] == "song":
        found = [line for line in result["lines"] if line["type"] == "song"]
        apart = sorted(line["apart"] for line in found if math.isfinite(line["apart"]))
        text.append(f"  {len(found)} locates; apart, us: {middle([abs(each) for each in apart])}, range {apart[-1] - apart[0]:.1f}"
                    if apart else "  none could be judged")
        text.append(f"  from a locate to the other's roll, ms: {middle([line['milliseconds'] for line in found])}")
        return "\n".join(text) + "\n"
    if result["scene"]["kind"] in ("daws", "loops"):
        return "\n".join([*text, *song_scene.shown(result["lines"])]) + "\n"
    starts: dict[tuple[str, ...], list[tuple[Line, int]]] = {}
    for line in result["lines"]:
        if line["type"] in ("host", "end") and line["section"].count("_") == 4:
            align, tempo, quantum, starter, _ = line["section"].split("_")
            found = starts.setdefault((align, tempo, quantum, starter), [])
            if line["type"] == "host" and line["error"]["n"]:
                found.append((line["error"], line["beats"] % int(quantum)))
    text.append(f"  {'alignment':<10}{'BPM':>6}{'quantum':>9}  {'from':<11}{'starts':>6}{'median':>10}{'worst':>10}"
                f"{'range within a start':>24}")
    for (align, tempo, quantum, starter), found in starts.items():
        row = f"  {align:<10}{tempo:>6}{quantum:>9}  {starter:<11}{len(found):>6}"
        if not found:
            text.append(row + "  none could be judged: the server stalled")
            continue
        off = [abs(error["median"]) for error, _ in found]
        wrong = sum(1 for _, beats in found if beats != 0)
        text.append(f"{row}{median(off):>10.1f}{max(off):>10.1f}"
                    f"{median([error['range'] for error, _ in found]):>24.1f}"
                    + (f"  {wrong} on the wrong beat of the bar" if wrong else ""))
    for align in ("nearest", "exact"):
        off = [error["median"] for key, found in starts.items() if key[0] == align for error, _ in found]
        if off:
            worst = max(abs(each) for each in off)
            text.append(f"  {align}: {len(off)} starts, {median(off):.1f} (median), from {min(off):.1f} to {max(off):.1f}, worst {worst:.1f}")
    return "\n".join(text) + "\n"


def arguments(parser: Parser) -> None:
    parser.add_argument("--on", default="", metavar="SUITE",
                        help="only starts, on the PipeWire and the jackd of Debian trixie, or of sid with a --tactus that was compiled there, "
                             "at 256 and 1024 frames (tools/lab --root)")
    parser.add_argument("--daws", action="store_true", help="only song sync between DAWs on two machines")
    parser.add_argument("--tactus", metavar="PROGRAM", help="this build of tactus (default: .build/release/tactus, built first)")


def ready(options: Any) -> None:
    build.listener()
    build.tactus(options.tactus)
    build.lab()


def measure(options: Any) -> tuple[object, bool]:
    chosen = scenes_on(options.on, options.quick) if options.on else song_scenes() if options.daws else scenes(options.quick)
    return table.play(chosen, "bench.host_scene", options, shown)
