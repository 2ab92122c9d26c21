# SPDX-License-Identifier: GPL-2.0-or-later
"""Listens to JACK output ports (audio: onsets; MIDI: clock) and compares each onset with the beat that the reference Link
library, running in this program as a peer of its own, computes for the moment it is heard. Prints a line for each port: how many
onsets there were, and how far from the beat.

Commands on standard input, a line each:
  section NAME     forget what was heard until now and listen anew
  report           print what was heard in this section
  look             print what was heard since the last look, again and again for hours: no section is needed
  tempo BPM        propose a tempo to the session now;    tempo BPM half   ... halfway between two beats
  play, stop       in the session (with --start-stop);    roll, halt, locate FRAME: JACK's transport
  peers            print the number of peers;             link on, link off    enter or leave the session
  unplug PORT      listen there no longer;                plug PORT            listen there again
  end              report, unless that was just done, and end
"""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from .. import build
from ..options import Parser, within
from ..peers import driver
from . import words
from .judge import Judge
from .judge import number as rounded
from .recorder import Deaf, Recorder, Recording
from .report import Message, Report, Source
from .wall import Wall

UNRIPE, REMEMBERED = 1.0, 15  # seconds
NEWS_TAKE = 900e3  # microseconds for three Alives that are late or lost on a busy machine
MOST_PORTS = 16


def port(text: str) -> tuple[str, int]:
    """Parses the option value PORT[@N]. N is 0 if it is left out."""
    name, at, count = text.rpartition("@")
    return (name, int(within(1, 96)(count))) if at else (text, 0)


def offsets(text: str) -> list[float]:
    """Parses the option value MS,... into microseconds."""
    return [1000 * within(-1000, 1000, float)(each) for each in text.split(",") if each]


def read(words: Sequence[str]) -> argparse.Namespace:
    parser = Parser("listen", __doc__)
    known = parser.add_argument
    known("ports", nargs="*", type=port, metavar="PORT[@N]", help="N onsets are expected in a beat (audio 1, MIDI 24)")
    known("--for", type=within(0.1, 1e5, float), default=0.0, metavar="S", help="listen S seconds, then report and end (without it: commands)")
    known("--events", action="store_true", help="a line for every onset and clock, not only the summaries")
    known("--json", action="store_true", help="everything as JSON, an object a line: docs/benchmarks.md")
    known("--tempo", type=within(20, 999, float), default=120.0, metavar="BPM", help="of our Link peer when it is alone (120)")
    known("--quantum", type=within(1, 64, float), default=4.0, metavar="N", help="(4)")
    known("--offsets", type=offsets, default=[], metavar="MS,...", help="what each port is sent earlier by, in their order (0)")
    known("--timebase", type=within(1, 2000, float), default=0.0, metavar="BPM",
          help="be JACK's timebase master: a plain one that counts bars of four from frame 0")
    known("--exact", type=within(-1e6, 1e6, float), metavar="US", help="play a click of our own, US microseconds after each beat, on exact:out[@N]")
    known("--through", type=within(0, 1e6), default=-1, metavar="N",
          help="a route that is N frames longer, and says so: through:in to through:out")
    known("--no-link", action="store_true", help="only listen: our Link peer stays out of the session until told")
    known("--name", default="ear", help="of our JACK client (ear)")
    known("--start-stop", action="store_true", help="follow and send start and stop in the session")
    options = parser.parse_intermixed_args(words)
    if len(options.ports) > MOST_PORTS or not (options.ports or options.exact is not None or options.timebase):
        parser.error(f"needs from 1 to {MOST_PORTS} ports")
    return options


class Ear:
    """The recorder and the judge together. Results are passed to `say`."""

    def __init__(self, arguments: Sequence[str], say: Callable[[Message], object] = lambda message: None,
                 environment: Mapping[str, str] | None = None) -> None:
        self.say = say
        self.options = options = read(arguments)
        self.ports, self.early = options.ports, options.offsets
        given = {name: float(getattr(options, name)) for name in ("tempo", "quantum", "timebase", "through", "no_link", "start_stop")}
        if options.exact is not None:
            given |= {"exact": options.exact,
                      "per_beat": next((count for name, count in self.ports if name == "exact:out" and count), 1)}
        self.recorder = Recorder([*(f"{name}={float(value)}" for name, value in given.items()), f"name={options.name}",
                                  *(f"port={name}" for name, _ in self.ports)], environment)
        self.process, self.name, self.began, self.xruns, self.looked_to = self.recorder.process, "", 0.0, 0, -1e18
        self.is_reported = False

    def ready(self, seconds: float = 30) -> None:
        rate, period, midi, *version = self.recorder.next(seconds)
        self.heard, self.period = Recording(float(rate)), int(period)
        self.sources = [Source(name, count or (24 if kind == "1" else 1), kind == "1")
                        for (name, count), kind in zip(self.ports, midi[1:], strict=True)]
        self.say({"type": "ready", "rate": int(rate), "period": self.period, "version": " ".join(version)})

    def mark(self) -> None:
        self.recorder.tell("mark")
        self.heard.add(self.recorder.until_mark(20))

    def tell(self, line: str) -> Message:
        """Carries out a command, and returns the last message of its answer."""
        word, _, rest = line.strip().partition(" ")
        verbs: dict[str, Callable[[str], Iterator[Message]]] = {
            "section": self.begin, "report": self.report, "look": self.look, "peers": self.peers}
        message: Message = {}
        if word not in verbs:
            self.recorder.tell(line)
            return message
        for message in verbs[word](rest):
            if message["type"] not in ("peers", "looked"):
                self.say(message)
        return message

    def peers(self, _: str) -> Iterator[Message]:
        self.mark()
        yield {"type": "peers", "count": self.heard.peers}

    def begin(self, name: str) -> Iterator[Message]:
        self.mark()
        # Remember the server's stalls in earlier sections, because JACK's clock may not have settled since
        # then.
        self.remember(Wall(self.heard.rate, self.period, self.heard.wakes))
        self.heard.clear()
        self.name, self.is_reported, self.xruns = name, False, self.heard.xruns
        return iter(())

    def remember(self, wall: Wall) -> None:
        self.began = wall.began() or self.began

    def report(self, _: str = "") -> Iterator[Message]:
        self.is_reported = True
        time.sleep(0.03)
        self.mark()
        judge = Judge(self.heard, self.period, self.began, early=self.early)
        yield from Report(judge, self.name, self.sources, self.options.events).everything(self.heard.xruns - self.xruns)

    def look(self, _: str = "") -> Iterator[Message]:
        """Judges what was heard since the last look. Leaves out the latest moments, because it is not known
        yet whether they were steady."""
        self.is_reported = True
        self.mark()
        if not len(self.heard.cycles):
            return
        judge = Judge(self.heard, self.period, self.began, NEWS_TAKE, self.early)
        rate, last = self.heard.rate, int(self.heard.frames[-1])
        until = last - int(UNRIPE * rate)
        report = Report(judge, self.name, self.sources, self.options.events)
        for port, source in enumerate(self.sources):
            yield from report.look(port, source, self.looked_to, until)
        yield report.method(self.heard.xruns - self.xruns)
        now = self.heard.cycles[-1]
        yield {"type": "looked", "peers": self.heard.peers, "now": rounded(now["wake"], 0), "beat": rounded(now["beat"], 4),
               "tempo": rounded(60e6 / now["micros_per_beat"], 3), "state": int(now["state"]),
               "lost": int(((self.heard.frames[1:] > self.looked_to) & (judge.since[1:] < 2)).sum())}
        self.looked_to, self.xruns = max(self.looked_to, until), self.heard.xruns
        self.remember(judge.wall)
        self.heard.forget(last - int(REMEMBERED * rate))

    def wait_for_peers(self, count: int) -> None:
        self.ready()
        for _ in range(100):
            if self.tell("peers")["count"] >= count:
                return
            time.sleep(0.1)
        self.say({"type": "note", "text": f"fewer than {count} Link peers in the session after 10 s"})

    def section(self, name: str, seconds: float) -> None:
        self.tell(f"section {name}")
        time.sleep(seconds)
        self.tell("report")

    def end(self) -> int:
        assert self.process.stdin
        if not self.is_reported:
            self.tell("report")
        self.process.stdin.close()
        return driver.ended(self.process)


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")


def in_words(quantum: float) -> Callable[[Message], None]:
    def say_it(message: Message) -> None:
        if (line := words.line(message, quantum)) is not None:
            sys.stdout.write(line + "\n")
    return say_it


def lines(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[str]:
    """The lines of standard input, until it ends, the time is over, or the recorder ends."""
    end, pending = time.monotonic() + (seconds or 1e9), b""
    while process.poll() is None and (left := end - time.monotonic()) > 0:
        if not select.select([] if seconds else [0], [], [], min(left, 0.1))[0]:
            continue
        if not (more := os.read(0, 4096)):
            return
        *whole, pending = (pending + more).split(b"\n")
        for line in whole:
            if line.split() == [b"end"]:
                return
            yield line.decode(errors="replace")


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if arguments[:1] == ["--build"]:
        print(build.native("record"))
        return 0
    ear = Ear(arguments)
    ear.say = say if ear.options.json else in_words(ear.options.quantum)
    try:
        ear.ready()
        sys.stdout.flush()
        for line in lines(ear.process, getattr(ear.options, "for")):
            if (answer := ear.tell(line)).get("type") in ("peers", "looked"):
                ear.say(answer)
            sys.stdout.flush()
        return ear.end()
    except (Deaf, BrokenPipeError) as problem:
        sys.stderr.write(f"listen: {problem}\n" if ear.process.poll() is None else "")
        return ear.process.wait()
    finally:
        sys.stdout.flush()
