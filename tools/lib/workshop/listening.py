# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/listen (native/listen), and how another program drives it: lines in, JSON lines out."""

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import build
from .peers import driver

Message = dict[str, Any]


def main(words: list[str]) -> None:
    program = build.native("listen")
    if words[:1] == ["--build"]:
        print(program)
    else:
        os.execv(program, [program, *words])


class Deaf(RuntimeError):
    """The listener says nothing, or has ended."""


class Ear:
    """With `say` only what is asked for is left for us to wait for; all else is passed on as soon as it is said."""

    def __init__(self, options: Sequence[str], say: Callable[[Message], object] | None = None,
                 environment: Mapping[str, str] | None = None) -> None:
        self.say, self.inbox = say, queue.Queue[Message | None]()
        self.process = subprocess.Popen([build.native("listen"), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout or ():
            message = json.loads(line)
            if self.say and message["type"] not in ("peers", "looked"):
                self.say(message)
            if not self.say or message["type"] in ("ready", "peers", "looked", "end"):
                self.inbox.put(message)
        self.inbox.put(None)

    def next(self, seconds: float) -> Message:
        try:
            message = self.inbox.get(timeout=max(0.01, seconds))
        except queue.Empty:
            raise Deaf("the listener is silent") from None
        if message is None:
            raise Deaf("the listener ended")
        return message

    def wait(self, kind: str, seconds: float) -> Message:
        deadline = time.monotonic() + seconds
        while (message := self.next(deadline - time.monotonic()))["type"] != kind:
            pass
        return message

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for_peers(self, count: int) -> None:
        self.wait("ready", 30)
        for _ in range(100):
            self.tell("peers")
            if self.wait("peers", 5)["count"] >= count:
                return
            time.sleep(0.1)
        if self.say:
            self.say({"type": "note", "text": f"fewer than {count} Link peers in the session after 10 s"})

    def report(self) -> None:
        self.tell("report")
        self.wait("end", 60)

    def look(self) -> Message:
        self.tell("look")
        return self.wait("looked", 5)

    def section(self, name: str, seconds: float) -> None:
        self.tell(f"section {name}")
        time.sleep(seconds)
        self.report()

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        driver.ended(self.process)
