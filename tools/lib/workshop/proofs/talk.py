# SPDX-License-Identifier: GPL-2.0-or-later
"""Talks OSC to the tactus of the scene, 200 messages a second, everything that reaches the audio thread and some
nonsense, until it is told to end. Says how much of an answer came."""

import random
import threading
import time

from ..osc import Controller

dice = random.Random(1)
WORDS = {
    "click/pattern": ["Xxxx", "X.x.", "", "Xx"], "pulse/rate": ["bar", "1", "2", "4", "24", "48"],
    "launch": ["now", "beat", "bar"], "lead": ["link", "host", "auto"], "start": ["now", "beat", "bar"],
}
NUMBERS = {
    "tempo": (60, 240), "quantum": (1, 8), "click/volume": (0.4, 1), "click/sound": (0, 3), "click/subdivision": (1, 4),
    "click/offset": (-20, 20), "click/2/offset": (-20, 20), "clock/offset": (-20, 20), "pulse/offset": (-20, 20),
    "run/offset": (-20, 20), "jack/offset": (-20, 20), "clock/when": (0, 1), "click/countin": (0, 1),
    "launch/exact": (0, 1), "tempo/fader": (0, 1), "no/such/thing": (0, 1), "tempo/range": (-9, 9),
}
TRIGGERS = ["tempo/tap", "tempo/up", "tempo/down", "stop", "toggle", "rewind", "align", "takeover"]


class Talker(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.controller, self.sent, self.heard, self.is_over = Controller(0.005), 0, 0, False
        self.controller.say("subscribe", "s", "state beat phase position")
        self.start()

    def say(self) -> None:
        kind = dice.randrange(8)
        if kind == 0:
            name = dice.choice(list(WORDS))
            self.controller.say(name, "s", dice.choice(WORDS[name]))
        elif kind == 1:
            self.controller.say(dice.choice(TRIGGERS))
        elif kind == 2 and dice.random() < 0.2:
            self.controller.sock.sendto(dice.randbytes(dice.randrange(64)), self.controller.address)
        else:
            name = dice.choice(list(NUMBERS))
            self.controller.say(name, "f", dice.uniform(*NUMBERS[name]))

    def run(self) -> None:
        while not self.is_over:
            self.say()
            self.sent += 1
            for _ in self.controller.told(0.005):
                self.heard += 1
            time.sleep(0)

    def end(self) -> str:
        self.is_over = True
        self.join()
        return f"OSC: {self.sent} messages sent, {self.heard} heard"
