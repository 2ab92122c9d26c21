# SPDX-License-Identifier: GPL-2.0-or-later
"""A running SooperLooper, started by the session `loopers`: its first loop is controlled over OSC
(lines.py)."""

import time

from .. import osc
from . import lines
from .lines import Fields

ENGINE = ("127.0.0.1", 9951)
RECORDING, PLAYING = 2, 4


class Looper:
    pause = 0.02

    def __init__(self) -> None:
        self.sock = osc.speaker()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(0.5)
        self.here = f"osc.udp://127.0.0.1:{self.sock.getsockname()[1]}/"

    def say(self, address: str, *words: str) -> None:
        self.sock.sendto(osc.message(address, None, *words), ENGINE)

    def ask(self, address: str, name: str) -> float:
        """Asks until an answer comes: the looper may not run yet."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.say(address, name, self.here, "/told")
            try:
                while True:
                    for _, values in osc.messages(self.sock.recv(4096)):
                        if values[1] == name:
                            return float(values[2])
            except (TimeoutError, ConnectionRefusedError):
                time.sleep(0.05)
        raise lines.Refused("SooperLooper does not answer")

    def status(self) -> Fields:
        state = round(self.ask("/sl/0/get", "state"))
        return {"recording": state == RECORDING, "playing": state == PLAYING, "seconds": self.ask("/sl/0/get", "loop_len"),
                "tempo": self.ask("/get", "tempo")}

    def record(self) -> None:
        """Records from the next bar line; a second call ends the recording at the next bar line."""
        self.say("/sl/0/hit", "record")

    def leave(self) -> None:
        self.sock.close()


def main(_: list[str]) -> None:
    lines.serve(Looper())
