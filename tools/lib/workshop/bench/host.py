# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench host [options]

JACK's transport against the beat of the reference Link library: the bar and beat that tactus shows, beside a naive
bridge; starts from the transport and from a Link peer, as a DAW that counts frames hears them, alone and beside a client
that needs 200 ms; and a timebase master that leads the session through ramps and then for a minute. Under 10 minutes.

  --quick          less of everything, about a minute and a half
  --json FILE      all figures as JSON ("-": standard output instead of the table)
  --tactus PROGRAM this build of tactus (default: .build/release/tactus, built first)
docs/benchmarks.md says how it measures and what its own error is."""

import sys
from statistics import median
from typing import Any

from .. import build, processes
from ..common import machine, play, read_words, write_json
from . import table

Line = dict[str, Any]


def scenes(quick: bool) -> list[Line]:
    few: Line = {"tempos": [120], "seconds": 5} if quick else {"tempos": [60, 120, 187.3], "seconds": 5}
    found: list[Line] = [{"kind": "bbt", "title": "bar, beat and tick, jackd, 256 frames", "period": 256, **few}]
    if not quick:
        fewer: Line = {"tempos": [120, 187.3], "seconds": 5}
        found += [{"kind": "bbt", "title": "the same on PipeWire", "period": 256, "pipewire": True, **fewer},
                  {"kind": "bbt", "title": "jackd, 1024 frames", "period": 1024, **fewer}]
    # 300 first: what a slow client needs is learned where a bar is short.
    matrix: Line = {"tempos": [300, 120, 20], "quantums": [1, 4, 7]}
    found.append({"kind": "start", "title": "starts, jackd, 256 frames", "period": 256, "slowed": False,
                  **({"tempos": [120], "quantums": [1], "rounds": 2} if quick else {"rounds": 2, **matrix})})
    found.append({"kind": "start", "title": "starts beside a client that needs 200 ms", "period": 256, "slowed": True,
                  **({"tempos": [300], "quantums": [4], "rounds": 2} if quick else {"rounds": 1, **matrix})})
    if not quick:
        found.append({"kind": "start", "title": "starts on PipeWire", "period": 256, "pipewire": True, "slowed": False,
                      "tempos": [120], "quantums": [1, 4], "rounds": 2})
    for ticks in [960] if quick else [960, 1920]:
        found.append({"kind": "lead", "title": f"a master with {ticks} ticks leads", "period": 256, "ticks": ticks,
                      "silence": 10 if quick else 60 if ticks == 960 else 15})
    return found


def shown(result: Line) -> str:
    text = [f"{result['scene']['title']}, microseconds; late is positive{result['others']}"]
    if result["status"] != 0:
        text.append(f"  ended with status {result['status']}")
    if result["scene"]["kind"] == "bbt":
        text.append(table.COLUMNS.format("", "", "n", "median", "least", "most", "range", ""))
        for line in result["lines"]:
            if line["type"] == "bbt" and line["error"]["n"]:
                # Ticks are cut off: the truth is between none and one tick later than what can be shown.
                who, tempo = line["section"].split("_")
                tick = 60e6 / float(tempo) / 1920
                rest = (f"a tick is {tick:.0f}; without: median {line['error']['median'] - tick / 2:+.1f}, "
                        f"range {max(0, line['error']['range'] - tick):.1f}")
                text.append(table.row(f"{who}, {tempo} BPM", "bar|beat|tick", line["error"], rest))
        return "\n".join(text) + "\n"
    if result["scene"]["kind"] == "lead":
        return "\n".join(text + led(result)) + "\n"
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
        off = [abs(error["median"]) for key, found in starts.items() if key[0] == align for error, _ in found]
        if off:
            text.append(f"  {align}: {len(off)} starts, median {median(off):.1f}, worst {max(off):.1f}")
    return "\n".join(text) + "\n"


def led(result: Line) -> list[str]:
    """A row for each section: how late the master's bars are for the session, without what its ticks cut off."""
    sections: dict[str, dict[str, Line]] = {}
    for line in result["lines"]:
        if line.get("section", "").count("_") == 2:
            sections.setdefault(line["section"], {})[line["type"]] = line
    text = [(f"  {'after':<14}{'BPM':>6}{'LinkHut':>9}{'cycles':>8}{'median':>9}{'least':>9}{'most':>9}"
             f"{'changes of the session':>25}{'server stalls':>15}")]
    for section, found in sections.items():
        ticks, tempo, name = section.split("_")
        tick = 60e6 / float(tempo) / float(ticks)
        error = found["bbt"]["error"] if "bbt" in found else None
        figures = (f"{error['n']:>8}{error['median'] - tick / 2:>9.0f}{error['min']:>9.0f}{error['max'] - tick:>9.0f}"
                   if error else f"{'none could be judged':>35}")
        text.append(f"  {name.replace('-', ' '):<14}{tempo:>6}{found['hut']['tempo']:>9.2f}{figures}"
                    f"{found['end']['changes']:>25}{found['method']['server_stalls']:>15}")
    return text


def main(words: list[str]) -> int:
    options = read_words("bench host", __doc__, words, {"--quick": False, "--json": None, "--tactus": None})
    # Everything is built before a lab closes the network.
    build.listener()
    tactus = build.tactus(options.tactus)
    build.lab()
    results: list[Line] = []
    for scene in scenes(options.quick):
        others = "" if options.quick else processes.quiet()
        sys.stderr.write(f"{scene['title']} ...\n")
        lab = ["--period", str(scene["period"]), *["--pipewire"] * scene.get("pipewire", False)]
        status, lines = play(lab, "bench.host_scene", {**scene, "tactus": tactus})
        results.append({"scene": scene, "status": status, "others": others, "lines": lines})
        if options.json != "-":
            print(shown(results[-1]), flush=True)
    write_json(options.json, {"machine": machine(), "results": results})
    return 1 if any(result["status"] != 0 for result in results) else 0
