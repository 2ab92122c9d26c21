# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench AREA [OPTION]...: measures, beside the peers, in the same run. Every area answers --help, --quick and
--json FILE. Without an area: all of them, and the charts. docs/benchmarks.md says how each measures and what its own error is."""

import contextlib
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .. import build
from ..common import Number, fail, read_words, write_json


class Area(NamedTuple):
    """A module, with "_" for "-": its doc string is its help, ready(options) builds what it needs before a lab closes the
    network, measure(options) prints and returns figures, and whether what was claimed held. "all" and charts have a main()."""
    what: str
    stage: Sequence[str] | None = None  # options of the lab in which it is measured; None: in none, or ready() sees to it
    options: Mapping[str, object] = {}


QUICK = " [--quick] [--json FILE]"
TACTUS = {"--tactus": None}
SEED = {"--seed": Number(1, 0)}
AREAS = {
    "all": Area("every area, one after the other, each on a quiet machine; then the charts."),
    "audio": Area("what tactus and LinkHut play, judged against the reference Link library.", None,
                  {"--only": None, "--endurance": Number(0.0, 0, kind=float), **TACTUS}),
    "audio-forgers": Area("a channel of sound while another machine attacks who plays it." + QUICK, ["--hosts", "3"]),
    "charts": Area("pictures (SVG) of what the other areas measured, from their JSON."),
    "crowd": Area("what many peers cost our Link and the reference library." + QUICK, ["--no-server", "--hosts", "2"]),
    "far": Area("two rooms, each with LinkHut, joined by two tactus over a slow wire that loses: their clicks, a cut, what can be read.",
                ["--hosts", "4"], {"--minutes": Number(10.0, 0, kind=float), **TACTUS}),
    "forgers": Area("clicks and tempo while another machine forges 4,000 Link datagrams a second, beside LinkHut." + QUICK,
                    ["--hosts", "2"]),
    "fuzz": Area("mutated packets, documents, MIDI, bars and beats into what reads them, under libFuzzer and the address sanitizer.",
                 None, {"--runs": Number(0, 1), "--seed": Number(20808, 0)}),
    "fuzz-osc": Area("millions of mutated packets through the control surface's real socket, under the address sanitizer.", [],
                     {"--packets": Number(5_000_000, 1), "--fast": Number(5, 0), **SEED}),
    "host": Area("JACK's transport against the session: bar and beat beside a naive bridge, starts.", None, {"--on": None, **TACTUS}),
    "idle": Area("wake-ups, processor and memory while nobody does anything." + QUICK, []),
    "link": Area("the library beside Ableton's: capture in the callback, allocations, joining." + QUICK),
    "link-audio": Area("channels of sound between two machines: joining, places, bad wires, cost.", ["--hosts", "3"],
                       {"--only": None, "--minutes": Number(10.0, 0, kind=float)}),
    "osc": Area("how soon the control surface acts and tells, and what that costs.", [], SEED),
    "page": Area("the page for phones in Chromium: its beat, changes, load, click, and what pages cost the OSC surface.", None,
                 {"--only": None, **TACTUS}),
    "peers": Area("joining and agreement beside the reference library, on good wires and bad.", None, {"--channels": Number(0, 0, 32)}),
    "start": Area("start-up to the first Link packet." + QUICK, []),
}


def main(words: list[str]) -> object:
    if words[:1] in (["-h"], ["--help"]):
        print(f"{__doc__}\nareas:")
        for name, each in AREAS.items():
            print(f"  {name:<10} {each.what}")
        print()
    name, rest = (words[0], words[1:]) if words and not words[0].startswith("-") else ("all", words)
    if name not in AREAS:
        fail("bench", f'there is no area "{name}"; tools/bench --help lists them')
    module, area = importlib.import_module("." + {"all": "every"}.get(name, name.replace("-", "_")), __name__), AREAS[name]
    if name in ("all", "charts"):
        return module.main(rest)
    options = read_words(f"bench {name}", module.__doc__ or "", rest, {"--quick": False, "--json": None, **area.options})
    module.ready(options)
    if area.stage is not None:
        build.enter_lab("bench", words, *area.stage)
    with contextlib.redirect_stdout(io.StringIO() if options.json == "-" else sys.stdout):
        figures, held = module.measure(options)
    write_json(options.json, figures)
    return 0 if held else 1
