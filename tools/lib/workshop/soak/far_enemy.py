# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 far_enemy.py TARGET PORT RECORDING SECONDS RATE: somebody without the key, who has recorded the far wire (listening/secrecy.py) and
sends RATE datagrams a second to TARGET, from this machine's address and in the names of others. In turn:

    hellos      as the right kind has them, of random bytes, each from another address
    answers     to calls that may be under way
    forgeries   with indices and numbers that were recorded, in the name of the other room
    replays     of all that was recorded, from here and in the name of who sent it
    wounds      the same with a bit changed, cut off, or too long
    link        Link's own datagrams, as on a wire without a key

Prints as JSON how many it sent, and how many TARGET sent to this machine's address: "answered"."""

import json
import random
import socket
import struct
import sys
import time
from collections.abc import Callable


class Enemy:
    def __init__(self, target: str, port: int, recording: str) -> None:
        self.target, self.port, self.dice = target, port, random.Random(1)
        with open(recording) as file:
            lines = [line.split() for line in file]
        self.heard = [(line[0], int(line[1]), bytes.fromhex(line[4])) for line in lines if line[2] == target and int(line[3]) == port]
        self.sealed = [each for each in self.heard if each[2][:1] == b"\3"]
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.mouth.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.mouth.setblocking(False)
        self.answered = 0

    def say(self, payload: bytes, name: tuple[str, int] | None = None) -> None:
        """In somebody's name, or in our own."""
        if name is None:
            self.mouth.sendto(payload, (self.target, self.port))
            return
        # UDP allows a datagram without a checksum.
        head = struct.pack(">HHHH", name[1], self.port, 8 + len(payload), 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, socket.inet_aton(name[0]), socket.inet_aton(self.target))
        self.raw.sendto(ip + head + payload, (self.target, 0))

    def anybody(self) -> tuple[str, int]:
        return f"10.{self.dice.randrange(78, 250)}.{self.dice.randrange(256)}.{self.dice.randrange(1, 255)}", self.dice.randrange(1024, 65536)

    def hello(self) -> None:
        self.say(b"\1" + self.dice.randbytes(80), self.anybody() if self.dice.randrange(2) else None)

    def answer(self) -> None:
        self.say(b"\2" + self.dice.randbytes(64), self.dice.choice(self.heard)[:2])

    def forgery(self) -> None:
        address, port, payload = self.dice.choice(self.sealed)
        number = struct.unpack(">Q", payload[5:13])[0] + self.dice.choice([0, 1, 100, 10_000, 1 << 40])
        self.say(payload[:5] + struct.pack(">Q", number) + self.dice.randbytes(len(payload) - 13), (address, port))

    def replay(self) -> None:
        address, port, payload = self.dice.choice(self.heard)
        self.say(payload, (address, port) if self.dice.randrange(2) else None)

    def wound(self) -> None:
        address, port, payload = self.dice.choice(self.heard)
        place, how = self.dice.randrange(len(payload)), self.dice.randrange(3)
        wounded = payload[:place] if how == 0 else payload + self.dice.randbytes(place) if how == 1 else \
            payload[:place] + bytes([payload[place] ^ 1 << self.dice.randrange(8)]) + payload[place + 1:]
        self.say(wounded, (address, port) if self.dice.randrange(2) else None)

    def link(self) -> None:
        word = self.dice.choice([b"_asdp_v\1\1\5\0\0", b"_asdp_v\1\3\0\0\0", b"_link_v\1\1"])
        self.say(word + self.dice.randbytes(self.dice.randrange(100)), self.dice.choice(self.heard)[:2])

    def listen(self) -> None:
        while True:
            try:
                self.answered += self.mouth.recvfrom(2048)[1][0] == self.target
            except BlockingIOError:
                return

    def attack(self, seconds: float, rate: int) -> dict[str, int]:
        kinds: list[Callable[[], None]] = [self.hello, self.answer, self.forgery, self.replay, self.wound, self.link]
        start, sent = time.monotonic(), 0
        while (passed := time.monotonic() - start) < seconds:
            # Datagrams that this machine could not send in time are not made up for all at once.
            for _ in range(min(rate // 50, int(passed * rate) - sent)):
                kinds[sent % len(kinds)]()
                sent += 1
            self.listen()
            time.sleep(0.005)
        time.sleep(0.5)
        self.listen()
        return {"sent": sent, "answered": self.answered, "recorded": len(self.heard)}


def main(words: list[str]) -> None:
    print(json.dumps(Enemy(words[0], int(words[1]), words[2]).attack(float(words[3]), int(words[4]))))


if __name__ == "__main__":
    main(sys.argv[1:])
