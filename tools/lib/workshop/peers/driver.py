# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts peers in other processes and drives them by lines. Also starts tactus as a command whose output is
read."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..common import LAB, fail


class Child:
    """A process whose lines are read. Lines that begin with one of `marks` can be waited for; all lines go
    to `hear`. A thread reads them, because a full pipe would block the process."""

    def __init__(self, command: Sequence[str], marks: tuple[str, ...] = ("",), hear: Callable[[str], object] = lambda line: None,
                 **how: Any) -> None:
        self.marks, self.hear = marks, hear
        self.process = subprocess.Popen(command, **{"text": True, "stdout": subprocess.PIPE, **how})
        self.pid = self.process.pid
        self.inbox: queue.Queue[Any] = queue.Queue()
        if self.process.stdout:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout or ():
            if line.startswith(self.marks):
                self.inbox.put(line.rstrip())
            self.hear(line.rstrip())
        self.inbox.put(None)

    def next(self, seconds: float | None = None) -> str | None:
        """The next line; None: the process has ended, or was silent for this long."""
        with contextlib.suppress(queue.Empty):
            line: str | None = self.inbox.get(timeout=seconds)
            if line is not None:
                return line
            self.inbox.put(None)  # for later calls
        return None

    def tell(self, line: str) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):  # the process has ended and has printed the reason
            os.write(self.process.stdin.fileno(), f"{line}\n".encode())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Peer(Child):
    """A peer that is driven by lines. `kind` is one of the lab's peers, or the command of another program
    with the same protocol. Answers come in order, and only callers that need an answer wait for it."""

    def __init__(self, kind: str | Sequence[str], host: int | None = None, **how: Any) -> None:
        self.kind, self.owed = kind if isinstance(kind, str) else kind[0], 0
        command = [LAB, "peer", kind] if isinstance(kind, str) else [*kind]
        super().__init__([LAB, "on", str(host), *command] if host else command, stdin=subprocess.PIPE, **how)

    def tell(self, line: str) -> None:
        self.owed += 1
        super().tell(line)

    def ask(self, line: str, may_refuse: bool = False, seconds: float | None = None) -> dict[str, Any]:
        self.tell(line)
        last: str | None = ""
        while self.owed and (last := self.next(seconds)) is not None:
            self.owed -= 1
        answer: dict[str, Any] = json.loads(last or '{"ok": false, "error": "it does not answer"}')
        if not answer["ok"] and not may_refuse:
            fail(self.kind, f"{line}: {answer['error']}", 1)
        return answer

    def end(self) -> None:
        """Ends the peer by closing its input: it leaves the session as it does for users."""
        assert self.process.stdin
        self.process.stdin.close()
        ended(self.process)


def ended(process: "subprocess.Popen[Any]", seconds: float = 10) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Program(Child):
    """tactus or another program. Without marks, its output goes to our standard error."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None, marks: tuple[str, ...] = (),
                 hear: Callable[[str], object] = lambda line: None, errors: int | None = None) -> None:
        super().__init__(command, marks, hear, env=environment, stdin=subprocess.DEVNULL, stderr=errors,
                         stdout=subprocess.PIPE if marks else sys.stderr)

    def wait_for(self, mark: str, seconds: float = 30) -> None:
        while (line := self.next(seconds)) is not None:
            if line.startswith(mark):
                return
        fail("tools", f"tactus did not say: {mark}", 1)

    def end(self) -> int:
        self.process.terminate()
        return ended(self.process)


def without_choices(home: str) -> dict[str, str]:
    """An environment without the user's configuration and remembered choices."""
    return dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_STATE_HOME=home)
