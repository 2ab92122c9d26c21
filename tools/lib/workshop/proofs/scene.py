# SPDX-License-Identifier: GPL-2.0-or-later
"""Inside a lab: proofs.scene PRELOAD SECONDS PROGRAM STAGE. Runs the real tactus with PRELOAD, everything on, and a life
around it: a peer of Ableton's own library that changes the tempo, starts and stops, another tactus that sends it channels of
sound and plays its own, and leaves and comes back, somebody at JACK's controls (STAGE hand) who connects, cuts, starts, stops, locates, and plays notes, and
200 OSC messages a second: everything that reaches the audio thread and some nonsense. Says how much of an answer came."""

import os
import random
import subprocess
import threading
import time

from ..osc import Controller
from ..peers import driver

dice = random.Random(1)
WORDS = {
    "click/pattern": ["Xxxx", "X.x.", "", "Xx"], "pulse/rate": ["bar", "1", "2", "4", "24", "48"],
    "audio/send": ["One", "Two=mono"], "audio/send/end": ["One", "Two"], "audio/receive": ["*/*"], "audio/receive/end": ["*/*"],
    "link/audio/delay": ["auto", "50", "1beat", "2bars"], "jack/sink": ["auto", "system", "no*where"], "link/name": ["auto", "Rack"], "launch": ["now", "beat", "bar"], "lead": ["link", "host", "auto"], "start": ["now", "beat", "bar"],
}
NUMBERS = {
    "tempo": (60, 240), "quantum": (1, 8), "click/volume": (0.4, 1), "click/sound": (0, 3), "click/subdivision": (1, 4),
    "click/offset": (-20, 20), "click/2/offset": (-20, 20), "clock/offset": (-20, 20), "pulse/offset": (-20, 20),
    "run/offset": (-20, 20), "jack/offset": (-20, 20), "clock/when": (0, 1), "count/in": (0, 1),
    "launch/exact": (0, 1), "tempo/fader": (0, 1), "no/such/thing": (0, 1), "tempo/range": (-9, 9),
}
TRIGGERS = ["tempo/tap", "tempo/up", "tempo/down", "stop", "toggle", "rewind", "align", "takeover"]


class Talker(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.controller, self.sent, self.heard, self.is_over = Controller(), 0, 0, False
        self.controller.say("subscribe", "s", "state beat phase position")
        self.start()

    def say(self) -> None:
        kind, (name, words), (number, ends) = dice.randrange(8), dice.choice([*WORDS.items()]), dice.choice([*NUMBERS.items()])
        if kind == 0:
            self.controller.say(name, "s", dice.choice(words))
        elif kind == 1:
            self.controller.say(dice.choice(TRIGGERS))
        elif kind == 2 and dice.random() < 0.2:
            self.controller.sock.sendto(dice.randbytes(dice.randrange(64)), self.controller.address)
        else:
            self.controller.say(number, "f", dice.uniform(*ends))

    def run(self) -> None:
        while not self.is_over:
            self.say()
            self.sent += 1
            self.heard += sum(1 for _ in self.controller.told(0.005))



def another(program: str) -> driver.Program:
    words = [program, "--name=other", "--no-tui", "--no-osc", "--link-audio", "--send=There=other:click_1", "--click", "--receive=*/*"]
    return driver.Program(words, driver.without_choices("/dev/shm/other"), ("JACK server",))


def main(words: list[str]) -> int:
    preload, seconds, program, stage = words
    said: list[str] = []
    tactus = driver.Program([program, "--click", "--clock-when=always", "--pulse-rate=24", "--click-subdivision=2", "--startstop", "--count-in=1",
                             "--link-audio", "--send=Click=tactus:click_1,tactus:click_2", "--receive=*/*"],
                            dict(os.environ, LD_PRELOAD=preload), ("OSC: ",), said.append, errors=subprocess.STDOUT)
    other = another(program)
    other.wait_for("JACK server")
    peer = driver.Peer("reference")
    for line in ("enable on", "sync on", "wait peers 2 20"):
        peer.ask(line)
    talker = Talker()
    hand = subprocess.Popen([stage, "hand", seconds])
    tempo, rounds = 90, 0
    while hand.poll() is None:
        rounds += 1
        # The other tactus, with its Link Audio channels, is away for one round in four.
        if rounds % 4 == 2:
            other.end()
        elif rounds % 4 == 3:
            other = another(program)
        tempo = (tempo * 7 + 13) % 200 + 60
        peer.ask(f"tempo {tempo}")
        time.sleep(0.3)
        peer.ask("play")
        time.sleep(0.4)
        peer.ask("stop")
        peer.ask("force 0")
    talker.is_over = True
    talker.join()
    if rounds % 4 != 2:
        other.end()
    if status := tactus.end():
        print("\n".join(said[-5:]))
    print(f"OSC: {talker.sent} messages sent, {talker.heard} heard; the other tactus left {(rounds + 2) // 4} times")
    return status
