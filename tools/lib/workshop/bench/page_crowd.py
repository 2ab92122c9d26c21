# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages without a browser around them: what sixteen phones do at tactus' socket, and what one does that means harm. On another host
than tactus, and in a process of its own, so that our pings do not wait for it."""

import base64
import contextlib
import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable

from ..common import LAB, module
from ..peers import driver


class Socket:
    """One page's connection; raises OSError where it is refused."""

    def __init__(self, here: str) -> None:
        host, port = here.split(":")
        self.sock = socket.create_connection((host, int(port)), 5)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.sendall((f"GET /osc HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            if not (more := self.sock.recv(4096)):
                raise ConnectionError("closed")
            answer += more
        if b" 101 " not in answer.split(b"\r\n", 1)[0]:
            raise ConnectionError(answer.split(b"\r\n", 1)[0].decode(errors="replace"))

    def say(self, text: str | bytes, opcode: int = 1) -> None:
        data, mask = text.encode() if isinstance(text, str) else text, os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size) if size < 65536 else struct.pack(">BQ", 0xFF, size)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data)) if size < 4096 else (
            int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
        self.sock.sendall(bytes([0x80 | opcode]) + length + mask + masked)


def line(path: str, *values: object) -> str:
    return json.dumps([f"/tactus/{path}", *values])


def pages(here: str, count: str) -> None:
    """So many, as the page itself does it: everything that it subscribes to, a ping in 0.7 seconds. Says the bytes that they got."""
    crowd = [Socket(here) for _ in range(int(count))]
    for page in crowd:
        page.say(line("subscribe", "state exact"))
    due = {page.sock: time.monotonic() + 0.7 * number / len(crowd) for number, page in enumerate(crowd)}
    heard, telling = 0, Telling()
    while True:
        for readable in select.select([page.sock for page in crowd], [], [], 0.02)[0]:
            if not (more := readable.recv(1 << 16)):
                raise SystemExit("a page was sent away")
            heard += len(more)
        now = time.monotonic()
        for page in crowd:
            if now >= due[page.sock]:
                page.say(line("ping", f"{now * 1000} 0"))
                due[page.sock] = now + 0.7
        telling.say(heard)


def vandal(here: str) -> None:
    """One browser that sends the dearest words as fast as they are taken, reads nothing, and starts over when it is thrown out.
    Says the bytes that went out."""
    words = "\n".join([line("query", "*"), line("subscribe", "all"), line("/*/*/*"), line("tempo", 120), line("midi/list")] * 40)
    sent, telling = 0, Telling()
    while True:
        with contextlib.suppress(OSError):
            enemy = Socket(here)
            enemy.sock.settimeout(1)
            while True:
                enemy.say(words)
                sent += len(words)
                telling.say(sent)
        time.sleep(0.005)


class Telling:
    due = 0.0

    def say(self, count: int) -> None:
        if time.monotonic() > self.due:
            self.due = time.monotonic() + 0.5
            print(count, flush=True)


CROWDS: dict[str, Callable[..., None]] = {"pages": pages, "vandal": vandal}


class Crowd:
    """One of these, on host 2."""

    def __init__(self, *words: str) -> None:
        self.began, self.last = time.monotonic(), 0
        self.child = driver.Child([LAB, "on", "2", *module("bench.page_crowd", *words)], hear=self.hear)
        if self.child.next(20) is None:
            raise SystemExit(f"{words[0]}: not heard of")

    def hear(self, said: str) -> None:
        self.last = int(said)

    def per_second(self) -> float:
        """Bytes."""
        if self.child.process.poll() is not None:
            raise SystemExit("the pages have ended")
        return round(self.last / (time.monotonic() - self.began))

    def end(self) -> None:
        self.child.kill()


def main(words: list[str]) -> None:
    CROWDS[words[0]](*words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
