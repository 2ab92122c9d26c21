# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference library as a peer: LinkPython-extern from PyPI, driven by lines (lines.py)."""

import os
from collections.abc import Callable
from typing import Any

import link

from . import lines
from .lines import Fields


class Reference:
    pause = 0.001

    def __init__(self) -> None:
        self.link = link.Link(120.0)
        self.length = 4.0

    def status(self) -> Fields:
        now = lines.link_time()
        state = self.link.captureSessionState()
        return {
            "enabled": self.link.enabled, "peers": self.link.numPeers(), "sync": self.link.startStopSyncEnabled,
            "playing": state.isPlaying(), "tempo": state.tempo(), "quantum": self.length, "time": now,
            "beat": state.beatAtTime(now, self.length), "phase": state.phaseAtTime(now, self.length),
            "playing_since": state.timeForIsPlaying(), "pid": os.getpid(),
        }

    def change(self, what: Callable[[Any], object]) -> None:
        state = self.link.captureSessionState()
        what(state)
        self.link.commitSessionState(state)

    def enable(self, word: str) -> None:
        self.link.enabled = lines.switch(word)

    def sync(self, word: str) -> None:
        self.link.startStopSyncEnabled = lines.switch(word)

    def tempo(self, bpm: str, *at: str) -> None:
        self.change(lambda state: state.setTempo(float(bpm), lines.time_of(at)))

    def play(self, *at: str) -> None:
        self.change(lambda state: state.setIsPlaying(True, lines.time_of(at)))

    def stop(self, *at: str) -> None:
        self.change(lambda state: state.setIsPlaying(False, lines.time_of(at)))

    def quantum(self, word: str) -> None:
        self.length = float(word)

    def beat(self, *words: str) -> Fields:
        at, state = lines.time_of(words), self.link.captureSessionState()
        return {"time": at, "beat": state.beatAtTime(at, self.length), "phase": state.phaseAtTime(at, self.length),
                "tempo": state.tempo()}

    def time(self, word: str) -> Fields:
        return {"time": self.link.captureSessionState().timeAtBeat(float(word), self.length)}

    def request(self, beat: str, *at: str) -> None:
        self.change(lambda state: state.requestBeatAtTime(float(beat), lines.time_of(at), self.length))

    def force(self, beat: str, *at: str) -> None:
        self.change(lambda state: state.forceBeatAtTime(float(beat), lines.time_of(at), self.length))

    def start(self, beat: str, *at: str) -> None:
        self.change(lambda state: state.setIsPlayingAndRequestBeatAtTime(True, lines.time_of(at), float(beat), self.length))

    def peers(self) -> Fields:
        return {"peers": self.link.numPeers()}

    def leave(self) -> None:
        self.link.enabled = False  # says goodbye


def main(_: list[str]) -> None:
    lines.serve(Reference())
