# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/lab: the command line. The parts: stage (namespaces, life and death), hosts (networks), servers (JACK), wire (the
virtual cable), screen (a display), roots (another Debian), prepare (what is installed). Built on kernel, and on nothing that is built on them."""

import os

from ..common import LAB, Number, read_words
from .kernel import fail

USAGE = """\
usage: tools/lab [options] [-- COMMAND...]       run COMMAND (default: your shell) on a private network with a
                                                 private JACK server; its exit status is the lab's
       tools/lab --hosts N [options] -- COMMAND  the same with N hosts on one virtual wire; COMMAND runs on host 1

options:
  --period N      frames per period (256)        --rate N     frames per second (48000)
  --no-server     no JACK server                 --pipewire   PipeWire's JACK instead of jackd
  --no-realtime   jackd without real-time scheduling even where it is allowed
  --root SUITE    all of it in Debian trixie or sid, with their servers and DAWs, in a root that stays in ~/.cache/tactus;
                  sees this repository, /tmp and nothing else of the machine (as root)
  --name NAME     the server's name (lab; on several hosts lab-1, lab-2, ...)
  --hosts N       1 to 32 hosts, each with its own network interface, addresses, /dev/shm and server
  --wire "..."    how the wire behaves from the start, as for `wire` below
  --grace S       seconds that COMMAND has to end after INT, TERM or HUP before everything is killed (3)

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
  $LAB wire measure            what the wire adds to a datagram's way there and back
  $LAB peer linkhut            Ableton's LinkHut     } driven by lines on standard input, one JSON answer each:
  $LAB peer reference          the reference library } `help` lists the commands
  $LAB peer aalink             aalink, for Python    }
  $LAB peer jack               JACK's transport      }
  $LAB peer drums              a drum machine        }
  $LAB peer looper             SooperLooper          }
  $LAB peer controller         OSC, to tactus        }
  $LAB peer browser            Chromium, no window   }
  $LAB peer firefox            Firefox, no window    }
  $LAB peer webkit             WebKitGTK             }
  $LAB screen COMMAND...       a program with windows, on a display that nobody sees and with a fresh HOME

anywhere:
  tools/lab at PID [on K] COMMAND...   run COMMAND in the running lab with that process id (a second terminal)
  tools/lab prepare            install and build now what the lab would install at first use
  tools/lab peer NAME          outside of a lab: in a lab of its own

exit status: COMMAND's; 125 the lab itself failed, 126 and 127 COMMAND could not be run or was not found,
128+S a signal S ended it. docs/lab.md has examples."""
OPTIONS = {"--period": Number(256, 16, 8192), "--rate": Number(48000, 8000, 384000), "--no-server": False, "--pipewire": False,
           "--no-realtime": False, "--name": "lab", "--hosts": Number(0, 1, 32), "--root": "", "--wire": "", "--grace": Number(3.0, 0, 600, float)}


def main(words: list[str]) -> None:
    """What a word needs is imported with it: a lab is there in 50 ms."""
    word, rest = words[0] if words else "", words[1:]
    inside = os.environ.get("LAB_DIR", "")
    if inside and not os.path.exists(os.path.join(inside, "host-1")):
        inside = ""  # a left-over variable of a lab that is gone, or that is not ours
    if word in ("on", "wire", "plug", "unplug", "screen") and not inside:
        fail(f"{word}: only inside a lab: tools/lab --hosts 2 -- sh -c '$LAB {word} ...'", 2)
    if word in ("on", "at", "plug", "unplug"):
        from . import hosts
        {"on": hosts.run_on, "at": hosts.run_at, "plug": hosts.plug_command, "unplug": hosts.unplug_command}[word](rest)
    elif word == "wire":
        from . import wire
        if rest == ["measure"]:
            from . import measure
            measure.measure()
        else:
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
        options = read_words("lab", USAGE, [] if word == "peer" else words, OPTIONS, is_prefix=True)
        if not options.name or "/" in options.name or len(options.name) > 32:
            fail(f"--name {options.name}: 1 to 32 characters, no /", 2)
        if options.root:
            from . import roots
            roots.choose(options.root)
        options.server = None if options.no_server else "pipewire" if options.pipewire else "jackd"
        stage.enter(options, [LAB, *words] if word == "peer" else options.words, nested=bool(inside))
