# SPDX-License-Identifier: GPL-2.0-or-later
"""Inside a lab: proofs.scene PRELOAD SECONDS PROGRAM STAGE. Runs the real tactus with PRELOAD, everything on, and a life
around it: a peer of Ableton's own library that changes the tempo, starts and stops, OSC traffic (talk.py), and
somebody at JACK's controls (STAGE hand) who connects, cuts, starts, stops, locates, and plays notes."""

import os
import subprocess
import time

from ..peers import driver
from .talk import Talker


def main(words: list[str]) -> int:
    preload, seconds, program, stage = words
    said: list[str] = []
    tactus = driver.Program([program, "--click", "--clock-when=always", "--pulse-rate=24", "--click-subdivision=2", "--startstop", "--click-countin"],
                            dict(os.environ, LD_PRELOAD=preload), ("OSC: ",), said.append, errors=subprocess.STDOUT)
    peer = driver.Peer("reference")
    for line in ("enable on", "sync on", "wait peers 1 20"):
        peer.ask(line)
    talker = Talker()
    hand = subprocess.Popen([stage, "hand", seconds])
    tempo = 90
    while hand.poll() is None:
        tempo = (tempo * 7 + 13) % 200 + 60
        peer.ask(f"tempo {tempo}")
        time.sleep(0.3)
        peer.ask("play")
        time.sleep(0.4)
        peer.ask("stop")
        peer.ask("force 0")
    heard = talker.end()
    if status := tactus.end():
        print("\n".join(said[-5:]))
    print(heard)
    return status
