# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench start: start-up to the first Link packet. [--quick] [--json FILE]

From starting the program until its first Link packet is on the network: tactus as tools/install installs it, and Ableton's
LinkHut, in turn and in the same run, on the same JACK server; and how soon tactus, at rest in the background (--life=auto), is on the network
when a port of it is connected. TACTUS_PROGRAM measures that program instead. Under 2 minutes."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Sequence
from typing import Any

import jack

from .. import build, link, osc
from ..common import shell
from ..peers import driver
from .actors import middle

PATIENCE = 20  # seconds


class Program:
    """In a terminal, as a user would start it. LinkHut comes with Link disabled and takes a key to enable it: that key
    lies in the terminal before it starts, so that no finger is measured."""

    def __init__(self, name: str, command: list[str], keys: bytes, home: str) -> None:
        self.name, self.command, self.keys = name, command, keys
        self.environment = dict(driver.without_choices(home), TERM="xterm")

    def start(self) -> None:
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        os.write(self.terminal, self.keys)
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=inner, stdout=inner, stderr=inner, env=self.environment)
        os.close(inner)

    def drain(self, seconds: float, *sockets: socket.socket) -> bool:
        """A terminal that nobody reads would hold the program up. Ends early if one of the sockets has something."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready = select.select([self.terminal, *(sock.fileno() for sock in sockets)], [], [], left)[0]
            if self.terminal in ready:
                with contextlib.suppress(OSError):
                    os.read(self.terminal, 65536)
            if any(sock.fileno() in ready for sock in sockets):
                return True
        return False

    def first_packet(self, sock: socket.socket) -> float:
        while self.drain(self.began + PATIENCE - time.monotonic(), sock):
            if sock.recv(2048).startswith(link.DISCOVERY[:-1]):
                return (time.monotonic() - self.began) * 1000
        raise SystemExit(f"bench start: no Link packet of {self.name} within {PATIENCE} s")

    def stop(self) -> None:
        if self.name == "LinkHut":
            os.write(self.terminal, b"q")
        else:
            self.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 5
        while self.process.poll() is None and time.monotonic() < end:
            self.drain(0.02)
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


def starts(programs: Sequence[Program], rounds: int) -> dict[str, list[float]]:
    sock = link.ear("127.0.0.1")
    found: dict[str, list[float]] = {program.name: [] for program in programs}
    for number in range(rounds):
        for program in programs if number % 2 == 0 else reversed(programs):
            osc.came(sock)
            program.start()
            found[program.name].append(round(program.first_packet(sock), 1))
            program.drain(0.1)
            program.stop()
            time.sleep(0.1)
    return found


def wakes(tactus: str, home: str, rounds: int) -> list[float]:
    """With --life=auto, in the background: from jack_connect until Link's first packet after its rest. LinkHut has no
    such life."""
    sock, hand, found = link.ear("127.0.0.1"), jack.Client("hand", no_start_server=True), []
    ports = "tactus:click_1", "system:playback_1"
    hand.activate()
    rests = "Ableton Link rests"
    program = driver.Program([tactus, "--life=auto", "--no-osc"], driver.without_choices(home), ("JACK server", rests))
    program.wait_for("JACK server")
    for number in range(rounds):
        # The transport rests from the start on, and again after each connection.
        program.wait_for(rests)
        # Vary the delay, so that it is not in step with the program's own intervals.
        time.sleep(0.1 + 0.0137 * number)
        osc.came(sock)
        began = time.monotonic()
        hand.connect(*ports)
        while select.select([sock], [], [], PATIENCE)[0] and not sock.recv(2048).startswith(link.DISCOVERY[:-1]):
            pass
        found.append(round((time.monotonic() - began) * 1000, 1))
        hand.disconnect(*ports)
    program.end()
    return found


def program(_: object = None) -> str:
    shell("need_packages", "ableton-link-utils")
    return os.path.realpath(os.environ.get("TACTUS_PROGRAM") or build.tactus())


ready = program


def measure(options: Any) -> tuple[object, bool]:
    with tempfile.TemporaryDirectory() as home:
        programs = [Program("tactus", [program()], b"", home), Program("LinkHut", ["LinkHut"], b"a", home)]
        times = starts(programs, 5 if options.quick else 21)
        result = {name: {"first_packet_ms": found} for name, found in times.items()}
        result["tactus"]["after_connection_ms"] = wakes(program(), home, 5 if options.quick else 11)
    print(f"{'':<34}" + "".join(f" {name:>22}" for name in result))
    for what, key in (("first Link packet after, ms", "first_packet_ms"), ("... after a connection, at rest", "after_connection_ms")):
        print(f"{what:<34}" + "".join(f" {middle(each.get(key), ' '):>22}" for each in result.values()))
    return result, True
