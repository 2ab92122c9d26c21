# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's LinkHut as a peer: the program itself in a pseudo-terminal. Its keys are pressed, and its status
line is read (lines.py).

It needs a JACK server. The values that it shows are 10 to 20 ms old and have two decimals. It cannot set a
time."""

import re
import signal
import threading
import time

import pexpect

from ..lab import kernel
from . import lines
from .lines import Fields

#                     enabled     peers     quantum   sync      state       tempo       beats
STATUS = re.compile(rb"(yes|no) +\| (\d+) +\| (\d+) +\| (yes|no) +\[(\w+)\] +\| ([\d.]+) +\| (-?[\d.]+) +\|")
# The longest time from a key to its effect on the status line. LinkHut starts and stops in its audio cycle,
# which JACK may delay for any time on a loaded machine.
REACTS_WITHIN = 10.0


class LinkHut:
    pause = 0.005

    def __init__(self) -> None:
        self.shown: tuple[bytes, ...] | None = None
        self.shown_at, self.fresh, self.has_ended = 0, threading.Condition(), False
        # A line of LinkHut must fit, otherwise the terminal wraps it.
        self.terminal = pexpect.spawn("LinkHut", dimensions=(24, 200), preexec_fn=kernel.die_with_parent)
        self.terminal.delaybeforesend = None
        threading.Thread(target=self.read, daemon=True).start()
        self.status()

    def read(self) -> None:
        while not self.has_ended:
            ended = self.terminal.expect([STATUS, pexpect.EOF], timeout=None)
            with self.fresh:
                self.has_ended, self.shown_at = bool(ended), lines.link_time()
                self.shown = None if ended else self.terminal.match.groups()
                self.fresh.notify_all()

    def status(self) -> Fields:
        with self.fresh:
            if not self.fresh.wait_for(lambda: self.shown or self.has_ended, timeout=10) or not self.shown:
                raise SystemExit("linkhut: LinkHut shows nothing; is there a JACK server?")
            enabled, peers, quantum, sync, state, tempo, beats = self.shown
            return {
                "enabled": enabled == b"yes", "peers": int(peers), "sync": sync == b"yes",
                "playing": state == b"playing", "tempo": float(tempo), "quantum": float(quantum),
                "time": self.shown_at, "beat": float(beats), "phase": float(beats) % float(quantum), "pid": self.terminal.pid,
            }

    def key(self, *words: str) -> None:
        self.terminal.send(" ".join(words))

    def press_until(self, field: str, wanted: bool | float, key: str, back: str | None = None) -> None:
        """Presses KEY, or BACK if the value must fall, one at a time, until the status line shows the
        wanted value."""
        for _ in range(1000):
            before = self.status()[field]
            if before == wanted:
                return
            self.key(back if back is not None and before > wanted else key)
            deadline = time.monotonic() + REACTS_WITHIN
            while self.status()[field] == before:
                if time.monotonic() > deadline:
                    raise lines.Refused(f"{field} stays {before}")
                time.sleep(self.pause)
        raise lines.Refused(f"{field} does not become {wanted}")

    def enable(self, word: str) -> None:
        self.press_until("enabled", lines.switch(word), "a")

    def sync(self, word: str) -> None:
        self.press_until("sync", lines.switch(word), "s")

    def play(self) -> None:
        self.press_until("playing", True, " ")

    def stop(self) -> None:
        self.press_until("playing", False, " ")

    def tempo(self, word: str) -> None:
        """Changes the tempo in LinkHut's steps of 1 BPM. A tempo between two steps cannot be reached."""
        if round(float(word) - self.status()["tempo"], 2) % 1 != 0:
            raise lines.Refused(f"LinkHut shows {self.status()['tempo']} and moves in steps of 1")
        self.press_until("tempo", float(word), "e", back="w")

    def quantum(self, word: str) -> None:
        self.press_until("quantum", float(word), "t", back="r")

    def beat(self) -> Fields:
        status = self.status()
        return {key: status[key] for key in ("time", "beat", "phase", "tempo")}

    def peers(self) -> Fields:
        return {"peers": self.status()["peers"]}

    def leave(self) -> None:
        self.key("q")
        with self.fresh:
            if not self.fresh.wait_for(lambda: self.has_ended, timeout=3):
                self.terminal.kill(signal.SIGKILL)


def main(_: list[str]) -> None:
    lines.serve(LinkHut())
