# SPDX-License-Identifier: GPL-2.0-or-later
"""Song sync on two hosts of a lab: a JACK client or a DAW locates on one, and the other follows. Prints JSON lines."""

import json
import math
import os
import pathlib
import re
import subprocess
import time
import xml.etree.ElementTree as etree
from collections.abc import Callable, Sequence
from typing import Any

from ..common import LAB, ROOT, TOOLS, fail, say
from ..peers import driver
from .actors import middle

RATE = 48000
BAR = 2 * RATE  # frames of a bar at 120 BPM
BARS = 8  # of the song that Hydrogen plays
# If a lab runs PipeWire, host 1 has a jackd of its own all the same.
JACKD = ["env", "--unset=LD_LIBRARY_PATH", "JACK_DEFAULT_SERVER=another"]
# For each DAW: its session, the port that it sounds at, the port of its OSC server (0: none), and its OSC messages.
DAWS = {
    "hydrogen": ("hydrogen", "Hydrogen:out_L", 9000, {"play": "/Hydrogen/PLAY", "stop": "/Hydrogen/STOP",
                                                      "locate": "/Hydrogen/RELOCATE f {bar}"}),
    "ardour": ("ardour-follower", "ardour:Click/audio_out 1", 3819, {"play": "/transport_play", "stop": "/transport_stop",
                                                                     "locate": "/locate ii {frame} {rolls}"}),
    "qtractor": ("qtractor", "Qtractor:Master/out_1", 0, {}),
}
LOOP = 4  # bars of the loop in Qtractor's song
Line = dict[str, Any]


def beginnings(transports: Sequence[driver.Peer], looks: int) -> list[float]:
    """For each rolling transport, the microsecond at which the song began; without a number, it does not roll. The hosts of a
    lab have one clock. JACK takes a cycle's time when the server wakes up: late on a busy machine, and never early."""
    found = [math.inf] * len(transports)
    for _ in range(looks):
        for place, transport in enumerate(transports):
            seen = transport.ask("status")
            begun = seen["time"] - seen["frame"] * 1e6 / RATE
            found[place] = min(found[place], begun) if seen["playing"] else math.nan
        time.sleep(0.002)
    return found


def wait_until(is_so: Callable[[], bool], seconds: float) -> float:
    """Waits until it is so, and returns how many milliseconds that took; without a number, it was never so."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() > began + seconds:
            return math.nan
    return 1000 * (time.monotonic() - began)


def when(onset: Line) -> float | None:
    """When the sound was heard. For 15 s after a stall of the server, its wake-ups tell more than JACK's clock."""
    time: float | None = onset["heard" if onset["quiet"] else "heard_by_wall"]
    return time if onset["since_stall"] >= 2 else None


def await_jump(transport: driver.Peer, before: float, seconds: float = 5) -> float:
    """Waits until the rolling song has moved by a second or more. A beat is half a second long."""
    return wait_until(lambda: abs(beginnings([transport], 1)[0] - before) >= 1e6, seconds)


def song(scene: Line) -> None:
    """Lets a JACK client locate on one of two rolling hosts in turn. Song sync makes the other follow."""
    programs = [driver.Program([LAB, "on", str(host), scene["tactus"], "--no-tui", "--startstop", "--song-sync", "--launch=beat"])
                for host in (1, 2)]
    transports = [driver.Peer("jack", host) for host in (1, 2)]
    time.sleep(4)
    transports[0].ask("locate 480000")
    time.sleep(1)
    transports[0].ask("play")
    time.sleep(3)
    for turn in range(scene["locates"]):
        here, there = transports[turn % 2], transports[(turn + 1) % 2]
        before, = beginnings([there], 1)
        here.ask(f"locate {480000 + 1200000 * (turn % 2) + 7001 * turn}")
        after = await_jump(there, before)
        time.sleep(1.5)
        one, other = beginnings(transports, 12)
        say({"type": "song", "apart": one - other, "milliseconds": after})
    for program in programs:
        program.end()
    for transport in transports:
        transport.end()


class Ears(driver.Child):
    """tools/listen on a host, at one port."""

    def __init__(self, command: list[str], port: str) -> None:
        super().__init__([*command, os.path.join(TOOLS, "listen"), "--json", "--events", port], ("{",), stdin=subprocess.PIPE)
        self.next(60)

    def begin(self) -> None:
        self.tell("section now")

    def onsets(self) -> list[Line]:
        self.tell("report")
        found: list[Line] = []
        while (line := self.next(30)) is not None:
            message = json.loads(line)
            if message["type"] == "end":
                return found
            if message["type"] == "onset":
                found.append(message)
        return found


class Studio:
    """A host with tactus, its session's DAW, JACK's transport and an ear at the DAW."""

    def __init__(self, host: int, daw: str, scene: Line) -> None:
        self.daw, self.tactus, self.period = daw, scene["tactus"], int(scene["period"])
        session, self.sound, self.osc, self.messages = DAWS[daw]
        self.at = [os.environ["LAB_AT"], "0", str(host)]
        if scene.get("pipewire") and host == 1:
            self.at += JACKD
            self.server = driver.Program([*self.at, "jackd", "--realtime", "--realtime-priority", "10", "--port-max", "512", "--name",
                                          "another", "-d", "dummy", "--rate", str(RATE), "--period", str(scene["period"])])
            time.sleep(2)
        self.home = pathlib.Path(os.environ["LAB_DIR"], f"home-{host}")
        {"hydrogen": self.furnish_hydrogen, "ardour": self.furnish_ardour, "qtractor": self.furnish_qtractor}[daw]()
        self.program = driver.Program([*self.at, "env", f"HOME={self.home}", LAB, "screen", self.tactus, "session", "start", session, "--",
                                       "--startstop", "--song-sync", "--launch=beat"])
        self.transport = driver.Peer([*self.at, LAB, "peer", "jack"])

    def file(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def furnish_hydrogen(self) -> None:
        """Hydrogen's preferences, and a song in which each bar has other kicks, so that an ear can tell them apart."""
        text = pathlib.Path("/usr/share/hydrogen/data/hydrogen.default.conf").read_text()
        for key, value in (("audio_driver", "JACK"), ("jack_timebase_enabled", "true"), ("oscEnabled", "true")):
            text = re.sub(f"<{key}>[^<]*", f"<{key}>{value}", text)
        self.file(".hydrogen/hydrogen.conf", text)
        tree = etree.parse(f"{ROOT}/sessions/hydrogen/four-on-the-floor.h2song")
        patterns, sequence = tree.find("patternList"), tree.find("patternSequence")
        assert patterns is not None and sequence is not None
        whole = etree.tostring(patterns[0])
        patterns.clear()
        sequence.clear()
        for bar in range(BARS):
            pattern = etree.fromstring(whole)
            notes = pattern.find("noteList")
            assert notes is not None
            for beat in (3, 2, 1):
                if not bar >> (beat - 1) & 1:
                    notes.remove(notes[beat])
            for name in pattern.iter("name"):
                name.text = f"Bar {bar}"
            patterns.append(pattern)
            etree.SubElement(etree.SubElement(sequence, "group"), "patternID").text = f"Bar {bar}"
        self.file(".local/share/tactus/sessions/hydrogen/four-on-the-floor.h2song",
                  '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(tree.getroot(), encoding="unicode") + " " * 8192)

    def furnish_ardour(self) -> None:
        text = pathlib.Path(ROOT, "sessions", "session.sh").read_text()
        found = re.search(r"^<\?xml.*?^</Ardour>", text, re.MULTILINE | re.DOTALL)
        assert found
        text = found[0].replace("$(rate)", str(RATE)).replace("$backend", "JACK")
        text = text.replace("<Config>", '<Config><Option name="clicking" value="1"/>')
        text = text.replace("<TransportMasters",
                            '<ControlProtocols><Protocol name="Open Sound Control (OSC)" active="1"/></ControlProtocols><TransportMasters')
        self.file(".config/ardour7/.a7", "")
        self.file(".config/ardour7/config", text)
        self.file(".config/ardour7/instant.xml", "<instant><no-memory-warning/></instant>")

    def furnish_qtractor(self) -> None:
        """A song with a loop. Ardour 7 does not loop while it follows JACK's transport."""
        text = pathlib.Path(ROOT, "sessions", "qtractor", "tactus.qtr").read_text().replace("@RATE@", str(RATE))
        self.file(".local/share/tactus/sessions/qtractor/tactus.qtr",
                  text.replace("<loop-end>0<", f"<loop-end>{LOOP * BAR}<") + " " * 100)

    def output(self, *command: str) -> str:
        done = subprocess.run([*self.at, *command], check=False, capture_output=True, text=True)
        return done.stdout + done.stderr

    def await_daw(self) -> None:
        """Waits until the DAW has loaded and tactus is the timebase master again."""
        if math.isnan(wait_until(lambda: self.sound in self.output("jack_lsp").split("\n"), 90)):
            fail("bench", f"{self.daw} has no port {self.sound}", 1)
        if self.osc and math.isnan(wait_until(lambda: f":{self.osc:04X} " in self.output("cat", "/proc/net/udp"), 60)):
            fail("bench", f"{self.daw} does not listen to OSC", 1)
        calm = 0
        for _ in range(60):
            calm = calm + 1 if "another" not in (said := self.output(self.tactus, "send", "jack/timebase/str")) and "probably" not in said else 0
            if calm == 4:
                break
            time.sleep(1)
        self.ears = Ears(self.at, self.sound)

    def press(self, what: str, bar: int = 0, rolls: int = 0) -> None:
        words = self.messages[what].format(bar=bar, frame=bar * BAR, rolls=rolls).split()
        self.output("oscsend", "localhost", str(self.osc), *words)

    def lost(self) -> str:
        return self.output(self.tactus, "send", "jack/lost")

    def frame(self) -> int:
        return int(self.transport.ask("status")["frame"])

    def heard_late(self) -> float:
        """How many microseconds after its cycle a frame is heard. The sessions' --jack-offset makes up for a DAW that sends its
        sound earlier: Ardour by the latency, Qtractor by three periods."""
        latency = float(self.transport.ask("status")["latency"])
        early: float = {"ardour": latency, "qtractor": 3e6 * self.period / RATE}.get(self.daw, 0.0)
        return latency - early

    def plays(self) -> bool:
        return bool(self.transport.ask("status")["playing"])

    def end(self) -> None:
        self.ears.kill()
        self.transport.end()
        self.program.end()


class Pair:
    """Two studios, and what is compared between them."""

    def __init__(self, scene: Line) -> None:
        self.studios = [Studio(host, daw, scene) for host, daw in enumerate(scene["daws"], 1)]
        for studio in self.studios:
            studio.await_daw()
        time.sleep(3)
        self.transports = [studio.transport for studio in self.studios]

    def lost(self) -> list[str]:
        return [studio.lost() for studio in self.studios]

    def apart(self) -> float:
        """How many microseconds later the song on host 1 is heard than on host 2."""
        one, other = (began + studio.heard_late()
                      for began, studio in zip(beginnings(self.transports, 12), self.studios, strict=True))
        return one - other

    def compare(self, what: str, here: Studio, after: float, known: list[str]) -> None:
        """Compares the rolling transports, and what the ears hear in a bar. Each kick of Hydrogen must be heard on the other
        host, too: at a kick of the same bar, or at a click of Ardour."""
        apart_by_jack = self.apart()
        for studio in self.studios:
            studio.ears.begin()
        time.sleep(2.6)
        heard = sorted((studio.ears.onsets() for studio in self.studios), key=len)
        few, many = ([at for onset in onsets if (at := when(onset)) is not None] for onsets in heard)
        apart, alone = [], 0
        for kick in few:
            nearest = min((kick - each for each in many), key=abs, default=math.inf)
            if abs(nearest) < 50_000:
                apart.append(nearest)
            elif many and many[0] < kick < many[-1]:
                alone += 1
        say({"type": "daw", "what": what, "by": here.daw, "apart": apart_by_jack, "milliseconds": after, "ears": apart, "alone": alone,
             "heard": [len(few), len(many)], "lost": self.lost() != known})

    def stand(self, bar: int, here: Studio, there: Studio) -> None:
        """Lets the DAW of a standing host locate."""
        here.press("locate", bar)
        after = wait_until(lambda: abs(there.frame() - bar * BAR) <= 2, 5)
        say({"type": "daw", "what": "standing locate", "by": here.daw, "apart": (here.frame() - there.frame()) * 1e6 / RATE,
             "milliseconds": after, "ears": [], "alone": 0, "heard": [], "lost": False})
        time.sleep(0.3)

    def start(self, here: Studio, there: Studio) -> None:
        known = self.lost()
        here.press("play")
        after = wait_until(there.plays, 8)
        time.sleep(2.5)
        self.compare("start", here, after, known)

    def locate(self, turn: int, here: Studio, there: Studio) -> None:
        """Lets the DAW of a rolling host locate to a bar that is at least two bars away."""
        known = self.lost()
        bar = next(bar % BARS for bar in range(3 * turn, 3 * turn + BARS) if abs(bar % BARS * BAR - here.frame()) > 2 * BAR)
        before, = beginnings([there.transport], 1)
        here.press("locate", bar, rolls=1)
        after = await_jump(there.transport, before)
        time.sleep(2)
        self.compare("rolling locate", here, after, known)

    def stop(self, here: Studio, there: Studio) -> None:
        here.press("stop")
        wait_until(lambda: not there.plays(), 8)
        time.sleep(1.2)
        say({"type": "daw", "what": "stop", "by": here.daw, "apart": (self.studios[0].frame() - self.studios[1].frame()) * 1e6 / RATE,
             "milliseconds": math.nan, "ears": [], "alone": 0, "heard": [], "lost": False})


def daws(scene: Line) -> None:
    """Lets the DAW of each host locate while it stands, start, locate while it rolls, and stop."""
    pair = Pair(scene)
    sides = [tuple(pair.studios), tuple(reversed(pair.studios))]
    for turn in range(scene["locates"]):
        pair.stand((turn * 3 + 1) % BARS, *sides[turn % 2])
    for turn in range(scene["starts"]):
        pair.start(*sides[turn % 2])
        for step in range(scene["locates"] // scene["starts"]):
            pair.locate(turn + step, *sides[(turn + step) % 2])
        pair.stop(*sides[turn // 2 % 2])
    for studio in pair.studios:
        studio.end()


def loops(scene: Line) -> None:
    """Lets the DAW of host 2 turn its loop."""
    pair = Pair(scene)
    there, here = pair.studios
    there.press("locate", 0)
    time.sleep(1)
    here.transport.ask("play")
    time.sleep(3)
    for _ in range(scene["turns"]):
        known, before = pair.lost(), beginnings(pair.transports, 1)
        await_jump(here.transport, before[1], 3 * LOOP)
        after = await_jump(there.transport, before[0])
        time.sleep(3)
        say({"type": "daw", "what": "turn of a loop", "by": here.daw, "apart": pair.apart(), "milliseconds": after, "ears": [],
             "alone": 0, "heard": [], "lost": pair.lost() != known})
    for studio in pair.studios:
        studio.end()


def shown(lines: list[Line]) -> list[str]:
    """The figures of the scenes with DAWs: for each thing that a DAW did, how far apart the hosts were, and how soon the other followed."""
    text = []
    for what in ("standing locate", "start", "rolling locate", "stop", "turn of a loop"):
        for by in sorted({line["by"] for line in lines}):
            if not (found := [line for line in lines if line["what"] == what and line["by"] == by]):
                continue
            judged = [line for line in found if not line["lost"] and math.isfinite(line["apart"])]
            ears = [each for line in judged for each in line["ears"]]
            text.append(f"  {what} by {by}: {len(found)}, of them judged {len(judged)}; transports apart, us: "
                        f"{middle([line['apart'] for line in judged])}; by ear, us: {middle(ears)}, "
                        f"{len(ears)} sounds, {sum(line['alone'] for line in judged)} on one host only; "
                        f"followed after, ms: {middle([line['milliseconds'] for line in found if math.isfinite(line['milliseconds'])])}")
    return text
