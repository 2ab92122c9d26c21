# SPDX-License-Identifier: GPL-2.0-or-later
"""SooperLooper as a peer: the program itself, with one loop that is quantized to JACK's bars, steered over its OSC (lines.py).

It listens at looper:common_in_1 and plays at looper:common_out_1. Its loops are not stretched with the tempo: SooperLooper 1.7.8 plays
them at more than twice the speed then, or not at all."""

import os
import signal
import subprocess
import time

from .. import build, osc
from . import lines
from .lines import Fields

ENGINE = ("127.0.0.1", 9951)
JACK_SYNC, CYCLE = -1, 1
# A cycle is a bar of four quarters; nothing passes but what is looped.
OF_ALL = {"sync_source": JACK_SYNC, "eighth_per_cycle": 8}
OF_THE_LOOP = {"sync": 1, "quantize": CYCLE, "playback_sync": 1, "autoset_latency": 0, "input_latency": 0,
               "output_latency": 0, "trigger_latency": 0, "input_gain": 1, "use_common_ins": 1, "use_common_outs": 1, "wet": 1, "dry": 0}
RECORDING, PLAYING = 2, 4


class Looper:
    pause = 0.02

    def __init__(self) -> None:
        self.sock = osc.speaker()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(0.5)
        self.here = f"osc.udp://127.0.0.1:{self.sock.getsockname()[1]}/"
        # What it says on its errors is what we say.
        self.engine = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "sooperlooper", "-q", "-l", "1", "-c", "1", "-t", "60",
                                        "-p", str(ENGINE[1]), "-j", "looper"], stdout=subprocess.DEVNULL,
                                       env={**os.environ, "LD_PRELOAD": build.native("sequencer")})
        self.status()
        for name, value in OF_ALL.items():
            self.say("/set", name, float(value))
        for name, value in OF_THE_LOOP.items():
            self.say("/sl/0/set", name, float(value))

    def say(self, address: str, *words: str | float) -> None:
        self.sock.sendto(osc.message(address, None, *words), ENGINE)

    def ask(self, address: str, name: str) -> float:
        """Again and again: it may not be there yet."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.engine.poll() is None:
            self.say(address, name, self.here, "/told")
            try:
                while True:
                    for _, values in osc.messages(self.sock.recv(4096)):
                        if values[1] == name:
                            return float(values[2])
            except (TimeoutError, ConnectionRefusedError):
                time.sleep(0.05)
        raise SystemExit("looper: SooperLooper does not answer")

    def status(self) -> Fields:
        state = round(self.ask("/sl/0/get", "state"))
        return {"recording": state == RECORDING, "playing": state == PLAYING, "seconds": self.ask("/sl/0/get", "loop_len"),
                "tempo": self.ask("/get", "tempo")}

    def record(self) -> None:
        """From the next bar line, and when asked again until the next."""
        self.say("/sl/0/hit", "record")

    def leave(self) -> None:
        self.engine.send_signal(signal.SIGTERM)
        self.engine.wait()


def main(arguments: list[str]) -> None:
    lines.serve(Looper())
