# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench host: a lab per scene, in it scene.py; then the table."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "audio.d"), os.path.join(TOOLS, "lib")]

import builds
import table

USAGE = """\
usage: tools/bench host [options]

JACK's transport against the beat of the reference Link library: the bar and beat that tactus shows, beside a naive
bridge; starts from the transport and from a Link peer, as a DAW that counts frames hears them, alone and beside a client
that needs 200 ms; and a timebase master that leads the session through ramps and then for a minute. Under 10 minutes.

  --quick          less of everything, about a minute and a half
  --json FILE      all figures as JSON ("-": standard output instead of the table)
  --tactus PROGRAM this build of tactus (default: .build/release/tactus, built first)
docs/benchmarks.md says how it measures and what its own error is."""


def fail(message, status=2):
    sys.stderr.write(f"bench host: {message}\n")
    sys.exit(status)


def parse(words):
    options = {"quick": False, "json": None, "tactus": None}
    words = list(words)
    while words:
        flag = words.pop(0)
        if flag in ("-h", "--help"):
            print(USAGE)
            sys.exit(0)
        elif flag == "--quick":
            options["quick"] = True
        elif flag in ("--json", "--tactus") and words:
            options[flag[2:]] = words.pop(0)
        else:
            fail(f"{flag}: no such option, or it needs a value. Try 'tools/bench host --help'")
    return options


def programs(options):
    """Everything that is built, before a lab closes the network."""
    try:
        listen, tactus = builds.listen(), builds.tactus(options["tactus"])
        builds.lab()
        naive = builds.beside(listen, "host-naive", os.path.join(HERE, "naive.cpp"), "g++", "-std=c++17",
                              "-DLINK_PLATFORM_LINUX=1", libraries=["-ljack", "-lpthread"])
        slow, leader = (builds.beside(listen, f"host-{name}", os.path.join(HERE, f"{name}.c"), "gcc",
                                      libraries=["-ljack", "-lpthread"]) for name in ("slow", "leader"))
    except builds.Failed as failed:
        fail(failed, 1)
    return {"listen": listen, "tactus": tactus, "naive": naive, "slow": slow, "leader": leader}


def scenes(quick):
    few = {"tempos": [120], "seconds": 5} if quick else {"tempos": [60, 120, 187.3], "seconds": 5}
    found = [{"kind": "bbt", "title": "bar, beat and tick, jackd, 256 frames", "period": 256, **few}]
    if not quick:
        fewer = {"tempos": [120, 187.3], "seconds": 5}
        found += [{"kind": "bbt", "title": "the same on PipeWire", "period": 256, "pipewire": True, **fewer},
                  {"kind": "bbt", "title": "jackd, 1024 frames", "period": 1024, **fewer}]
    # 300 first: what a slow client needs is learned where a bar is short.
    matrix = {"tempos": [300, 120, 20], "quantums": [1, 4, 7]}
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


def play(scene, tools):
    command = [os.path.join(TOOLS, "lab"), "--period", str(scene["period"]), "--rate", "48000"]
    if scene.get("pipewire"):
        command.append("--pipewire")
    command += ["--", "/usr/bin/python3", "-I", "-S", os.path.join(HERE, "scene.py"), json.dumps({**scene, **tools})]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in done.stdout.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            sys.stderr.write(line + "\n")
    return {"scene": scene, "status": done.returncode, "lines": lines}


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def shown(result):
    text = [f"{result['scene']['title']}, microseconds; late is positive"]
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
    starts = {}
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


def led(result):
    """A row for each section: how late the master's bars are for the session, without what its ticks cut off."""
    sections = {}
    for line in result["lines"]:
        if line.get("section", "").count("_") == 2:
            sections.setdefault(line["section"], {})[line["type"]] = line
    text = [f"  {'after':<14}{'BPM':>6}{'LinkHut':>9}{'cycles':>8}{'median':>9}{'least':>9}{'most':>9}"
            f"{'changes of the session':>25}{'server stalls':>15}"]
    for section, found in sections.items():
        ticks, tempo, name = section.split("_")
        tick = 60e6 / float(tempo) / float(ticks)
        error = found["bbt"]["error"] if "bbt" in found else None
        figures = (f"{error['n']:>8}{error['median'] - tick / 2:>9.0f}{error['min']:>9.0f}{error['max'] - tick:>9.0f}"
                   if error else f"{'none could be judged':>35}")
        text.append(f"  {name.replace('-', ' '):<14}{tempo:>6}{found['hut']['tempo']:>9.2f}{figures}"
                    f"{found['end']['changes']:>25}{found['method']['server_stalls']:>15}")
    return text


def main():
    options = parse(sys.argv[1:])
    tools = programs(options)
    results = []
    for scene in scenes(options["quick"]):
        sys.stderr.write(f"{scene['title']} ...\n")
        results.append(play(scene, tools))
        if options["json"] != "-":
            print(shown(results[-1]), flush=True)
    if options["json"]:
        text = json.dumps({"machine": table.machine(), "results": results}, indent=1) + "\n"
        if options["json"] == "-":
            sys.stdout.write(text)
        else:
            with open(options["json"], "w") as file:
                file.write(text)
    sys.exit(1 if any(result["status"] != 0 for result in results) else 0)


main()
