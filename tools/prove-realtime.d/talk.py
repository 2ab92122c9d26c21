# SPDX-License-Identifier: GPL-2.0-or-later
"""Talks OSC to the tactus of the scene, 200 messages a second, everything that reaches the audio thread and some
nonsense, until it is killed. Says how much of an answer came."""

import random
import signal
import socket
import struct
import sys

PORT = 20809
dice = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
WORDS = {
    "click/pattern": ["Xxxx", "X.x.", "", "Xx"], "pulse/rate": ["bar", "1", "2", "4", "24", "48"],
    "launch": ["now", "beat", "bar"], "lead": ["link", "host", "auto"], "start": ["now", "beat", "bar"],
}
NUMBERS = {
    "tempo": (60, 240), "quantum": (1, 8), "click/volume": (0.4, 1), "click/sound": (0, 3), "click/subdivision": (1, 4),
    "click/1/offset": (-20, 20), "click/2/offset": (-20, 20), "clock/offset": (-20, 20), "pulse/offset": (-20, 20),
    "run/offset": (-20, 20), "jack/offset": (-20, 20), "clock/stopped": (0, 1), "click/countin": (0, 1),
    "launch/exact": (0, 1), "tempo/fader": (0, 1), "no/such/thing": (0, 1), "tempo/range": (-9, 9),
}
TRIGGERS = ["tempo/tap", "tempo/up", "tempo/down", "stop", "toggle", "rewind", "align", "takeover"]


def padded(text):
    data = text.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def message():
    kind = dice.randrange(8)
    if kind == 0:
        name = dice.choice(list(WORDS))
        return padded(f"/tactus/{name}") + padded(",s") + padded(dice.choice(WORDS[name]))
    if kind == 1:
        return padded(f"/tactus/{dice.choice(TRIGGERS)}") + padded(",")
    if kind == 2 and dice.random() < 0.2:
        return dice.randbytes(dice.randrange(64))
    name = dice.choice(list(NUMBERS))
    return padded(f"/tactus/{name}") + padded(",f") + struct.pack(">f", dice.uniform(*NUMBERS[name]))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sent = heard = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.settimeout(0.005)
        out.sendto(padded("/tactus/subscribe") + padded(",s") + padded("state beat phase position"), ("127.0.0.1", PORT))
        try:
            while True:
                out.sendto(message(), ("127.0.0.1", PORT))
                sent += 1
                try:
                    while out.recv(65536):
                        heard += 1
                except OSError:
                    pass
        finally:
            print(f"OSC: {sent} messages sent, {heard} heard", flush=True)


main()
