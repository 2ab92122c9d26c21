# SPDX-License-Identifier: GPL-2.0-or-later
"""The events of a set: commands of its players, and faults. Each fault says what it excuses, and for how
long."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .. import enemy, link, osc
from ..common import LAB, module
from . import cast, invariants

MOST_PEERS = 5
SCAN = 6  # seconds until Ableton's library sees a returned interface or a new address
WIRE = "10.77.0.1/24"


def lab(*words: str) -> None:
    subprocess.run([LAB, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def interface(state: str) -> None:
    lab("on", "1", "ip", "link", "set", "wire0", state)


def readdress(old: str, new: str) -> None:
    lab("on", "1", "ip", "addr", "del", old, "dev", "wire0")
    lab("on", "1", "ip", "addr", "add", new, "brd", "+", "dev", "wire0")


def send_enemy(kind: str, seconds: float, seed: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([LAB, "on", "2", *module("enemy", kind, str(seconds), str(seed))], stdout=subprocess.PIPE, text=True)


class Show(Protocol):
    """The show in which the trouble happens."""
    controller: cast.Controller
    ear: cast.Ear
    excuses: invariants.Excuses
    peers: list[cast.Peer]
    server: int
    tactus: cast.Tactus


class Trouble:
    def __init__(self, seed: int, evening: Show, calm: bool, hostile: bool) -> None:
        self.dice, self.evening = random.Random(seed), evening
        self.lines: dict[str, float] = {}  # for each kind of fault, the time until which no other may begin
        self.commands: list[tuple[int, Callable[[float], str | None]]] = [
            (10, self.tempo), (4, self.tempo_of_a_peer), (3, self.start_or_stop), (2, self.locate),
                         (4, self.knob), (2, self.nonsense), (2, self.subscriptions), (1, self.query),
                         (2, self.peer_comes), (2, self.peer_goes)]
        self.faults = [] if calm else [
            (3, self.stopped_for_a_moment), (1, self.peer_crashes), (2, self.bad_wire), (1, self.cut_wire),
            (1, self.interface_down), (1, self.other_address), (1, self.osc_flood), (1, self.link_flood),
            (1, self.link_off)]
        if hostile:
            self.faults += [(30, self.enemy)]
            self.commands = [(2, self.tempo), (1, self.start_or_stop), (2, self.knob), (1, self.query)]

    def one(self, now: float) -> str | None:
        """Causes one random event. Returns its description; None: the event was not possible now."""
        choices = self.commands + self.faults
        what = self.dice.choices([c for _, c in choices], [w for w, _ in choices])[0]
        return what(now)

    def free(self, line: str, now: float, seconds: float) -> bool:
        if self.lines.get(line, 0) > now:
            return False
        self.lines[line] = now + seconds
        return True

    def excuse(self, now: float, seconds: float, **excuses: float) -> None:
        """Excuses each invariant for `seconds` and the given additional seconds."""
        for what, more in excuses.items():
            self.evening.excuses.give(now, seconds + more, what)

    def during(self, what: str, line: str, now: float, seconds: float, spare: float, begin: Callable[[], object],
               end: Callable[[], object], **excuses: float) -> str | None:
        """Begins a fault that ends by itself, if no other fault has its line. The next fault on that line
        comes later."""
        if not self.free(line, now, seconds + spare):
            return None
        begin()
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        self.excuse(now, seconds, **excuses)
        return what

    # Music.

    def some_tempo(self) -> float:
        return round(self.dice.choice([self.dice.uniform(60, 200), self.dice.uniform(60, 200),
                                       self.dice.uniform(20, 400)]), 2)

    def tempo(self, now: float) -> str | None:
        bpm, way, send = self.some_tempo(), self.dice.randrange(6), self.evening.controller.send
        if way == 0:
            send("tempo", bpm, self.dice.choice(["beat", "bar"]))
        elif way == 1:
            self.evening.ear.tell(f"tempo {bpm}" + self.dice.choice(["", " half"]))
            return f"the listener's tempo {bpm}"
        elif way == 2:
            send("tempo/fader", self.dice.random())
            return "tempo by fader"
        elif way == 3:
            send("tempo/nudge", round(self.dice.uniform(-3, 3), 1))
            return "nudge"
        else:
            send("tempo", bpm)
        return f"tempo {bpm}"

    def tempo_of_a_peer(self, now: float) -> str | None:
        enabled = [peer for peer in self.evening.peers if peer.enabled and peer.kind == "reference"]
        bpm = self.some_tempo()
        if enabled:
            self.dice.choice(enabled).tell(f"tempo {bpm}")
        return f"a peer's tempo {bpm}" if enabled else None

    def start_or_stop(self, now: float) -> str | None:
        word = self.dice.choice(["start", "stop", "toggle", "rewind"])
        moment = [self.dice.choice(["now", "beat", "bar"])] if word == "start" and self.dice.random() < 0.5 else []
        self.evening.controller.send(word, *moment)
        return word

    def locate(self, now: float) -> str | None:
        bar = self.dice.randrange(1, 200)
        self.evening.controller.send("locate/bar", bar)
        return f"locate to bar {bar}"

    def knob(self, now: float) -> str | None:
        dice = self.dice
        settings: list[tuple[str, Any]] = [
            ("quantum", float(dice.choice([1, 2, 3, 4, 8, 16]))), ("launch", dice.choice(["now", "beat", "bar"])),
            ("click/volume", round(dice.uniform(0.3, 1), 2)), ("click/pattern", dice.choice(["", "Xxxx", "Xx", "XxXx"])),
            ("count/in", dice.choice([0, 0, 1, 2])), ("pulse/rate", dice.choice(["bar", "1", "4", "24", "48"])),
            ("pulse", dice.random() < 0.8), ("clock/settle", float(dice.randrange(1, 300))),
            ("startstop", dice.random() < 0.5), ("record", dice.random() < 0.5), ("lead", dice.choice(["link", "auto"])),
            ("tempo/step", 0.5)]
        path, value = dice.choice(settings)
        self.evening.controller.send(path, value)
        return f"{path} {value}"

    # Controllers.

    def nonsense(self, now: float) -> str | None:
        dice = self.dice
        if dice.random() < 0.5:
            wrong: list[tuple[str, Any]] = [("tempo", 1e9), ("tempo", "fast"), ("locate", -5.0), ("nowhere", 1),
                                       ("[", 1), ("click/pattern", "?" * 64), ("meter", 0), ("quantum", float("nan"))]
            path, value = dice.choice(wrong)
            self.evening.controller.send(path, value)
            return f"nonsense: {path} {value}"
        packet = bytearray(osc.message("/tactus/click/volume", None, 0.5) if dice.random() < 0.5 else b"#bundle\0" + bytes(24))
        for _ in range(dice.randrange(1, 9)):
            packet[dice.randrange(len(packet))] = dice.randrange(256)
        # Make sure that the random packet is not valid by accident.
        packet[0] = 0xFF
        self.evening.controller.raw(bytes(packet[:dice.randrange(1, len(packet))]))
        return "broken OSC"

    def subscriptions(self, now: float) -> str | None:
        port = self.dice.choice([*cast.Controller.TABLETS, 9000 + self.dice.randrange(40)])
        if self.dice.random() < 0.3:
            self.evening.controller.send("unsubscribe", port)
            return f"unsubscribe {port}"
        groups = " ".join(self.dice.sample(["state", "beat", "phase", "position", "heartbeat", "exact"], 3))
        self.evening.controller.send("subscribe", port, groups, self.dice.randrange(1, 60))
        return f"subscribe {port} {groups}"

    def query(self, now: float) -> str | None:
        def ask() -> None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen("http://127.0.0.1:8080/?VALUE", timeout=2).read()

        threading.Thread(target=ask, daemon=True).start()
        return "OSCQuery"

    # Peers.

    def peer_comes(self, now: float) -> str | None:
        if len(self.evening.peers) >= MOST_PEERS or self.lines.get("wire", 0) > now:
            return None
        self.evening.excuses.give(now, 12, "peers")
        kind = "reference" if any(p.kind == "linkhut" for p in self.evening.peers) else "linkhut"
        self.evening.peers.append(peer := cast.Peer(kind))
        peer.tell("sync on")
        peer.tell("enable on")
        if kind == "linkhut":
            peer.tell("play")
        return f"{kind} joins"

    def gone(self, now: float, seconds: float) -> cast.Peer | None:
        if len(self.evening.peers) < 2:
            return None
        self.evening.excuses.give(now, seconds, "peers")
        return self.evening.peers.pop(self.dice.randrange(len(self.evening.peers)))

    def peer_goes(self, now: float) -> str | None:
        if peer := self.gone(now, 9):
            peer.tell("quit")
        return f"{peer.kind} leaves" if peer else None

    def peer_crashes(self, now: float) -> str | None:
        if peer := self.gone(now, 12):
            peer.crash()
        return f"{peer.kind} crashes" if peer else None

    # Faults.

    def stopped_for_a_moment(self, now: float) -> str | None:
        victim = self.dice.choice(["tactus", "tactus", "jackd"])
        seconds = self.dice.choice([0.06, 0.3, 1.2]) if victim == "tactus" else 0.06
        process = self.evening.tactus.pid if victim == "tactus" else self.evening.server
        # tactus cannot play events that are due while its process is stopped. After that it sends the missed
        # MIDI clock messages, but not the missed clicks.
        return self.during(f"{victim} stopped for {seconds} s", "stop", now, seconds, 6, lambda: os.kill(process, signal.SIGSTOP),
                           lambda: os.kill(process, signal.SIGCONT), click=4, clock=4, phase=4, osc=4)

    def wire(self, what: str, now: float, seconds: float, *words: str) -> str | None:
        """Makes the wire bad for a while, and then perfect. Messages may arrive late, and peers that were
        cut off come back by themselves."""
        return self.during(what, "wire", now, seconds, 10, lambda: lab("wire", *words),
                           lambda: lab("wire", "heal" if words[0] == "cut" else "clear"), phase=4, peers=15, session=4)

    def bad_wire(self, now: float) -> str | None:
        seconds, loss, jitter = self.dice.uniform(2, 10), self.dice.randrange(2, 20), self.dice.randrange(0, 6)
        return self.wire(f"{loss} % lost, {jitter} ms of jitter for {seconds:.1f} s", now, seconds,
                         f"loss={loss}%", "delay=1ms", f"jitter={jitter}ms", "duplicate=2%", "reorder=2%")

    def cut_wire(self, now: float) -> str | None:
        seconds = self.dice.choice([1.0, 4.0, self.dice.uniform(6, 30)])
        return self.wire(f"cut for {seconds:.1f} s", now, seconds, "cut", "2")

    def interface_down(self, now: float) -> str | None:
        seconds = self.dice.uniform(0.5, 8)
        return self.during(f"the interface is down for {seconds:.1f} s", "wire", now, seconds, 16, lambda: interface("down"),
                           lambda: interface("up"), phase=6, peers=20, session=SCAN)

    def other_address(self, now: float) -> str | None:
        seconds, other = self.dice.uniform(3, 8), f"10.77.0.{self.dice.randrange(50, 250)}/24"
        return self.during(f"the address is {other} for {seconds:.1f} s", "wire", now, seconds, 16,
                           lambda: readdress(WIRE, other), lambda: readdress(other, WIRE), phase=6, peers=20, session=SCAN)

    def osc_flood(self, now: float) -> str | None:
        packets = [osc.message("/tactus/click/volume", None, self.dice.uniform(0.3, 1)), osc.message("/tactus/nowhere", None, 1),
                   self.dice.randbytes(100)]
        # All packets of one host share a rate limit, so a ping may have to wait.
        return self.flood("4000 OSC packets at once", now, packets, osc.HOST, osc=5)

    def link_flood(self, now: float) -> str | None:
        packets = [link.DISCOVERY + bytes([self.dice.randrange(1, 4), 5, 0, 0]) + self.dice.randbytes(self.dice.randrange(4, 400))
                   for _ in range(40)]
        return self.flood("4000 broken Link packets at once", now, packets, link.GROUP)

    def flood(self, what: str, now: float, packets: Sequence[bytes], target: tuple[str, int], **excuses: float) -> str | None:
        def send() -> None:
            with osc.speaker() as sender, contextlib.suppress(OSError):
                for number in range(4000):
                    sender.sendto(packets[number % len(packets)], target)
                    if number % 50 == 49:
                        time.sleep(0.01)

        return self.during(what, "flood", now, 0, 8, threading.Thread(target=send, daemon=True).start, lambda: None, **excuses)

    def enemy(self, now: float) -> str | None:
        """Starts an attack from the wire. While the attacker counts as a peer, peer counts may include it,
        and its tempo is a valid tempo."""
        kind, seconds = self.dice.choice(enemy.KINDS), round(self.dice.uniform(2, 5), 1)
        if not self.free("enemy", now, seconds + 3):
            return None
        send_enemy(kind, seconds, self.dice.randrange(10**6))
        # In a "war" (a quick series of tempos from invented peers), each peer receives the messages in
        # another order. So the peers disagree about the beat until the last message.
        self.excuse(now, seconds, peers=12, phase=5, session=5, **({"click": 5, "clock": 5} if kind == "war" else {}))
        return f"enemy: {kind} for {seconds} s"

    def link_off(self, now: float) -> str | None:
        """Switches Link off for a while: tactus plays on alone, at its own tempo."""
        seconds, send = self.dice.uniform(1, 4), self.evening.controller.send
        return self.during(f"link off for {seconds:.1f} s", "link", now, seconds, 15, lambda: send("link", 0),
                           lambda: send("link", 1), click=6, clock=6, phase=6, peers=10, session=4)
