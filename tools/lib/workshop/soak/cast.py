# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the evening: tactus, the listener, peers on the second host, somebody with an OSC controller."""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import listening, osc, processes
from ..common import LAB
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
            [program, "--name", "tactus", "--click", "--clock=always", "--sound=tick", "--osc-query=8080"],
            {**driver.without_choices(tempfile.mkdtemp(prefix="tactus-soak-")), **environment}, ("OSC: ",),
            lambda line: say("tactus: " + line), errors=subprocess.STDOUT)

    def figures(self) -> dict[str, int]:
        return {"kilobytes": processes.status(self.pid, "RssAnon"), "threads": len(processes.threads(self.pid)),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd"))}


class Peer:
    """LinkHut or the reference library on host 2, behind the lab's line protocol. Whoever answers late must not hold up the
    evening, so answers are waited for only by those who want one."""

    def __init__(self, kind: str) -> None:
        self.kind, self.enabled, self.owed, self.begun, self.answer = kind, False, 0, b"", b""
        driver = subprocess.Popen([LAB, "on", "2", LAB, "peer", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        assert driver.stdin and driver.stdout
        self.driver, self.input, self.output = driver, driver.stdin, driver.stdout
        fcntl.fcntl(self.output, fcntl.F_SETFL, os.O_NONBLOCK)

    def tell(self, line: str) -> None:
        try:
            self.input.write(line.encode() + b"\n")
            self.input.flush()
            self.owed += 1
            self.hear()
        except (BrokenPipeError, BlockingIOError):
            pass
        if line.startswith("enable"):
            self.enabled = line == "enable on"

    def hear(self) -> None:
        """Takes what has been answered; only the last answer is kept."""
        *lines, self.begun = (self.begun + (self.output.read() or b"")).split(b"\n")
        self.owed -= len(lines)
        self.answer = lines[-1] if lines else self.answer

    def ask(self, line: str, seconds: float = 20) -> dict[str, Any]:
        self.tell(line)
        end = time.monotonic() + seconds
        while self.owed > 0 and time.monotonic() < end and self.driver.poll() is None:
            select.select([self.output], [], [], 0.05)
            self.hear()
        if self.owed > 0:
            raise RuntimeError(f"{self.kind} does not answer")
        answer: dict[str, Any] = json.loads(self.answer)
        return answer

    def crash(self) -> None:
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()


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
