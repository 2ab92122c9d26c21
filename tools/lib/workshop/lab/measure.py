# SPDX-License-Identifier: GPL-2.0-or-later
"""`$LAB wire measure`: there and back, within host 1 and from host 1 to host 2. The difference is two passes of the wire."""

import os
import signal
import socket
import time

from . import hosts

ROUNDS = 2000


def echo(host: hosts.Host, address: str) -> int:
    with hosts.elsewhere(host.enter):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((address, 9))
    pid = os.fork()
    while pid == 0:
        server.sendto(*server.recvfrom(64))
    return pid


def times(address: str) -> tuple[float, float]:
    """The median in microseconds, and what 99 % are below."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        client.connect((address, 9))
        for _ in range(ROUNDS):
            began = time.perf_counter_ns()
            client.send(b"?")
            client.recv(64)
            found.append((time.perf_counter_ns() - began) / 1000)
    found.sort()
    return found[ROUNDS // 2], found[ROUNDS * 99 // 100]


def measure() -> None:
    one, two = hosts.find("1", "wire"), hosts.find("2", "wire")
    servers = [echo(one, "10.77.0.1"), echo(two, "10.77.0.2")]
    try:
        one.enter()
        inside, across = times("10.77.0.1"), times("10.77.0.2")
    finally:
        for pid in servers:
            os.kill(pid, signal.SIGKILL)
    print(f"round trip within host 1:     median {inside[0]:.1f} us, 99 % {inside[1]:.1f} us")
    print(f"round trip to host 2:         median {across[0]:.1f} us, 99 % {across[1]:.1f} us")
    print(f"added by the wire, one way:   median {(across[0] - inside[0]) / 2:.1f} us")
