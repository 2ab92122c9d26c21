# SPDX-License-Identifier: GPL-2.0-or-later
"""aalink from PyPI as a peer, as live coders use it: its Link code is newer than Debian's. Driven by lines
(lines.py)."""

import asyncio
import os
import threading

import aalink

from . import lines
from .lines import Fields


class Coder:
    pause = 0.01

    def __init__(self) -> None:
        # aalink needs a running event loop.
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        self.link = asyncio.run_coroutine_threadsafe(self.made(), loop).result()

    @staticmethod
    async def made() -> "aalink.Link":
        link = aalink.Link(120)
        link.quantum = 4
        return link

    def status(self) -> Fields:
        beat, now = self.link.beat, lines.link_time()
        return {"enabled": self.link.enabled, "peers": self.link.num_peers, "sync": self.link.start_stop_sync_enabled,
                "playing": self.link.playing, "tempo": self.link.tempo, "quantum": self.link.quantum, "time": now,
                "beat": beat, "pid": os.getpid()}

    def enable(self, word: str) -> None:
        self.link.enabled = lines.switch(word)

    def sync(self, word: str) -> None:
        self.link.start_stop_sync_enabled = lines.switch(word)

    def tempo(self, bpm: str) -> None:
        self.link.tempo = float(bpm)

    def play(self) -> None:
        self.link.playing = True

    def stop(self) -> None:
        self.link.playing = False

    def peers(self) -> Fields:
        return {"peers": self.link.num_peers}

    def leave(self) -> None:
        self.link.enabled = False


def main(_: list[str]) -> None:
    lines.serve(Coder())
