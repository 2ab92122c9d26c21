# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench idle: wake-ups, processor and memory while nobody does anything. [--quick] [--json FILE]

tactus with its click off and Ableton's LinkHut, each in a terminal, both in one session and on one JACK server of 256 frames;
then tactus without a terminal, as a service has it, beside LinkHut again. Wake-ups are the kernel's count of how often a
thread waited and went on, of all threads but the one that JACK calls in each cycle. TACTUS_PROGRAM measures that program
instead. A minute."""

import os
import subprocess
import tempfile
import time
from typing import Any

from .. import processes
from . import start
from .actors import Figures
from .start import Program

CYCLES = 48_000 / 256  # a second


class Service(Program):
    """Nobody watches it."""

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=self.environment)
        self.terminal = os.open(os.devnull, os.O_WRONLY)


def memory(process: int) -> dict[str, int]:
    with open(f"/proc/{process}/smaps_rollup") as file:
        found = {words[0]: int(words[1]) for words in map(str.split, file) if words[0].endswith(":")}
    return {"resident_kB": found["Rss:"], "jack_shared_kB": processes.status(process, "RssShmem"),
            "private_kB": found["Private_Clean:"] + found["Private_Dirty:"]}


def rest(programs: list[Program], seconds: float) -> list[Figures]:
    """All of them at once."""
    def drain(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for program in programs:
                program.drain(0.02)

    for program in programs:
        program.start()
    drain(4)
    before = [(processes.switches(p.process.pid), processes.used(p.process.pid)) for p in programs]
    began = time.monotonic()
    drain(seconds)
    took, found = time.monotonic() - began, []
    for program, (switches, used) in zip(programs, before, strict=True):
        pid = program.process.pid
        rates = sorted((count - switches.get(thread, 0)) / took for thread, count in processes.switches(pid).items())
        rates.remove(min(rates, key=lambda rate: abs(rate - CYCLES)))
        found.append({"wakeups": round(sum(rates), 1), "busiest": round(rates[-1], 1), "threads": len(rates) + 1,
                      "processor_percent": round((processes.used(pid) - used) / took / 1e7, 2), **memory(pid)})
        program.stop()
    return found


ready = start.program


def measure(options: Any) -> tuple[object, bool]:
    seconds = 5 if options.quick else 20
    with tempfile.TemporaryDirectory() as home:
        command = [start.program(), "--link"]
        hut = Program("LinkHut", ["LinkHut"], b"a", home)
        shown, peer = rest([Program("tactus", command, b"", home), hut], seconds)
        service, _ = rest([Service("tactus", command, b"", home), hut], seconds)
    result = {"tactus": shown, "tactus, no terminal": service, "LinkHut": peer}
    print(f"{'':<34}" + "".join(f" {name:>20}" for name in result))
    for what, value in (
            ("wake-ups outside the callback, /s", lambda r: f"{r['wakeups']:.0f}"),
            ("  of the busiest thread", lambda r: f"{r['busiest']:.0f}"),
            ("processor, % of a core", lambda r: f"{r['processor_percent']:.2f}"),
            ("resident memory, MB", lambda r: f"{r['resident_kB'] / 1024:.1f}"),
            ("  without JACK's shared memory, MB", lambda r: f"{(r['resident_kB'] - r['jack_shared_kB']) / 1024:.1f}"),
            ("  its own alone, MB", lambda r: f"{r['private_kB'] / 1024:.1f}"),
            ("threads", lambda r: r["threads"])):
        print(f"{what:<34}" + "".join(f" {value(each):>20}" for each in result.values()))
    return result, True
