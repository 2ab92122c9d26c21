# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench AREA [OPTION]...: measures, beside the peers, in the same run. Every area answers --help, --quick and
--json FILE. Without an area: all of them, and the charts. docs/benchmarks.md says how each measures and what its own error is."""

import importlib

from ..common import fail

# Each is a module: with "_" for "-", and "every" for "all".
AREAS = {
    "all": "every area, one after the other, each on a quiet machine; then the charts.",
    "audio": "what tactus and LinkHut play, judged against the reference Link library.",
    "charts": "pictures (SVG) of what the other areas measured, from their JSON.",
    "crowd": "what many peers cost our Link and the reference library. [--quick] [--json FILE]",
    "forgers": "clicks and tempo while another machine forges 4,000 Link datagrams a second, beside LinkHut. [--quick] [--json FILE]",
    "fuzz": "mutated packets, documents, MIDI, bars and beats into what reads them, under libFuzzer and the address sanitizer.",
    "fuzz-osc": "millions of mutated packets through the control surface's real socket, under the address sanitizer.",
    "host": "JACK's transport against the session: bar and beat beside a naive bridge, starts.",
    "idle": "wake-ups, processor and memory while nobody does anything. [--quick] [--json FILE]",
    "link": "the library beside Ableton's: capture in the callback, allocations, joining. [--quick] [--json FILE]",
    "osc": "how soon the control surface acts and tells, and what that costs.",
    "peers": "joining and agreement beside the reference library, on good wires and bad. [--quick] [--json FILE]",
    "start": "start-up to the first Link packet. [--quick] [--json FILE]",
}


def main(words: list[str]) -> object:
    if words[:1] in (["-h"], ["--help"]):
        print(f"{__doc__}\nareas:")
        for name, what in AREAS.items():
            print(f"  {name:<10} {what}")
        print()
    area, rest = (words[0], words[1:]) if words and not words[0].startswith("-") else ("all", words)
    if area not in AREAS:
        fail("bench", f'there is no area "{area}"; tools/bench --help lists them')
    module = importlib.import_module("." + {"all": "every"}.get(area, area.replace("-", "_")), __name__)
    return module.main(rest)
