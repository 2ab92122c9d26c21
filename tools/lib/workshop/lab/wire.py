# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire's program (native/wire.c): started in process 1's network, asked over a socket in the lab's shared directory,
which every host sees."""

import array
import os
import socket
import time

from .kernel import fail

SOCKET = "/dev/shm/.lab/wire"


def start(path: str) -> None:
    if os.fork() == 0:
        os.execv(path, [path, SOCKET])
    for _ in range(500):
        if os.path.exists(SOCKET):
            return
        time.sleep(0.002)
    fail("the wire did not start")


def ask(request: str, fd: int | None = None) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        for _ in range(100):
            try:
                wire.connect(SOCKET)
                break
            except ConnectionRefusedError:  # bound, but not yet listening
                time.sleep(0.002)
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        wire.sendmsg([request.encode()], rights)
        answer = wire.recv(65536).decode()
    if answer.startswith("no: "):
        fail(f"wire: cannot make sense of '{answer[4:]}'. Try 'tools/lab --help'", 2)
    return answer


def connect(host: int, interface: str) -> None:
    """Give the wire a packet socket on its end of a cable."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as cable:
        cable.setsockopt(263, 23, 1)  # SOL_PACKET, IGNORE_OUTGOING
        cable.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        cable.bind((interface, 3))  # ETH_P_ALL
        ask(f"port {host}", cable.fileno())


def command(words: list[str]) -> None:
    if not os.path.exists(SOCKET):
        fail("wire: this lab has no wire: start it with --hosts", 2)
    if not words:
        print(ask("show"))
    else:
        ask(" ".join(words if words[0] in ("cut", "heal") else ["set", *words]))
