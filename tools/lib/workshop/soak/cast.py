# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the evening: tactus, the listener, peers on the second host, somebody with an OSC controller."""

import contextlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import listening, osc, processes
from ..listening.report import Message
from ..peers import driver


class Ear(listening.Ear):
    """tools/listen, asked once a second what it has heard."""

    def __init__(self, ports: list[str], heard: Callable[[Message], object], environment: Mapping[str, str]) -> None:
        super().__init__(["--events", "--tempo", "120", *ports], heard, {**os.environ, **environment})

    def hear(self) -> tuple[dict[str, Message], Message]:
        """{port: what was heard there}, how well it could be heard, and where the session is."""
        found = list(self.listener.obey("look"))
        for message in found:
            self.say(message)
        return {message["port"]: message for message in found if message["type"] == "heard"}, found[-1]


class Tactus(driver.Program):
    def __init__(self, program: str, say: Callable[[str], object], environment: Mapping[str, str]) -> None:
        super().__init__(
            [program, "--name", "tactus", "--click", "--clock-when=always", "--click-sound=tick", "--osc-query=8080"],
            {**driver.without_choices(tempfile.mkdtemp(prefix="tactus-soak-")), **environment}, ("OSC: ",),
            lambda line: say("tactus: " + line), errors=subprocess.STDOUT)

    def figures(self) -> dict[str, int]:
        return {"kilobytes": processes.status(self.pid, "RssAnon"), "threads": len(processes.threads(self.pid)),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd"))}


class Peer(driver.Peer):
    """LinkHut or the reference library on host 2. Whoever answers late must not hold up the evening, so answers are waited for
    only by those who want one."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind, 2, errors=subprocess.DEVNULL, is_leader=True)
        self.enabled, self.owed = False, 0
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout or ():
            self.answers.put(line)

    def tell(self, line: str) -> None:
        self.owed += 1
        with contextlib.suppress(BrokenPipeError):
            self.write(line)
        if line.startswith("enable"):
            self.enabled = line == "enable on"

    def ask(self, line: str, may_refuse: bool = True) -> dict[str, Any]:
        self.tell(line)
        last = ""
        try:
            while self.owed:
                last = self.answers.get(timeout=20)
                self.owed -= 1
        except queue.Empty:
            raise RuntimeError(f"{self.kind} does not answer") from None
        answer: dict[str, Any] = json.loads(last)
        return answer

    def crash(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Controller:
    """Commands from one socket, questions from another, so that a flood of the one starves not the other."""

    TABLETS = range(9000, 9004)  # where somebody listens

    def __init__(self) -> None:
        self.commands, self.questions, *self.tablets = (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2 + len(self.TABLETS)))
        for port, each in zip((0, 0, *self.TABLETS), (self.commands, self.questions, *self.tablets)):
            each.bind(("127.0.0.1", port))
        self.commands.setblocking(False)
        self.questions.setblocking(False)
        self.told = 0

    def send(self, path: str, *values: object) -> None:
        self.raw(osc.message("/tactus/" + path, None, *values))

    def raw(self, datagram: bytes) -> None:
        try:
            self.commands.sendto(datagram, osc.HOST)
        except OSError:
            pass  # nobody listens: that is for the questions to find out
        self.drain()

    def drain(self) -> None:
        while ready := select.select([self.commands, *self.tablets], [], [], 0)[0]:
            for each in ready:
                try:
                    each.recv(65536)
                    self.told += each is not self.commands
                except OSError:
                    return

    def ask(self) -> None:
        try:
            self.questions.sendto(osc.message("/tactus/ping", None, str(time.monotonic_ns())), osc.HOST)
        except OSError:
            pass

    def answers(self) -> int:
        """How many pongs came."""
        self.drain()
        count = 0
        while select.select([self.questions], [], [], 0)[0]:
            try:
                count += b"/tactus/pong" in self.questions.recv(65536)
            except OSError:
                break
        return count
