# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages without a browser around them: what sixteen phones do at tactus' socket, and what one does that means harm. A process of its
own for each crowd, so that our pings do not wait for it."""

import base64
import contextlib
import json
import os
import select
import socket
import struct
import time

from .osc_hostile import Attack

HOST = "127.0.0.1"


class Socket:
    """One page's connection; raises OSError where it is refused."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection((HOST, port), 5)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        here = f"{HOST}:{port}"
        self.sock.sendall((f"GET /osc HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            if not (more := self.sock.recv(4096)):
                raise ConnectionError("closed")
            answer += more
        if b" 101 " not in answer.split(b"\r\n", 1)[0]:
            raise ConnectionError(answer.split(b"\r\n", 1)[0].decode(errors="replace"))

    def say(self, text: str, opcode: int = 1) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size) if size < 65536 else struct.pack(">BQ", 0xFF, size)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data)) if size < 4096 else (
            int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
        self.sock.sendall(bytes([0x80 | opcode]) + length + mask + masked)


def line(path: str, *values: object) -> str:
    return json.dumps([f"/tactus/{path}", *values])


class Pages(Attack):
    """So many pages, as the page itself does it: everything that it subscribes to, a ping a second. Counts bytes that they got."""

    def __init__(self, port: int, count: int) -> None:
        super().__init__()
        self.port, self.count = port, count

    def run(self) -> None:
        pages = [Socket(self.port) for _ in range(self.count)]
        for page in pages:
            page.say(line("subscribe", "state exact"))
        due = {page.sock: time.monotonic() + number / len(pages) for number, page in enumerate(pages)}
        while True:
            for readable in select.select([page.sock for page in pages], [], [], 0.02)[0]:
                self.done.value += len(readable.recv(1 << 16))
            now = time.monotonic()
            for page in pages:
                if now >= due[page.sock]:
                    page.say(line("ping", f"{now * 1000} 0"))
                    due[page.sock] = now + 1


class Vandal(Attack):
    """One browser that sends the dearest words as fast as they are taken, reads nothing, and begins anew when it is thrown out.
    Counts megabytes that went out."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port

    def run(self) -> None:
        words = "\n".join([line("query", "*"), line("subscribe", "all"), line("/*/*/*"), line("tempo", 120), line("midi/list")] * 40)
        while True:
            with contextlib.suppress(OSError):
                enemy = Socket(self.port)
                enemy.sock.settimeout(1)
                while True:
                    enemy.say(words)
                    self.done.value += len(words) / 1e6
            time.sleep(0.005)
