# SPDX-License-Identifier: GPL-2.0-or-later
"""A peer in another process, driven by lines; and tactus, as a command that is started and says things."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..common import LAB, fail


class Peer:
    """`kind` is one of the lab's peers, or the command of another program that speaks so."""

    def __init__(self, kind: str | Sequence[str], host: int | None = None, environment: Mapping[str, str] | None = None,
                 errors: int | None = None, is_leader: bool = False) -> None:
        self.kind = kind if isinstance(kind, str) else kind[0]
        command = [LAB, "peer", kind] if isinstance(kind, str) else [*kind]
        self.process = subprocess.Popen([LAB, "on", str(host), *command] if host else command, env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                        start_new_session=is_leader)

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str, may_refuse: bool = False) -> dict[str, Any]:
        assert self.process.stdout
        self.write(line)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline() or '{"ok": false, "error": "it ended"}')
        if not answer["ok"] and not may_refuse:
            fail(self.kind, f"{line}: {answer['error']}", 1)
        return answer

    def end(self) -> None:
        """It leaves the session as users do."""
        assert self.process.stdin
        self.process.stdin.close()
        ended(self.process)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def ended(process: "subprocess.Popen[Any]", seconds: float = 10) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Program:
    """What it says goes to `hear`, in a thread of its own; lines that begin with one of `marks` can be waited for. Without
    either it is said on our standard error."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None, marks: tuple[str, ...] = (),
                 hear: Callable[[str], object] = lambda line: None, errors: int | None = None) -> None:
        self.marks, self.hear = marks, hear
        self.child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True, stderr=errors,
                                      stdout=subprocess.PIPE if marks else sys.stderr)
        self.pid = self.child.pid
        self.inbox: queue.Queue[str | None] = queue.Queue()
        if marks:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.child.stdout or ():
            if line.startswith(self.marks):
                self.inbox.put(line)
            self.hear(line.rstrip())
        self.inbox.put(None)

    def wait_for(self, mark: str, seconds: float = 30) -> None:
        line: str | None = ""
        while line is not None and not line.startswith(mark):
            try:
                line = self.inbox.get(timeout=seconds)
            except queue.Empty:
                line = None
        if line is None:
            fail("tools", f"tactus did not say: {mark}", 1)

    def end(self) -> int:
        self.child.terminate()
        return ended(self.child)


def without_choices(home: str) -> dict[str, str]:
    """An environment with neither the user's configuration nor his memory."""
    return dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_STATE_HOME=home)
