# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/lab: the command line. The parts: stage (namespaces, life and death), hosts (networks), servers (JACK), wire (the
virtual cable), screen (a display), roots (another Debian), prepare (what is installed). Built on kernel, and on nothing that is built on them."""

import argparse
import os

from ..common import LAB
from ..options import Parser, within
from .kernel import fail

USAGE = """\
tools/lab [option...] [-- COMMAND...]
       tools/lab prepare | at PID [on K] COMMAND... | peer NAME"""
EPILOG = """\
COMMAND (default: your shell) runs on a private network with a private JACK server, with several hosts on the first of them; its exit
status is the lab's: 125 the lab itself failed, 126 and 127 COMMAND could not be run or was not found, 128+S a signal S ended it.

inside, $LAB is this program:
  $LAB on K COMMAND...         run COMMAND on host K
  $LAB wire [SETTING...]       change how the wire behaves; without SETTING print its state and counters as JSON
      loss=10% delay=5ms jitter=1ms reorder=2% duplicate=1%   (jitter: 0 to 1 ms more, each frame on its own)
      from=K to=K              the settings of this command are for frames from and/or to that host only
      seed=N                   start the random decisions anew from N
      clear                    a perfect wire again
      cut [K [L]], heal [K [L]]  everything; everything of host K; everything between K and L
  $LAB plug K NAME [ADDRESS/BITS]   one more interface on the wire for host K (default 10.77.0.(100*n+K)/24)
  $LAB unplug K NAME           take it away ($LAB on K ip ... does the rest: addr add, addr del, link set down)
  $LAB peer NAME               a program driven by lines on standard input, one JSON answer each (`help` lists the commands):
                               linkhut, reference, aalink, jack, drums, looper, controller, browser, firefox or webkit
  $LAB screen COMMAND...       a program with windows, on a display that nobody sees and with a fresh HOME

anywhere:
  tools/lab at PID [on K] COMMAND...   run COMMAND in the running lab with that process id (a second terminal)
  tools/lab prepare            install and build now what the lab would install at first use
  tools/lab peer NAME          outside of a lab: in a lab of its own

docs/lab.md has examples."""


def read(words: list[str]) -> argparse.Namespace:
    parser = Parser("lab", None, USAGE, EPILOG)
    parser.add_argument("--period", type=within(16, 8192), default=256, metavar="N", help="frames per period (256)")
    parser.add_argument("--rate", type=within(8000, 384000), default=48000, metavar="N", help="frames per second (48000)")
    parser.add_argument("--no-server", dest="server", action="store_const", const=None, default="jackd", help="no JACK server")
    parser.add_argument("--pipewire", dest="server", action="store_const", const="pipewire", help="PipeWire's JACK instead of jackd")
    parser.add_argument("--name", default="lab", help="of the server (lab; on several hosts lab-1, lab-2, ...)")
    parser.add_argument("--hosts", type=within(0, 32), default=0, metavar="N",
                        help="1 to 32 hosts, each with its own network interface, addresses, /dev/shm and server, on one virtual wire")
    parser.add_argument("--root", default="", metavar="SUITE",
                        help="all of it in Debian trixie or sid, with their servers and DAWs, in a root that stays in ~/.cache/tactus; "
                             "sees this repository, /tmp and nothing else of the machine (as root)")
    parser.add_argument("--wire", default="", metavar="'SETTING...'", help="how the wire behaves from the start, as for `wire` below")
    parser.add_argument("--grace", type=within(0, 600, float), default=3.0, metavar="S",
                        help="seconds that COMMAND has to end after INT, TERM or HUP before everything is killed (3)")
    parser.add_argument("command", nargs="...", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if not options.name or "/" in options.name or len(options.name) > 32:
        parser.error(f"--name {options.name}: 1 to 32 characters, no /")
    return options


def main(words: list[str]) -> None:
    """Runs a word of the command line. Each word imports only the modules that it needs, so that a lab
    starts within 50 ms."""
    word, rest = words[0] if words else "", words[1:]
    inside = os.environ.get("LAB_DIR", "")
    if inside and not os.path.exists(os.path.join(inside, "host-1")):
        inside = ""  # the variable is left over from a lab that is gone or not ours
    if word in ("on", "wire", "plug", "unplug", "screen") and not inside:
        fail(f"{word}: only inside a lab: tools/lab --hosts 2 -- sh -c '$LAB {word} ...'", 2)
    if word in ("on", "at", "plug", "unplug"):
        from . import hosts
        {"on": hosts.run_on, "at": hosts.run_at, "plug": hosts.plug_command, "unplug": hosts.unplug_command}[word](rest)
    elif word == "wire":
        from . import wire
        wire.command(rest)
    elif word == "prepare":
        from . import prepare
        prepare.everything()
    elif word == "screen":
        from . import screen
        screen.run(rest)
    elif word == "peer" and inside:
        from . import prepare
        prepare.become_peer(rest)
    else:
        from . import stage
        options = read([] if word == "peer" else words)
        if options.root:
            from . import roots
            roots.choose(options.root)
        command = [LAB, *words] if word == "peer" else options.command[options.command[:1] == ["--"]:]
        stage.enter(options, command, nested=bool(inside))
