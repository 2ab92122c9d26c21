# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the evening: tactus, the listener, peers on the second host, somebody with an OSC controller."""

import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import ear


LINK_PORT = 20808


class Ear(ear.Ear):
    """tools/listen, asked once a second what it has heard."""

    def __init__(self, program, ports, heard, environment={}):
        self.heard = heard
        super().__init__(program, ["--events", "--tempo", "120", *ports], {**os.environ, **environment})

    def look(self):
        """{port: what was heard there}, how well it could be heard, and where the session is."""
        self.tell("look")
        ports = {}
        while True:
            message = self.next(20)
            if message["type"] == "heard":
                ports[message["port"]] = message
            elif message["type"] in ("onset", "clock"):
                self.heard(message)
            elif message["type"] == "looked":
                return ports, message


class Tactus:
    def __init__(self, program, say, environment):
        nothing = tempfile.mkdtemp(prefix="tactus-soak-")  # neither the user's choices nor his memory
        environment = {**os.environ, "XDG_CONFIG_HOME": nothing, "XDG_STATE_HOME": nothing, **environment}
        self.child = subprocess.Popen(
            [program, "--name", "tactus", "--click", "--clock=always", "--sound=tick", "--osc-query=8080"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.pid, self.up = self.child.pid, threading.Event()
        threading.Thread(target=self.read, args=(say,), daemon=True).start()

    def read(self, say):
        for line in self.child.stdout:
            if line.startswith("OSC: "):
                self.up.set()
            say("tactus: " + line.rstrip())

    def resident(self):
        """Memory of its own, in kilobytes."""
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def dropped_datagrams():
    """By all of this host's sockets that hear Link's group, whose programs did not read in time."""
    with open("/proc/net/udp") as file:
        sockets = [line.split() for line in file][1:]
    return sum(int(words[-1]) for words in sockets if words[1].endswith(f":{LINK_PORT:04X}"))


class Peer:
    """LinkHut or the reference library on host 2, behind the lab's line protocol."""

    def __init__(self, kind, host=2):
        self.kind, self.enabled, self.owed, self.begun, self.answer = kind, False, 0, b"", b""
        self.driver = subprocess.Popen([os.environ["LAB"], "on", str(host), os.environ["LAB"], "peer", kind],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
        fcntl.fcntl(self.driver.stdout, fcntl.F_SETFL, os.O_NONBLOCK)

    def tell(self, line):
        """Not waited for: who answers late must not hold up the evening."""
        try:
            self.driver.stdin.write(line.encode() + b"\n")
            self.driver.stdin.flush()
            self.owed += 1
            self.hear()
        except (BrokenPipeError, BlockingIOError):
            pass
        if line.startswith("enable"):
            self.enabled = line == "enable on"

    def hear(self):
        """Takes what has been answered; only the last answer is kept."""
        *lines, self.begun = (self.begun + (self.driver.stdout.read() or b"")).split(b"\n")
        self.owed -= len(lines)
        self.answer = lines[-1] if lines else self.answer

    def ask(self, line, seconds=20):
        self.tell(line)
        end = time.monotonic() + seconds
        while self.owed > 0 and time.monotonic() < end and self.driver.poll() is None:
            select.select([self.driver.stdout], [], [], 0.05)
            self.hear()
        if self.owed > 0:
            raise RuntimeError(f"{self.kind} does not answer")
        return json.loads(self.answer)

    def crash(self):
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()

    def leave(self):
        self.tell("quit")


def pad(data):
    return data + b"\0" * (4 - len(data) % 4)


def osc(address, *arguments):
    """An OSC message; whole numbers as int32."""
    types, body = ",", b""
    for value in arguments:
        if isinstance(value, str):
            types, body = types + "s", body + pad(value.encode())
        elif isinstance(value, bool):
            types += "T" if value else "F"
        elif isinstance(value, int):
            types, body = types + "i", body + struct.pack(">i", value)
        else:
            types, body = types + "f", body + struct.pack(">f", value)
    return pad(address.encode()) + pad(types.encode()) + body


class Controller:
    """Commands from one socket, questions from another, so that a flood of the one starves not the other."""

    TARGET = ("127.0.0.1", 20809)
    TABLETS = range(9000, 9004)  # where somebody listens

    def __init__(self):
        self.commands, self.questions = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for each in (self.commands, self.questions):
            each.bind(("127.0.0.1", 0))
            each.setblocking(False)
        self.tablets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in self.TABLETS]
        for port, tablet in zip(self.TABLETS, self.tablets):
            tablet.bind(("127.0.0.1", port))
        self.told = 0

    def send(self, path, *arguments):
        self.raw(osc("/tactus/" + path, *arguments))

    def raw(self, datagram):
        try:
            self.commands.sendto(datagram, self.TARGET)
        except OSError:
            pass  # nobody listens: that is for the questions to find out
        self.drain()

    def drain(self):
        while ready := select.select([self.commands, *self.tablets], [], [], 0)[0]:
            for each in ready:
                try:
                    each.recv(65536)
                    self.told += each is not self.commands
                except OSError:
                    return

    def ask(self):
        try:
            self.questions.sendto(osc("/tactus/ping", str(time.monotonic_ns())), self.TARGET)
        except OSError:
            pass

    def answers(self):
        """How many pongs came."""
        self.drain()
        count = 0
        while select.select([self.questions], [], [], 0)[0]:
            try:
                count += b"/tactus/pong" in self.questions.recv(65536)
            except OSError:
                break
        return count
