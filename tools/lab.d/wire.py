# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire's program (wire.c): built once per version into the cache, started in process 1's network, asked over a
socket in the lab's shared directory, which every host sees."""

import array
import os
import socket
import sys
import time

from main import fail

SOCKET = "/dev/shm/.lab/wire"


def program():
    """The path of the built switch. Called outside of the namespaces, where the cache and the compiler are."""
    import setup
    return setup.built(os.path.join(os.path.dirname(os.path.abspath(__file__)), "wire.c"), "wire")


def start(path):
    pid = os.fork()
    if pid == 0:
        os.execv(path, [path, SOCKET])
    for _ in range(500):
        if os.path.exists(SOCKET):
            return
        time.sleep(0.002)
    fail("the wire did not start")


def ask(request, fd=None):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        for attempt in range(100):
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


def connect(host, interface):
    """Give the wire a packet socket on its end of a cable."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as cable:
        cable.setsockopt(socket.SOL_PACKET if hasattr(socket, "SOL_PACKET") else 263, 23, 1)  # IGNORE_OUTGOING
        cable.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        cable.bind((interface, 3))  # ETH_P_ALL
        ask(f"port {host}", cable.fileno())


def command(arguments):
    if not os.path.exists(SOCKET):
        fail("wire: this lab has no wire: start it with --hosts", 2)
    if not arguments:
        print(ask("show"))
    elif arguments == ["measure"]:
        measure()
    elif arguments[0] in ("cut", "heal"):
        ask(" ".join(arguments))
    else:
        ask("set " + " ".join(arguments))


def measure(rounds=2000):
    """There and back: within host 1, and from host 1 to host 2. The difference is two passes of the wire."""
    import hosts

    def echo(host, address):
        server_out, server_in = os.pipe()
        pid = os.fork()
        if pid == 0:
            host.enter()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
                server.bind((address, 9))
                os.write(server_in, b"+")
                while True:
                    data, sender = server.recvfrom(64)
                    server.sendto(data, sender)
        os.read(server_out, 1)
        return pid

    def median_of(address):
        times = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(1)
            client.connect((address, 9))
            for _ in range(rounds):
                began = time.perf_counter_ns()
                client.send(b"?")
                client.recv(64)
                times.append(time.perf_counter_ns() - began)
        times.sort()
        return [times[int(rounds * part)] / 1000 for part in (0.5, 0.99)]

    one, two = hosts.find("1"), hosts.find("2")
    servers = [echo(one, "10.77.0.1"), echo(two, "10.77.0.2")]
    try:
        one.enter()
        inside, across = median_of("10.77.0.1"), median_of("10.77.0.2")
    finally:
        for pid in servers:
            os.kill(pid, 9)
    print(f"round trip within host 1:     median {inside[0]:.1f} us, 99 % {inside[1]:.1f} us")
    print(f"round trip to host 2:         median {across[0]:.1f} us, 99 % {across[1]:.1f} us")
    print(f"added by the wire, one way:   median {(across[0] - inside[0]) / 2:.1f} us")
