# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/lab: the command line. The parts: stage (namespaces, life and death), hosts (networks), servers (JACK),
wire (the virtual cable), peers (LinkHut and the reference library)."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

USAGE = """\
usage: tools/lab [options] [-- COMMAND...]       run COMMAND (default: your shell) on a private network with a
                                                 private JACK server; its exit status is the lab's
       tools/lab --hosts N [options] -- COMMAND  the same with N hosts on one virtual wire; COMMAND runs on host 1

options:
  --period N      frames per period (256)        --rate N     frames per second (48000)
  --no-server     no JACK server                 --pipewire   PipeWire's JACK instead of jackd
  --no-realtime   jackd without real-time scheduling even where it is allowed
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
  $LAB peer jack               JACK's transport      }
  $LAB peer drums              a drum machine        }
  $LAB peer controller         OSC, to tactus        }
  $LAB screen COMMAND...       a program with windows, on a display that nobody sees and with a fresh HOME

anywhere:
  tools/lab at PID [on K] COMMAND...   run COMMAND in the running lab with that process id (a second terminal)
  tools/lab prepare            install and build now what the lab would install at first use
  tools/lab peer NAME          outside of a lab: in a lab of its own

exit status: COMMAND's; 125 the lab itself failed, 126 and 127 COMMAND could not be run or was not found,
128+S a signal S ended it. docs/lab.md has examples."""


def fail(message, status=125):
    sys.stderr.write(f"lab: {message}\n")
    sys.exit(status)


class Options:
    period = 256
    rate = 48000
    server = "jackd"
    realtime = True
    name = "lab"
    hosts = 0
    wire = ""
    grace = 3.0


def number(flag, text, low, high, kind=int):
    try:
        value = kind(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        fail(f"{flag} {text}: must be a number from {low} to {high}. Try 'tools/lab --help'", 2)
    return value


def parse(arguments):
    """Options and COMMAND. Everything after the first word that is no option, or after --, is COMMAND."""
    options = Options()
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if flag == "--":
            return options, rest
        if not flag.startswith("-"):
            return options, [flag] + rest
        if flag in ("-h", "--help"):
            print(USAGE)
            sys.exit(0)
        flag, equals, inline = flag.partition("=")
        if flag == "--no-server":
            options.server = None
        elif flag == "--pipewire":
            options.server = "pipewire"
        elif flag == "--no-realtime":
            options.realtime = False
        elif flag in ("--period", "--rate", "--name", "--hosts", "--wire", "--grace"):
            if not equals and not rest:
                fail(f"{flag} needs a value. Try 'tools/lab --help'", 2)
            value = inline if equals else rest.pop(0)
            if flag == "--period":
                options.period = number(flag, value, 16, 8192)
            elif flag == "--rate":
                options.rate = number(flag, value, 8000, 384000)
            elif flag == "--hosts":
                options.hosts = number(flag, value, 1, 32)
            elif flag == "--grace":
                options.grace = number(flag, value, 0, 600, float)
            elif flag == "--wire":
                options.wire = value
            elif not value or "/" in value or len(value) > 32:
                fail(f"--name {value}: 1 to 32 characters, no /", 2)
            else:
                options.name = value
        else:
            fail(f"{flag}: no such option. Try 'tools/lab --help'", 2)
    return options, []


def main():
    arguments = sys.argv[1:]
    word = arguments[0] if arguments else ""
    inside = os.environ.get("LAB_DIR", "")
    if inside and not os.path.exists(os.path.join(inside, "environment-1.json")):
        inside = ""  # a left-over variable of a lab that is gone, or that is not ours
    if word in ("on", "wire", "plug", "unplug", "screen") and not inside:
        fail(f"{word}: only inside a lab: tools/lab --hosts 2 -- sh -c '$LAB {word} ...'", 2)
    if word == "on":
        import hosts
        hosts.run_on(arguments[1:])
    elif word == "at":
        import hosts
        hosts.run_at(arguments[1:])
    elif word == "wire":
        import wire
        wire.command(arguments[1:])
    elif word == "plug":
        import hosts
        hosts.plug_command(arguments[1:])
    elif word == "unplug":
        import hosts
        hosts.unplug_command(arguments[1:])
    elif word == "prepare":
        import setup
        setup.everything()
    elif word == "screen" and inside:
        import screen
        screen.run(arguments[1:])
    elif word == "peer" and inside:
        import peers
        peers.run(arguments[1:])
    else:
        import stage
        options, command = parse(arguments)
        if word == "peer":
            command = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lab")] + arguments
        stage.enter(options, command, nested=bool(inside))


if __name__ == "__main__":
    main()
