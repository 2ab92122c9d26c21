# SPDX-License-Identifier: GPL-2.0-or-later
"""OSC packets, valid and invalid ones, and a controller of tactus that can ask for values."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pythonosc.osc_message_builder import OscMessageBuilder
from pythonosc.osc_packet import OscPacket

HOST = ("127.0.0.1", 20809)


def message(address: str, tags: str | None = None, *values: Any) -> bytes:
    """Encodes a message. `tags` has the type tags of the values; None: each value's own type."""
    builder = OscMessageBuilder(address)
    for tag, value in zip(tags if tags is not None else [None] * len(values), values):
        builder.add_arg(value, tag)
    return builder.build().dgram


def bundle(packets: Sequence[bytes], timetag: int = 1) -> bytes:
    return b"#bundle\0" + struct.pack(">Q", timetag) + b"".join(struct.pack(">I", len(part)) + part for part in packets)


def messages(packet: bytes) -> Iterator[tuple[str, list[Any]]]:
    """The address and the arguments of each message in one of our packets."""
    for each in OscPacket(packet).messages:
        yield each.message.address, each.message.params


def raw_clock() -> float:
    """CLOCK_MONOTONIC_RAW in microseconds: Link's clock, and jackd's."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / 1000


def speaker() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def came(sock: socket.socket) -> list[bytes]:
    """Reads all datagrams that wait at the socket."""
    found = []
    with contextlib.suppress(OSError):
        while True:
            found.append(sock.recv(65536, socket.MSG_DONTWAIT))
    return found


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
        """The milliseconds until the answer to this ping; None: it did not come in time."""
        self.asked += 1
        self.sock.settimeout(self.timeout)
        packet = message("/tactus/ping", "i", self.asked)
        began = time.perf_counter()
        self.sock.sendto(packet, self.address)
        try:
            while True:
                answer, came = self.sock.recv(65536), time.perf_counter()
                if any(address == "/tactus/pong" and said[4:] == [self.asked] for address, said in messages(answer)):
                    return (came - began) * 1000
        except TimeoutError:
            return None

    def told(self, seconds: float) -> Iterator[tuple[float, str, list[Any]]]:
        """The messages that arrive within this many seconds, each with its time of arrival."""
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
