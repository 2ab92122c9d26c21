# SPDX-License-Identifier: GPL-2.0-or-later
"""The evening inside the lab: all programs start, then each second an event happens and everything is
checked."""

import collections
import json
import os
import time
from collections.abc import Callable
from typing import Any

from .. import link, processes
from . import cast, company, invariants, trouble

REMEMBERED = 60  # how many lines are printed after a violation; the log has all lines
PORTS = ["tactus:click_1", "tactus:clock"]


class Evening:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.log = plan, open(plan["log"], "w")  # noqa: SIM115 - open until the program ends
        self.recent: collections.deque[str] = collections.deque(maxlen=REMEMBERED)
        self.began = time.monotonic()
        self.excuses = invariants.Excuses()
        self.invariants = invariants.Invariants(self.excuses, plan["seconds"])
        self.trouble = trouble.Trouble(plan["seed"], self, plan["calm"], plan["hostile"])
        self.events = 0
        self.peers: list[cast.Peer] = []
        self.seen, self.dropped = "", 0
        self.figures: dict[str, int] = {}
        self.controller = cast.Controller()
        self.company = company.Company()
        self.server = processes.server()
        self.say("seed " + str(plan["seed"]))
        self.ears_environment: dict[str, str] = {}
        self.environment = {"LD_PRELOAD": plan["plant_library"], "PLANT": plan["plant"]} if plan["plant"] else {}
        self.begin()

    def begin(self) -> None:
        self.tactus = cast.Tactus(self.plan["tactus"], self.say, self.environment)
        self.tactus.wait_for("OSC: ", 15)
        self.listen()
        for kind in ("reference", "linkhut"):
            self.join(kind)

    def listen(self) -> None:
        self.ear = cast.Ear(PORTS, self.note, self.ears_environment)
        self.ear.ready(60)

    def join(self, kind: str) -> None:
        self.peers.append(peer := cast.Peer(kind))
        peer.tell("enable on")
        peer.tell("play")

    def now(self) -> float:
        return time.monotonic() - self.began

    def say(self, text: str) -> None:
        line = f"{self.now():9.2f}  {text}"
        self.log.write(line + "\n")
        self.log.flush()
        self.recent.append(line)

    def note(self, event: dict[str, Any]) -> None:
        """Writes every single click and clock to the log."""
        if event["type"] == "onset" or event["type"] == "clock" and abs(event["wall_error"] or 0) > 3000:
            self.log.write(f"{self.now():9.2f}    {event['port']} beat {event['beat']} error {event['error']} "
                           f"by the wall {event['wall_error']} since_stall {event['since_stall']}\n")

    def settle(self) -> None:
        """Waits until all peers are in one session, measured and heard. Anything that is missing afterwards
        is a violation like any other."""
        self.excuses.give(self.now(), 15, "peers", "session")
        self.excuses.give(self.now(), 4, "click", "clock", "phase")

    def expected_peers(self) -> int:
        return 1 + sum(peer.enabled for peer in self.peers)

    def are_references_apart(self, seen: int) -> bool:
        """Whether the peers with Ableton's own library, including the listener, are in different sessions.
        That is not tactus's fault: Debian's version (LinkHut and the listener) does not always recover from
        forged goodbyes. Beside two peers of the newest version, and without tactus, LinkHut stayed alone
        after 2 of 10 attacks; the newest version alone, or with ours, never in 76."""
        others = [peer for peer in self.peers if peer.enabled]
        return bool(others) and min([seen] + [peer.ask("status")["peers"] for peer in others]) < len(others)

    def enter_anew(self) -> None:
        """Makes all peers leave and enter again, as people do when they see that they are alone."""
        self.say("peers of Ableton's own library are in two sessions, and enter anew")
        entering = [peer for peer in self.peers if peer.enabled]
        self.ear.tell("link off")
        for peer in entering:
            peer.tell("enable off")
        time.sleep(1)
        for peer in entering:
            peer.tell("enable on")
        self.ear.tell("link on")

    def play(self) -> None:
        self.settle()
        due, next_event, shown = self.now(), self.now() + 3, -1
        while self.now() < self.plan["seconds"]:
            due += 1
            time.sleep(max(0, due - self.now()))
            self.second()
            while self.now() > next_event:
                what = self.trouble.one(self.now())
                if what:
                    self.events += 1
                    self.say(what)
                next_event = max(next_event, self.now() - 2) + self.trouble.dice.expovariate(1 / 2.0)
            if int(self.now() // 60) > shown:
                shown = int(self.now() // 60)
                print(self.line(), flush=True)
            due = max(due, self.now() - 1)

    def second(self) -> None:
        now = self.now()
        ports, where = self.ear.hear()
        self.tactus_is_well()
        if (dropped := processes.dropped(link.GROUP[1])) > self.dropped:
            # More datagrams came at once than the socket holds. If a tempo was among them, it arrives with
            # the next Alive.
            self.say(f"Link's datagrams that the kernel dropped: {dropped - self.dropped}")
            self.excuses.give(now, 3, "click", "clock", "phase")
        self.dropped = dropped
        if (seen := f"the listener: {where['peers']} peers, {where['tempo']:g} BPM") != self.seen:
            self.say(seen)
        self.seen, self.where = seen, where
        self.invariants.one_session(now, self.company.is_apart())
        self.invariants.check(now, ports, where)
        self.count_everybody(now, where["peers"])
        self.invariants.answered(now, self.controller)

    def tactus_is_well(self) -> None:
        if self.tactus.process.poll() is not None:
            raise invariants.Violation(f"tactus ended with {self.tactus.process.returncode}")
        self.figures = self.tactus.figures()
        self.invariants.no_growth(self.now(), self.figures)

    def count_everybody(self, now: float, seen: int) -> None:
        is_wrong = seen != self.expected_peers() and not self.excuses.has(now, "peers")
        if is_wrong and self.plan["hostile"] and self.are_references_apart(seen):
            self.enter_anew()
            self.settle()
        else:
            self.invariants.everybody_counted(now, seen, self.expected_peers())

    def line(self) -> str:
        counts = self.invariants.counts
        return (f"{self.now() / 60:7.1f} min  {counts['clicks']} clicks, {counts['clocks']} clocks, {self.events} events, "
                f"{self.controller.told_all} told by OSC, "
                f"{counts['lost cycles']} interruptions, {self.where['peers']} peers, {self.where['tempo']:g} BPM, "
                + ", ".join(f"{value} {name}" for name, value in self.figures.items()))

    def summary(self) -> str:
        worst = "; ".join(f"{name} {value:.0f} us" for name, value in sorted(self.invariants.worst.items()))
        counts = self.invariants.counts
        return (f"{self.line()}\nworst median of {invariants.PHASE_WINDOW} s: {worst}\n"
                f"{counts['seconds apart']} seconds in which the listener was in another session than tactus\n"
                f"in lost cycles: {counts['clicks in lost cycles']} clicks, {counts['clocks in lost cycles']} clocks")


def perform(show: Evening, violated: str, well: Callable[[], str]) -> None:
    """Plays the show to its end, then ends the lab. `violated`: text to append to the reason of a
    violation; `well`: makes the text for success."""
    status = 0
    try:
        show.play()
        print(well(), flush=True)
    except (invariants.Violation, RuntimeError) as wrong:
        show.say(f"VIOLATION: {wrong}")
        print("\n".join(show.recent))
        print(f"broken after {show.now():.1f} s: {wrong}\n{violated}everything: {show.plan['log']}", flush=True)
        status = 1
    os._exit(status)  # the timers that would end faults later die with the lab


def main(words: list[str]) -> None:
    plan = json.loads(words[0])
    print(f"seed {plan['seed']}, {plan['seconds'] / 3600:g} h", flush=True)
    evening = Evening(plan)
    perform(evening, f"seed {plan['seed']}; ",
            lambda: f"{evening.summary()}\nnothing was violated; everything: {plan['log']}")
