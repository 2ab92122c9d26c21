# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the evening: tactus, the listener, the peers on the second host, and an OSC
controller."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import listening, osc, processes
from ..listening.report import Message
from ..peers import driver


class Ear(listening.Ear):
    """tools/listen, which is asked once a second what it has heard."""

    def __init__(self, ports: list[str], heard: Callable[[Message], object], environment: Mapping[str, str]) -> None:
        super().__init__(["--events", "--tempo", "120", *ports], heard, {**os.environ, **environment})

    def hear(self) -> tuple[dict[str, Message], Message]:
        """What was heard at each port, then a message about how well it could be heard and about the
        session."""
        found = list(self.look())
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
    """LinkHut or the reference library on host 2. A peer that answers late must not delay the evening."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind, 2, stderr=subprocess.DEVNULL, start_new_session=True)
        self.enabled = False

    def tell(self, line: str) -> None:
        super().tell(line)
        if line.startswith("enable"):
            self.enabled = line == "enable on"

    def ask(self, line: str, may_refuse: bool = True, seconds: float | None = 20) -> dict[str, Any]:
        answer = super().ask(line, may_refuse, seconds)
        if self.owed:
            raise RuntimeError(f"{self.kind} does not answer")
        return answer

    def crash(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


class Controller(osc.Controller):
    """An OSC controller. Commands and questions use separate sockets, so that a flood of commands does not
    block the questions."""

    TABLETS = range(9000, 9004)  # the ports at which a controller listens

    def __init__(self) -> None:
        super().__init__()
        self.questions, self.told_all = osc.Controller(), 0
        self.tablets = [osc.speaker() for _ in self.TABLETS]
        for port, each in zip(self.TABLETS, self.tablets):
            each.bind(("127.0.0.1", port))
        self.sock.setblocking(False)

    def send(self, path: str, *values: object) -> None:
        self.raw(osc.message("/tactus/" + path, None, *values))

    def raw(self, datagram: bytes) -> None:
        with contextlib.suppress(OSError):  # no program listens there; the pings will report that
            self.sock.sendto(datagram, self.address)
        self.drain()

    def drain(self) -> None:
        osc.came(self.sock)
        self.told_all += sum(len(osc.came(each)) for each in self.tablets)

    def ask(self) -> None:
        self.questions.say("ping", None, str(time.monotonic_ns()))

    def answers(self) -> int:
        """The number of pongs that arrived."""
        self.drain()
        return sum(b"/tactus/pong" in each for each in osc.came(self.questions.sock))
