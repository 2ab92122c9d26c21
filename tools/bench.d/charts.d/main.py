# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench charts: one function for each picture."""

import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "lib"))

import svg

USAGE = """\
usage: tools/bench charts FROM TO

Draws what the areas measured: FROM is the folder with their JSON (audio.json, host.json, crowd.json, as tools/bench
writes them), TO the folder for the pictures: clicks.svg, bbt.svg, clock.svg, crowd.svg. What was not measured is left out."""

MICROS = [(-100_000, "-100 ms"), (-10_000, "-10 ms"), (-1000, "-1 ms"), (-100, "-100 us"), (-10, "-10 us"), (0, "0"),
          (10, "10 us"), (100, "100 us"), (1000, "1 ms"), (10_000, "10 ms"), (100_000, "100 ms")]


def lines(measured, scene, kind):
    return [line for result in measured["results"] if result["scene"]["name"] == scene
            for line in result["lines"] if line["type"] == kind]


def clicks(measured):
    """Each click's distance from the beat; the loaded half by the wall's clock, since JACK's is not settled there."""
    ports = {"LinkHut:out_1": ("b", "LinkHut"), "tactus:click_1": ("a", "tactus")}
    steady = lines(measured, "beat", "onset")
    section = max({line["section"] for line in steady if line["section"] != "tempo-changes"},
                  key=lambda name: sum(line["section"] == name for line in steady))
    halves = [(f"idle, {section} BPM, seconds", [line for line in steady if line["section"] == section], "error"),
              ("three busy loops, no real-time scheduling, seconds", lines(measured, "busy", "onset"), "wall_error")]
    halves = [half for half in halves if half[1]]
    chart = svg.Chart("Clicks: how far from the session's beat", "each dot one click; late is above; +- 10 us straight, then decades",
                      svg.signed_log, MICROS, "error", panels=len(halves))
    chart.legend(list(ports.values()))
    for number, (label, heard, error) in enumerate(halves):
        began = min(line["heard"] for line in heard if line["heard"] is not None)
        end = max(line["heard"] for line in heard if line["heard"] is not None) - began
        x = chart.panel(number, label, svg.plain, [(0, "0"), (end / 2e6, f"{end / 2e6:.0f}"), (end / 1e6, f"{end / 1e6:.0f}")])
        for port, (kind, _) in ports.items():
            for line in heard:
                value = line[error] if line["quiet"] else line["wall_error"]
                if line["port"] == port and line["steady"] and line["since_stall"] >= 2 and None not in (line["heard"], value):
                    chart.dot(x((line["heard"] - began) / 1e6), value, kind)
    return chart


def clock(measured):
    """How many of all MIDI clocks are how far from the grid. By JACK's clock, where it is settled."""
    ours = [line for line in lines(measured, "beat", "clock") if line["section"] != "tempo-changes" and line["steady"] and line["since_stall"] >= 2]
    theirs = [line for line in lines(measured, "clock", "clock") if line["port"].startswith("jack_midi_clock") and line["section"] == "from_0"]
    settled = [line for line in ours if line["quiet"]]
    errors = [line["error"] for line in settled] if len(settled) > 20 else [line["wall_error"] for line in ours]
    series = [("a", "tactus", [value for value in errors if value is not None]),
              ("b", "jack_midi_clock", [line["error"] for line in theirs if line["error"] is not None])]
    series = [(kind, name, [value - statistics.median(values) for value in values], len(values))
              for kind, name, values in series if len(values) > 20]
    if not series:
        raise ValueError
    shown = "; ".join(f"{name}: {count} clocks, within {max(values) - min(values):.0f} us" for _, name, values, count in series)
    chart = svg.Chart("MIDI clock: jitter around the median", shown, svg.plain, [(part, f"{part} %") for part in range(0, 61, 10)], "of all clocks")
    chart.legend([(kind, name) for kind, name, *_ in series])
    step, most = 5, 60
    x = chart.panel(0, f"microseconds from the median, {step} us a bar; what is beyond counts in the last", svg.plain,
                    [(place, str(place)) for place in range(-most, most + 1, 20)])
    for number, (kind, _, values, count) in enumerate(series):
        width = (x(step) - x(0)) / len(series) - 1
        for low in range(-most, most, step):
            inside = sum(low <= max(-most, min(most - 1e-6, value)) < low + step for value in values)
            if inside:
                chart.bar(x(low) + number * (width + 1), width, 0, 100 * inside / count, kind)
    return chart


def bbt(measured):
    """From the least to the greatest error, with the median, at each tempo."""
    found = {}
    for result in measured["results"]:
        for line in result["lines"]:
            if line["type"] == "bbt" and line["error"]["n"] and line["section"].count("_") == 1:
                who, tempo = line["section"].split("_")
                server = "PipeWire" if result["scene"].get("pipewire") else "jackd"
                found.setdefault((f"{server}, {result['scene']['period']} frames", float(tempo)), {})[who] = line["error"]
    servers = list(dict.fromkeys(server for server, _ in found))
    names = sorted({who for each in found.values() for who in each}, key=lambda who: who != "tactus")
    chart = svg.Chart("JACK's bar, beat and tick against the beat that is heard", "range and median; ticks are cut off, so up to one is nobody's fault",
                      svg.signed_log, MICROS, "late by", panels=len(servers))
    chart.legend([("ab"[place], who) for place, who in enumerate(names)])
    for number, server in enumerate(servers):
        tempos = sorted(tempo for name, tempo in found if name == server)
        ticks = [(-0.5, "")] + [(place, f"{tempo:g} BPM") for place, tempo in enumerate(tempos)] + [(len(tempos) - 0.5, "")]
        x = chart.panel(number, server, svg.plain, ticks)
        for place, tempo in enumerate(tempos):
            for which, who in enumerate(names):
                if error := found[server, tempo].get(who):
                    chart.bar(x(place) + 26 * which - 24, 22, error["min"], error["max"], "ab"[which], error["median"])
    return chart


def crowd(measured):
    rows = measured["rows"]
    chart = svg.Chart("What a crowd costs", "processor time of one program while so many peers announce themselves four times a second",
                      svg.log, [(value, f"{value:g} %") for value in (0.01, 0.1, 1, 10, 100)], "of one core")
    chart.legend([("a", "our Link"), ("b", "reference library")])
    x = chart.panel(0, "peers in the session", lambda count: svg.log(count + 1), [(row["peers"], str(row["peers"])) for row in rows])
    for kind, who in (("a", "ours"), ("b", "reference")):
        chart.line([(x(row["peers"]), max(row[who], 0.01)) for row in rows], kind)
    return chart


PICTURES = [("clicks", "audio", clicks), ("clock", "audio", clock), ("bbt", "host", bbt), ("crowd", "crowd", crowd)]


def main():
    words = sys.argv[1:]
    if len(words) != 2 or words[0].startswith("-"):
        print(USAGE)
        sys.exit(0 if words and words[0] in ("-h", "--help") else 2)
    os.makedirs(words[1], exist_ok=True)
    for name, area, draw in PICTURES:
        source = os.path.join(words[0], area + ".json")
        if not os.path.exists(source):
            print(f"{name}.svg: not drawn, there is no {source}")
            continue
        with open(source) as file:
            measured = json.load(file)
        try:
            draw(measured).write(os.path.join(words[1], name + ".svg"))
            print(f"{name}.svg")
        except ValueError:
            print(f"{name}.svg: not drawn, {source} has too little for it")


main()
