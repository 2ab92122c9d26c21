# SPDX-License-Identifier: GPL-2.0-or-later
"""OSC by hand: packets, and a controller that can ask. What the areas osc and fuzz-osc have in common."""

import os
import socket
import struct
import time

HOST = ("127.0.0.1", 20809)


def text(value):
    data = value.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def message(address, tags="", *arguments):
    data = text(address) + text("," + tags)
    for tag, argument in zip(tags, arguments):
        data += text(argument) if tag == "s" else struct.pack(">" + tag.replace("h", "q"), argument)
    return data


def messages(packet):
    """Address and arguments of each message in a packet of ours."""
    if packet.startswith(b"#bundle\0"):
        at = 16
        while at < len(packet):
            size = struct.unpack_from(">I", packet, at)[0]
            yield from messages(packet[at + 4:at + 4 + size])
            at += 4 + size
        return

    def string(at):
        end = packet.index(b"\0", at)
        return packet[at:end].decode(), at + ((end - at) // 4 + 1) * 4

    address, at = string(0)
    tags, at = string(at)
    arguments = []
    for tag in tags[1:]:
        if tag == "s":
            value, at = string(at)
        else:
            code = ">" + tag.replace("h", "q")
            value = struct.unpack_from(code, packet, at)[0]
            at += struct.calcsize(code)
        arguments.append(value)
    yield address, arguments


def raw_clock():
    """CLOCK_MONOTONIC_RAW in microseconds: Link's clock, and jackd's."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / 1000


class Controller:
    def __init__(self, timeout=2.0):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(timeout)
        self.port = self.sock.getsockname()[1]
        self.asked = 0

    def say(self, path, tags="", *arguments):
        self.sock.sendto(message("/tactus/" + path, tags, *arguments), HOST)

    def ping(self):
        """Milliseconds until this ping's own answer; None if none came in time."""
        self.asked += 1
        began = time.perf_counter()
        self.say("ping", "i", self.asked)
        try:
            while True:
                for address, arguments in messages(self.sock.recv(65536)):
                    if address == "/tactus/pong" and arguments[4:] == [self.asked]:
                        return (time.perf_counter() - began) * 1000
        except TimeoutError:
            return None

    def told(self, seconds):
        """What is told in so long, each with the time at which it came."""
        end = time.perf_counter() + seconds
        while (rest := end - time.perf_counter()) > 0:
            self.sock.settimeout(rest)
            try:
                packet = self.sock.recv(65536)
            except TimeoutError:
                return
            came = raw_clock()
            for address, arguments in messages(packet):
                yield came, address.removeprefix("/tactus/"), arguments


def processor_time(process):
    """Of all threads, in seconds."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
