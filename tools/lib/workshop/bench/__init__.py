# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench AREA [OPTION]...: measures, beside the peers, in the same run. docs/benchmarks.md says how each area measures and what
its own error is; tools/bench AREA --help lists its options."""

import contextlib
import importlib
import io
import sys

from .. import build
from ..common import fail, write_json
from ..options import Parser

# An area is a module whose name has "_" for "-". Its doc string is its help. STAGE has the options of the lab
# in which the area is measured; without STAGE there is no lab, or measure() makes its own. arguments(parser)
# adds options. ready(options) builds everything that the area needs, before a lab closes the network.
# measure(options) prints the figures. It returns them, and whether they confirm the claims of
# docs/benchmarks.md.
AREAS = {
    "audio": "what tactus and LinkHut play, judged against the reference Link library",
    "fuzz": "mutated packets, documents, MIDI, bars and beats into their readers, under libFuzzer and the address sanitizer",
    "fuzz-osc": "millions of mutated packets through the control surface's real socket, under the address sanitizer",
    "host": "JACK's transport against the session: bar and beat beside a naive bridge, starts",
    "idle": "wake-ups, processor and memory at rest",
    "link": "the library beside Ableton's: capture in the callback, allocations",
    "link-audio": "channels of sound between two machines: the time to the first sound, their place, their cost",
    "osc": "what the control surface costs, and the dearest input of OSC, page and Link",
}


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(f"{__doc__}\n\nareas:\n" + "\n".join(f"  {name:<12}{what}" for name, what in AREAS.items()))
        return 0 if words else 2
    if (name := words[0]) not in AREAS:
        fail("bench", f'there is no area "{name}"; tools/bench --help lists them')
    area = importlib.import_module("." + name.replace("-", "_"), __name__)
    parser = Parser(f"bench {name}", area.__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--json", metavar="FILE", help='all figures ("-": standard output instead of the table)')
    getattr(area, "arguments", lambda _: None)(parser)
    options = parser.parse_args(words[1:])
    area.ready(options)
    if (stage := getattr(area, "STAGE", None)) is not None:
        build.enter_lab("bench", words, *stage)
    with contextlib.redirect_stdout(io.StringIO() if options.json == "-" else sys.stdout):
        figures, held = area.measure(options)
    write_json(options.json, figures)
    return 0 if held else 1
