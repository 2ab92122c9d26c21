# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures wake-ups, processor time and memory of tactus (click off) and of Ableton's LinkHut. Both idle in
one session, on one JACK server of 256 frames: first each in a terminal, then tactus without a terminal, as
a service runs it, beside LinkHut. A wake-up is the kernel's count of a thread that waited and continued, in
all threads except the one that JACK calls in each cycle. TACTUS_PROGRAM names another program to measure.
Takes a minute."""

import contextlib
import os
import pty
import subprocess
import tempfile
import termios
import threading
import time
from typing import Any

from .. import build, processes
from ..common import shell
from ..peers import driver
from .actors import Figures

STAGE: list[str] = []
CYCLES = 48_000 / 256  # a second


class Program:
    """A program in a terminal. LinkHut enables Link only when a key is pressed, so that key waits in the
    terminal before the program starts."""

    def __init__(self, command: list[str], keys: bytes, home: str) -> None:
        self.command, self.keys, self.environment = command, keys, dict(driver.without_choices(home), TERM="xterm")

    def start(self) -> None:
        self.terminal, inner = pty.openpty()
        termios.tcsetwinsize(inner, (24, 100))
        os.write(self.terminal, self.keys)
        self.process = subprocess.Popen(self.command, stdin=inner, stdout=inner, stderr=inner, env=self.environment)
        os.close(inner)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Empties the terminal, because a full terminal would block the program."""
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 65536):
                pass

    def stop(self) -> None:
        self.process.terminate()
        driver.ended(self.process)
        os.close(self.terminal)


class Service(Program):
    """A program without a terminal."""

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=self.environment)
        self.terminal = os.open(os.devnull, os.O_WRONLY)


def memory(process: int) -> dict[str, int]:
    with open(f"/proc/{process}/smaps_rollup") as file:
        found = {words[0]: int(words[1]) for words in map(str.split, file) if words[0].endswith(":")}
    return {"resident_kB": found["Rss:"], "jack_shared_kB": processes.status(process, "RssShmem"),
            "private_kB": found["Private_Clean:"] + found["Private_Dirty:"]}


def rest(programs: list[Program], seconds: float) -> list[Figures]:
    """The figures of programs that idle side by side."""
    for program in programs:
        program.start()
    time.sleep(4)
    before = [(processes.switches(p.process.pid), processes.used(p.process.pid)) for p in programs]
    began = time.monotonic()
    time.sleep(seconds)
    took, found = time.monotonic() - began, []
    for program, (switches, used) in zip(programs, before, strict=True):
        pid = program.process.pid
        rates = sorted((count - switches.get(thread, 0)) / took for thread, count in processes.switches(pid).items())
        rates.remove(min(rates, key=lambda rate: abs(rate - CYCLES)))
        found.append({"wakeups": round(sum(rates), 1), "busiest": round(rates[-1], 1), "threads": len(rates) + 1,
                      "processor_percent": round((processes.used(pid) - used) / took / 1e7, 2), **memory(pid)})
        program.stop()
    return found


def tactus() -> str:
    return os.path.realpath(os.environ.get("TACTUS_PROGRAM") or build.tactus())


def ready(_: object) -> None:
    shell("need_packages", "ableton-link-utils")
    tactus()


def measure(options: Any) -> tuple[object, bool]:
    seconds = 5 if options.quick else 20
    with tempfile.TemporaryDirectory() as home:
        command = [tactus(), "--link"]
        hut = Program(["LinkHut"], b"a", home)
        shown, peer = rest([Program(command, b"", home), hut], seconds)
        service, _ = rest([Service(command, b"", home), hut], seconds)
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
