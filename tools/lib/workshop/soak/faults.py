# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults one after another, by name. During a fault the invariants of an evening hold, except those that it
must break. Afterwards everything must recover: all peers are counted; all have one tempo, the old one; the
reference peer's beat is where it would have been; and four seconds of clicks and clocks are complete and in
phase."""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import numpy

from .. import build
from ..bench import actors
from . import evening, invariants, trouble

PATIENCE = 60.0  # seconds for everything to recover; peers count a crashed peer for up to seven
FOR_GOOD = 15  # seconds after which separated peers of the reference library do not find each other by themselves
CLEAN = 4  # seconds in a row without an error
CLICKS = 3  # clicks that must have been judged in the clean seconds
TEMPO = 107.3
OUTAGE_TEMPOS = [204.1, 66.0, 180.0]
APART = 0.02  # the beats by which the hosts may differ: eleven milliseconds
CLOCKS, DISK = "/dev/shm/clocks", "/dev/shm/disk"
CALLBACK_LIMIT = 0.1  # the share of a period that the audio thread may need
# The attacks, and the invariants that each excuses. Forgers send 4,000 datagrams a second. Peers believe none
# of them, so the attack excuses nothing.
ATTACKS: dict[str, list[str]] = {"strangers": [], "byes": ["phase"], "broken": ["phase"], "forgers": []}
Outcome = tuple[float | None, bool]  # the tempo after it (None: any), and whether the session is the same


class Faults(evening.Evening):
    def begin(self) -> None:
        self.clocks = numpy.memmap(CLOCKS, "i8", "w+", shape=2)  # the offsets of the wall clock and of the monotonic clocks, in nanoseconds
        subprocess.run(["sh", "-c", f"mkdir {DISK} && mount -t tmpfs -o size=64k none {DISK}"], check=True)
        others = [self.environment.get("LD_PRELOAD", ""), build.native("clocks"), build.native("callback_time")]
        self.environment |= {"CLOCKS": CLOCKS, "CALLBACK_TIME": actors.TIMES, "XDG_STATE_HOME": DISK, "LD_PRELOAD": " ".join(others)}
        self.said: list[str] = []
        if not self.plan["pipewire"]:
            self.ears_environment = {"CLOCKS": CLOCKS, "LD_PRELOAD": build.native("clocks")}
            self.another_server()  # start a JACK server whose clocks can be set
        super().begin()

    def say(self, text: str) -> None:
        super().say(text)
        if text.startswith("tactus: "):
            self.said.append(text)

    def set_clocks(self, wall: int = 0, slept: int = 0) -> None:
        """Sets this host's clocks. Seconds slept add up, and are never taken back."""
        self.clocks[:] = wall, self.clocks[1] - slept

    def play(self) -> None:
        # Set a tempo that is not the default before the fault, so that there is a tempo to save on the disk.
        self.right()
        self.ear.tell(f"tempo {TEMPO}")
        self.right(TEMPO)
        for name in self.plan["faults"]:
            before = self.peers[0].ask("beat")
            self.say(f"fault: {name}")
            self.events += 1
            began = self.now()
            tempo, is_session_kept = getattr(self, "fault_" + name, lambda: None)() or (TEMPO, True)
            if name in ATTACKS:
                self.attacked(name, *ATTACKS[name])
            over = self.now()
            self.right(tempo)
            if is_session_kept:
                self.beat_went_on(before)
            print(f"{name}: {over - began:.0f} s, right again {max(0, self.now() - over - CLEAN):.0f} s later", flush=True)
            if tempo != TEMPO:
                self.ear.tell(f"tempo {TEMPO}")
                self.right(TEMPO)
        self.audio_thread_was_quick()

    # The expectations.

    def meanwhile(self, seconds: float) -> None:
        """Lets this many seconds pass while all invariants without an excuse must hold."""
        end = self.now() + seconds
        while self.now() < end:
            time.sleep(min(1, max(0.1, end - self.now())))
            self.second()

    def right(self, tempo: float | None = None, patience: float = PATIENCE) -> None:
        began, clean, clicks, apart, wrong = self.now(), 0, 0, 0, "nothing was heard"
        while clean < CLEAN or clicks < CLICKS:
            if self.now() - began > patience:
                raise invariants.Violation(f"not right again within {patience:g} s: {wrong}")
            time.sleep(1)
            self.tactus_is_well()
            ports, self.where = self.ear.hear()
            found, heard = self.wrong(ports, self.where, tempo)
            if found:
                self.say(f"not right yet: {found}")
                wrong, clean, clicks = found, 0, 0
                apart = apart + 1 if self.are_references_apart(self.where["peers"]) else 0
                if apart and apart % FOR_GOOD == 0:
                    self.enter_anew()
            else:
                clean, clicks = clean + 1, clicks + heard
        self.invariants.errors.clear()
        self.invariants.disturbed = self.now()

    def wrong(self, ports: dict[str, invariants.Heard], where: invariants.Heard, tempo: float | None) -> tuple[str | None, int]:
        """The first thing that is wrong, and how many clicks and clocks were in phase."""
        for who, counted in {"the listener": where["peers"], "tactus": self.value("peers")}.items():
            if counted != self.expected_peers():
                return f"{who} counts {counted} peers; there are {self.expected_peers()}", 0
        tempos = {"the listener": where["tempo"], "tactus": self.value("tempo")}
        tempos |= {peer.kind: peer.ask("status")["tempo"] for peer in self.peers}
        for who, value in tempos.items():
            # LinkHut shows two decimals, and a tempo is a whole number of microseconds per beat.
            if value is None or abs(value - (tempo or tempos["the listener"])) > 0.02:
                return f"{who} has {value} BPM: {tempos}", 0
        clicks = 0
        for port, heard in ports.items():
            if port.endswith("click_1") and heard["latest"] and (apart := self.apart(heard)) > APART:
                return f"the other host's beat is {apart:.3f} from this one's", 0
            clock = "by_jack" if heard["by_jack"]["n"] else "by_wall"
            # Ignore lost cycles, and the MIDI clock messages that tactus sends late after a lost cycle.
            for what in ("missing", "doubled") if not where["lost"] else ():
                if heard[what]:
                    return f"{port}: {len(heard[what])} {what}", 0
            if heard[clock]["n"]:
                clicks += heard[clock]["n"] if port.endswith("click_1") else 0
                if abs(heard[clock]["median"]) > invariants.PHASE_LIMIT[clock]:
                    return f"{port}: off the beat by {heard[clock]['median']:.0f} us, {clock}", 0
        return None, clicks

    def apart(self, heard: invariants.Heard) -> float:
        """How many beats a click's beat here and on the other host differ. The other host's clocks are
        never changed; the listener shares our clock, right or wrong."""
        for peer in self.peers:
            if peer.kind == "reference":
                there = peer.ask(f"beat {round(heard['latest'] - int(self.clocks[1]) / 1000)}")["phase"]
                return float(abs((there - heard["latest_beat"] + 2) % 4 - 2))
        return 0.0

    def value(self, path: str) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:8080/tactus/{path}?VALUE", timeout=5) as answer:
                return json.load(answer)["VALUE"][0]
        except OSError:
            return None

    def beat_went_on(self, before: dict[str, Any]) -> None:
        """Checks that the session continued: on another host its beat must be where it would have been
        without the fault."""
        now = self.peers[0].ask("beat")
        promised = before["beat"] + (now["time"] - before["time"]) / 60e6 * before["tempo"]
        if abs(promised - now["beat"]) > APART:
            raise invariants.Violation(f"another host's beat jumped by {now['beat'] - promised:.3f}")

    def audio_thread_was_quick(self) -> None:
        """Checks the audio thread's processor time, which other programs do not affect. One in a thousand
        cycles is left out, because an interrupt or another virtual machine may cause the longest ones."""
        figures = actors.Times(self.tactus.pid, from_now=False).figures()
        spent = figures["cpu_us"]
        print(f"audio thread: {figures['calls']} cycles, {spent['median']:.1f} us of the processor in the median, "
              f"{spent['p99.9']:.1f} in 99.9 % of all, {spent['max']:.0f} at most")
        if spent["p99.9"] > CALLBACK_LIMIT * 256 / 48000 * 1e6:
            raise invariants.Violation(f"the audio thread needed {spent['p99.9']:.0f} us of the processor in a cycle")

    # Faults of the network.

    def length(self, seconds: float) -> float:
        return 30.0 if self.plan["long"] else seconds

    def disturbed(self, seconds: float, begin: Callable[[], object], end: Callable[[], object], **excuses: float) -> None:
        begin()
        self.trouble.excuse(self.now(), seconds, **excuses)
        self.meanwhile(seconds)
        end()

    def fault_interface(self) -> None:
        """The interface is down for longer than any peer remembers a silent one. The listener and tactus
        have to find each other on loopback."""
        self.disturbed(self.length(8), lambda: trouble.interface("down"), lambda: trouble.interface("up"), phase=1, peers=1)

    def fault_outage(self) -> Outcome:
        """The interface is down for six seconds, and a peer on the other host sets tempos as soon as it is
        up again. tactus sees that at once. The listener is delayed here and sees it seconds later, like
        peers of Ableton's library, which look for interfaces every five seconds."""
        self.disturbed(6, lambda: trouble.interface("down"), lambda: trouble.interface("up"), phase=1, peers=20)
        self.trouble.excuse(self.now(), 0, session=trouble.SCAN)
        self.ear.tell("link off")
        for tempo in OUTAGE_TEMPOS:
            self.peers[0].tell(f"tempo {tempo}")
            self.meanwhile(2)
        self.ear.tell("link on")
        self.meanwhile(8)
        return OUTAGE_TEMPOS[-1], False

    def fault_address(self) -> None:
        other = "10.77.0.99/24"
        self.disturbed(3, lambda: trouble.readdress(trouble.WIRE, other), lambda: trouble.readdress(other, trouble.WIRE),
                       phase=1, peers=1)

    def fault_cut(self) -> None:
        """The cable to host 2 is cut. Host 1 and its listener play on, and so does host 2."""
        self.disturbed(self.length(8), lambda: trouble.lab("wire", "cut", "2"), lambda: trouble.lab("wire", "heal"), peers=1)

    def fault_crash(self) -> Outcome:
        """All other peers are killed, and return with other tempos."""
        gone, self.peers = self.peers, []
        for peer in gone:
            peer.crash()
        self.right(TEMPO)
        for peer in gone:
            self.join(peer.kind)
        return TEMPO, False  # the peers that knew the session have gone

    # Faults of the machine.

    def fault_stop(self) -> None:
        """tactus is stopped for ten seconds. By then the other peers have forgotten it."""
        os.kill(self.tactus.pid, signal.SIGSTOP)
        time.sleep(self.length(10))
        os.kill(self.tactus.pid, signal.SIGCONT)

    def another_server(self) -> None:
        """Kills the server, and starts it again with the same command."""
        command, words = (pathlib.Path(f"/proc/{self.server}/{name}").read_text().split("\0")[:-1] for name in ("cmdline", "environ"))
        os.kill(self.server, signal.SIGKILL)
        time.sleep(1)
        environment = dict(entry.split("=", 1) for entry in words) | self.ears_environment
        self.server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL).pid
        while subprocess.run(["jack_lsp"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            time.sleep(0.1)

    def fault_server(self) -> None:
        """The JACK server is restarted. The listener ends with the server, so a new listener judges what
        follows."""
        self.said.clear()
        self.another_server()
        self.ear.process.wait(20)
        self.listen()
        if not any("gone" in line for line in self.said) or not any("back on JACK server" in line for line in self.said):
            raise invariants.Violation(f"tactus did not tell that the server went and came: {self.said}")

    def fault_suspend(self) -> None:
        """All programs of this host stand still, and so do its monotonic clocks. Those of the other hosts
        do not."""
        if self.plan["pipewire"]:
            raise SystemExit("soak: PipeWire's timers are the kernel's own: --fault suspend is for jackd")
        sleepers, began = [self.server, self.tactus.pid, self.ear.process.pid], time.monotonic_ns()
        for process in sleepers:
            os.kill(process, signal.SIGSTOP)
        time.sleep(self.length(5))
        self.set_clocks(slept=time.monotonic_ns() - began)
        # Make the listener measure the clock again at once: by itself it would take half a minute.
        self.ear.tell("link off")
        for process in sleepers:
            os.kill(process, signal.SIGCONT)
        time.sleep(1)
        self.ear.tell("link on")
        self.right(TEMPO, 20)  # a peer that misses the sleep measures only after half a minute

    def fault_clock(self) -> None:
        """The wall clock is set back by an hour, and forward again."""
        self.set_clocks(wall=-3600 * 10**9)
        self.meanwhile(6)
        self.right(TEMPO)
        self.set_clocks()
        self.meanwhile(1)

    def fault_disk(self) -> None:
        """The disk is full when a choice is to be saved: there must be one warning, and the choice must be
        saved once there is room."""
        self.said.clear()
        subprocess.run(["sh", "-c", f"cat /dev/zero >{DISK}/full"], check=False, stderr=subprocess.DEVNULL)
        self.controller.send("startstop", 1)
        self.meanwhile(4)
        if len([line for line in self.said if "can't be written" in line]) != 1:
            raise invariants.Violation(f"a full disk must be one warning: {self.said}")
        os.unlink(f"{DISK}/full")
        end = self.now() + 19  # tactus tries to write again every ten seconds
        while self.now() < end and not any("can be written again" in line for line in self.said):
            self.meanwhile(1)
        if "\"startstop\"" not in pathlib.Path(DISK, "tactus/state.json5").read_text():
            raise invariants.Violation("what was chosen when there was no room was not kept")
        self.controller.send("startstop", 0)

    # Attackers on the network (enemy.py).

    def attacked(self, kind: str, *excuses: str) -> tuple[str, int]:
        enemy, most = trouble.send_enemy(kind, self.length(4), self.plan["seed"]), 0
        while enemy.poll() is None:
            self.excuses.give(self.now(), 3, "peers", *excuses)
            self.meanwhile(1)
            most = max(most, self.value("peers") or 0)
        self.say(f"tactus counted up to {most} peers")
        return enemy.communicate()[0], most

    def fault_crowd(self) -> None:
        """Two hundred peers appear at once, and disappear at once."""
        if (most := self.attacked("crowd")[1]) < 200:
            raise invariants.Violation(f"of 200 peers {most} were counted")

    def fault_liars(self) -> Outcome:
        """Lying peers found a session that seems older than any other. Either all peers go there, or all
        stay."""
        self.attacked("liars", "phase", "click", "clock")
        return None, False

    def fault_war(self) -> Outcome:
        """Two peers fight about the tempo. By the protocol, the message about the latest beat wins,
        whatever its sender: in the end all must have the last tempo."""
        return 60e6 / int(self.attacked("war", "phase", "click", "clock")[0]), False


def main(words: list[str]) -> None:
    plan = json.loads(words[0])
    print(f"seed {plan['seed']}, faults", flush=True)
    faults = Faults(plan)
    evening.perform(faults, "", lambda: f"all is right after {faults.events} faults; everything: {plan['log']}")
