# SPDX-License-Identifier: GPL-2.0-or-later
"""OSC by hand, so that a packet can be wrong and a million are made quickly; and a controller of tactus that can ask."""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

HOST = ("127.0.0.1", 20809)


def text(value: str) -> bytes:
    data = value.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def tag_of(value: object) -> str:
    if isinstance(value, bool):
        return "T" if value else "F"
    return "s" if isinstance(value, str) else "i" if isinstance(value, int) else "f"


def message(address: str, tags: str | None = None, *values: Any) -> bytes:
    """With tags for the values; `None` is as each of them is."""
    tags = "".join(map(tag_of, values)) if tags is None else tags
    data = text(address) + text("," + tags)
    for tag, value in zip(tags, values):
        if tag == "s":
            data += text(value)
        elif tag not in "TF":
            data += struct.pack(">" + tag.replace("h", "q"), value)
    return data


def bundle(packets: Sequence[bytes], timetag: int = 1) -> bytes:
    return b"#bundle\0" + struct.pack(">Q", timetag) + b"".join(struct.pack(">I", len(part)) + part for part in packets)


def messages(packet: bytes) -> Iterator[tuple[str, list[Any]]]:
    """Address and arguments of each message in a packet of ours."""
    if packet.startswith(b"#bundle\0"):
        at = 16
        while at < len(packet):
            size = struct.unpack_from(">I", packet, at)[0]
            yield from messages(packet[at + 4:at + 4 + size])
            at += 4 + size
        return

    def string(at: int) -> tuple[str, int]:
        end = packet.index(b"\0", at)
        return packet[at:end].decode(), at + ((end - at) // 4 + 1) * 4

    address, at = string(0)
    tags, at = string(at)
    arguments: list[Any] = []
    for tag in tags[1:]:
        if tag == "s":
            word, at = string(at)
            arguments.append(word)
        else:
            code = ">" + tag.replace("h", "q")
            arguments.append(struct.unpack_from(code, packet, at)[0])
            at += struct.calcsize(code)
    yield address, arguments


def raw_clock() -> float:
    """CLOCK_MONOTONIC_RAW in microseconds: Link's clock, and jackd's."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / 1000


class Controller:
    def __init__(self, timeout: float = 2.0, address: tuple[str, int] = HOST) -> None:
        self.address, self.timeout, self.asked = address, timeout, 0
        is_v6 = ":" in address[0]
        self.sock = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("::1" if is_v6 else "127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]

    def say(self, path: str, tags: str | None = "", *values: Any) -> None:
        self.sock.sendto(message("/tactus/" + path, tags, *values), self.address)

    def ping(self) -> float | None:
        """Milliseconds until this ping's own answer; None if none came in time."""
        self.asked += 1
        self.sock.settimeout(self.timeout)
        began = time.perf_counter()
        self.say("ping", "i", self.asked)
        try:
            while True:
                for address, arguments in messages(self.sock.recv(65536)):
                    if address == "/tactus/pong" and arguments[4:] == [self.asked]:
                        return (time.perf_counter() - began) * 1000
        except TimeoutError:
            return None

    def told(self, seconds: float) -> Iterator[tuple[float, str, list[Any]]]:
        """What is told in so long, each with the time at which it came."""
        end = time.perf_counter() + seconds
        while (rest := end - time.perf_counter()) > 0:
            self.sock.settimeout(rest)
            try:
                packet, came = self.receive()
            except TimeoutError:
                return
            for address, arguments in messages(packet):
                yield came, address.removeprefix("/tactus/"), arguments

    def receive(self) -> tuple[bytes, float]:
        return self.sock.recv(65536), raw_clock()
