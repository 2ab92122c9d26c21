# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire's program (native/wire.c), which runs in process 1's network. Its settings and its counters are
in a file in the lab's shared directory, which every host sees. Cables are passed to it over a socket beside
that file."""

import array
import ctypes
import mmap
import os
import pathlib
import re
import socket
from collections.abc import Iterator
from typing import NoReturn

from .kernel import fail

SOCKET, STATE = "/dev/shm/.lab/wire", "/dev/shm/.lab/wire-state"
HOSTS = 33
COUNTS = ("frames", "lost", "duplicated", "reordered", "cut_off", "overflow", "unsent", "udp4", "udp6", "other")
SHOWN = ("frames", "udp4", "udp6", "lost", "duplicated", "reordered", "cut_off", "overflow", "unsent")
SHARES, TIMES = {"%": 0.01, "": 1.0}, {"us": 1e3, "ms": 1e6, "s": 1e9}
UNITS = {"loss": SHARES, "duplicate": SHARES, "reorder": SHARES, "delay": TIMES, "jitter": TIMES}


class Quality(ctypes.Structure):
    """The quality of the wire from one host to another. Times are in nanoseconds."""
    _fields_ = [("loss", ctypes.c_double), ("duplicate", ctypes.c_double), ("reorder", ctypes.c_double),
                ("delay", ctypes.c_int64), ("jitter", ctypes.c_int64), ("cut", ctypes.c_int64)]


class Count(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in COUNTS]


class State(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("waiting", ctypes.c_uint64), ("cables", ctypes.c_uint64 * HOSTS),
                ("quality", Quality * HOSTS * HOSTS), ("counts", Count * HOSTS * HOSTS)]


def state() -> State:
    with open(STATE, "r+b") as file:
        return State.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(State)))


def start(path: str) -> None:
    pathlib.Path(STATE).write_bytes(bytes(State(seed=1)))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(SOCKET)
        listener.listen(64)
        listener.set_inheritable(True)
        os.posix_spawn(path, [path, str(listener.fileno()), STATE], os.environ)


def connect(host: int, interface: str) -> None:
    """Gives the wire a packet socket on its end of a cable."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as cable, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        cable.setsockopt(263, 23, 1)  # SOL_PACKET, IGNORE_OUTGOING
        cable.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        cable.bind((interface, 3))  # ETH_P_ALL
        wire.connect(SOCKET)
        wire.sendmsg([str(host).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [cable.fileno()]))])
        answer = wire.recv(64).decode()
    if answer != "ok":
        fail(f"wire: host {host}: {answer}", 2)


def wrong(word: str) -> NoReturn:
    fail(f"wire: cannot make sense of '{word}'. Try 'tools/lab --help'", 2)


def number(word: str, text: str, units: dict[str, float], most: float) -> float:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([a-z%]*)", text)
    if not found or found[2] not in units or (value := float(found[1]) * units[found[2]]) > most:
        wrong(word)
    return value


def pairs(a: int, b: int) -> Iterator[tuple[int, int]]:
    """All pairs of a sender and a receiver; 0 stands for every host."""
    return ((f, t) for f in ([a] if a else range(1, HOSTS)) for t in ([b] if b else range(1, HOSTS)))


def set_quality(words: list[str]) -> None:
    """Applies all changes, or none if one of them is wrong."""
    hosts, changes = {"from": 0, "to": 0}, list[tuple[str, float]]()
    for word in words:
        name, equals, text = word.partition("=")
        if name in hosts and equals:
            hosts[name] = a_host(text, word)
        elif name == "seed" and text.isdecimal():
            changes.append((name, int(text) % 2**64))
        elif name in UNITS and equals:
            changes.append((name, number(word, text, UNITS[name], 1 if UNITS[name] is SHARES else 60e9)))
        elif word == "clear":
            changes += [(name, 0) for name in UNITS]
        else:
            wrong(word)
    wire = state()
    for name, value in changes:
        if name == "seed":
            wire.seed = int(value)
            for f, t in pairs(0, 0):
                wire.counts[f][t].udp4 = wire.counts[f][t].udp6 = wire.counts[f][t].other = 0
            continue
        for f, t in pairs(hosts["from"], hosts["to"]):
            setattr(wire.quality[f][t], name, int(value) if UNITS[name] is TIMES else value)


def a_host(text: str, word: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < HOSTS:
        wrong(word)
    return int(text)


def cut(words: list[str], is_cut: bool) -> None:
    a, b = [*(a_host(word, word) for word in words[:2]), 0, 0][:2]
    wire = state()
    for f, t in [*pairs(a, b), *pairs(b, a)]:
        wire.quality[f][t].cut = is_cut


def show() -> str:
    wire, links = state(), []
    present = [host for host in range(1, HOSTS) if wire.cables[host]]
    for f, t in ((f, t) for f in present for t in present if f != t):
        q, count = wire.quality[f][t], wire.counts[f][t]
        fields = {"from": f, "to": t, "cut": "true" if q.cut else "false", "loss": f"{q.loss:g}",
                  "duplicate": f"{q.duplicate:g}", "reorder": f"{q.reorder:g}", "delay_us": q.delay // 1000,
                  "jitter_us": q.jitter // 1000, **{name: getattr(count, name) for name in SHOWN}}
        links.append("\n{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}")
    return f'{{"seed":{wire.seed},"waiting":{wire.waiting},"links":[{",".join(links)}]}}'


def command(words: list[str]) -> None:
    if not os.path.exists(SOCKET):
        fail("wire: this lab has no wire: start it with --hosts", 2)
    if not words:
        print(show())
    elif words[0] in ("cut", "heal"):
        cut(words[1:], words[0] == "cut")
    else:
        set_quality(words)
