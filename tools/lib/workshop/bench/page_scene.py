# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens inside of the lab: tactus with its page, a browser, somebody else in the session. Prints JSON lines."""

import json
import os
import random
import re
import socket
import struct
import subprocess
import threading
import time
from itertools import pairwise
from statistics import median
from typing import Any

from .. import link, listening, osc, processes
from ..common import LAB, say
from ..peers import driver
from .fuzz_osc import Echo
from .osc import spread
from .osc_hostile import Surface
from .page_crowd import Crowd

Scene = dict[str, Any]
HOME = "10.77.0.1"  # host 1, on the wire
LIVE = "document.body.dataset.connection === 'live'"
PAIRED = "document.body.dataset.paired === 'true'"
WARM = 12  # seconds after which the page knows its clock
SETTLED = 3
TAPS = 24  # of the page's calibration, for each step


class Stage:
    """tactus on host 1; the browser at the end of the wire, if there is one."""

    def __init__(self, scene: Scene, *options: str, has_browser: bool = True) -> None:
        self.is_far = scene.get("hosts", 1) > 1
        listens = [f"--web-listen={HOME}"] if self.is_far else []
        self.tactus = driver.Program([scene["tactus"], "--name", "tactus", "--web", *listens, *options], marks=("OSC: ",))
        self.tactus.wait_for("OSC: ")
        deadline = time.monotonic() + 20
        while not (found := re.search(r"http://[^\s/:]+:(\d+)/?#\S+", subprocess.run(
                [scene["tactus"], "web"], check=False, capture_output=True, text=True).stdout)):
            if time.monotonic() > deadline:
                raise SystemExit("tactus web shows no address")
            time.sleep(0.1)
        self.invitation, self.port = found[0], int(found[1])
        self.browser = driver.Peer("browser", 2 if self.is_far else None) if has_browser else None

    def ask(self, line: str, seconds: float = 120) -> dict[str, Any]:
        assert self.browser
        return self.browser.ask(line, seconds=seconds)

    def arrive(self) -> None:
        self.ask(f"open {self.invitation}")
        self.ask(f'until "{LIVE}"')
        self.ask(f'until "{PAIRED}"')

    def end(self) -> None:
        if self.browser:
            self.browser.end()
        self.tactus.end()


def reference(count: int = 1) -> driver.Peer:
    peer = driver.Peer("reference")
    for line in ("enable on", f"wait peers {count} 20"):
        peer.ask(line)
    return peer


def wire(*words: str) -> None:
    subprocess.run([LAB, "wire", *words], check=True, stdout=subprocess.DEVNULL)


def samples(text: str) -> list[list[str]]:
    return [part.split(" ") for part in text.split("; ")]


def beat(scene: Scene) -> None:
    """In each frame: the beat that the page has for that frame's time, against the session's at the same moment; and the beat that it
    draws in it, against the session's in the middle of the time for which a screen shows that, which begins one turn later, or as late
    as this browser had it there."""
    stage = Stage(scene)
    peer = reference()
    peer.ask(f"tempo {scene['tempo']}")
    if scene["jitter"]:
        wire(f"jitter={scene['jitter']}ms")
    stage.arrive()
    time.sleep(WARM)
    found = samples(stage.ask(f"frames {scene['seconds']} \"tactus.beatAt(T) + ',' + document.querySelector('#phase').style.transform\"")["value"])
    presented = median(map(float, stage.ask("presented")["value"].split()))
    frame = median((float(after[0]) - float(before[0])) / 1000 for before, after in pairwise(found))
    drawn_off: list[float] = []
    seen_off: list[float] = []
    errors, late = [], []
    for at, shown, drawn in found:
        truth, (has, draws) = peer.ask(f"beat {at}")["beat"], shown.split(",")
        beats_per_ms = scene["tempo"] / 60e3
        errors.append(((float(has) - truth + 2) % 4 - 2) / beats_per_ms)
        # The phase in a bar of four beats, from the width of its indicator.
        phase = 4 * float(draws.removeprefix("scaleX(").removesuffix(")"))
        for after, off in ((frame, drawn_off), (presented, seen_off)):
            off.append(((phase - truth - (after + frame / 2) * beats_per_ms + 2) % 4 - 2) / beats_per_ms)
        late.append((float(drawn) - float(at)) / 1000)
    clock = json.loads(stage.ask('evaluate "JSON.stringify(tactus.clock)"')["value"])
    say({"type": "beat", "off_ms": spread([abs(error) for error in errors]), "median_ms": round(median(errors), 3),
         "drawn_off_ms": spread([abs(error) for error in drawn_off]), "seen_median_ms": round(median(seen_off), 3),
         "presented_after_ms": round(presented, 1), "frame_ms": round(frame, 2),
         "own_estimate_ms": clock.get("error"), "round_trip_ms": clock.get("roundTrip"),
         "drawn_after_ms": round(median(late), 3)})
    peer.end()
    stage.end()


def overhear(timelines: list[tuple[float, float]]) -> None:
    """The tempos that peers of this machine announce by any of its interfaces, and when: what a peer is told to do it does in its
    own time."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(link.GROUP)
    for own in ("127.0.0.1", HOME):
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(link.GROUP[0]) + socket.inet_aton(own))
    while True:
        datagram = sock.recv(2000)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / 1000
        if (place := datagram.find(b"tmln")) >= 0:
            timelines.append((now, 60e6 / struct.unpack_from(">q", datagram, place + 8)[0]))


def change(scene: Scene) -> None:
    """From a peer's new tempo, and from the datagram that says so, until the page has it; and until a frame shows it."""
    stage = Stage(scene)
    peer = reference()
    timelines: list[tuple[float, float]] = []
    threading.Thread(target=overhear, args=(timelines,), daemon=True).start()
    stage.arrive()
    time.sleep(2)
    assert stage.browser
    stage.ask("evaluate \"globalThis.heard = [], setInterval(() => { const now = tactus.state.timeline?.tempo ?? tactus.state.timeline?.[0];"
              " if (heard.at(-1)?.[1] !== now) heard.push([performance.now(), now]) }, 1), 0\"")
    seconds = scene["rounds"] * 0.5 + 2
    stage.browser.tell(f"frames {seconds} \"document.querySelector('#tempo').value\"")
    asked = []
    time.sleep(0.5)
    for turn in range(scene["rounds"]):
        time.sleep(random.uniform(0.3, 0.45))
        tempo = 100 + turn
        asked.append((peer.ask("clock")["time"], tempo))
        peer.ask(f"tempo {tempo}")
    line = stage.browser.next(seconds + 60)
    stage.browser.owed -= 1
    frames = [(float(at), re.match(r"[0-9.]*", shown)) for at, shown, *_ in samples(json.loads(line or "{}")["value"])]
    # The two clocks are linked by one frame of the browser, with the page's time in it.
    now = samples(stage.ask("frames 0.05 T")["value"])[0]
    origin = float(now[0]) - float(now[1]) * 1000
    heard = [(origin + at * 1000, tempo) for at, tempo in json.loads(stage.ask('evaluate "JSON.stringify(heard)"')["value"])]
    shown = [next(((at - when) / 1000 for at, value in frames if at >= when and value and value[0] and float(value[0]) == tempo), None)
             for when, tempo in asked]

    def after(found: list[tuple[float, float]]) -> list[float | None]:
        return [next(((at - when) / 1000 for at, value in found if at >= when and abs(value - tempo) < 0.01), None) for when, tempo in asked]

    told, announced = after(heard), after(timelines)
    late = [at - sent for at, sent in zip(told, announced) if at is not None and sent is not None]
    say({"type": "change", "told_ms": spread([each for each in told if each is not None]),
         # A negative time: tactus knew the change from an answer to it alone, which the listener cannot hear.
         "after_datagram_ms": spread([each for each in late if each >= 0]),
         "shown_ms": spread([each for each in shown if each is not None]), "asked": len(asked)})
    peer.end()
    stage.end()


def load(scene: Scene) -> None:
    """A phone that was never here, again and again; then one that stays, and what it costs."""
    stage = Stage(scene)
    paints, loads, sizes = [], [], []
    for number in range(1, scene["rounds"] + 1):
        stage.ask(f"page {number}")
        stage.arrive()
        paint, traffic = stage.ask("paint"), stage.ask("traffic")
        paints.append(paint["contentful"])
        loads.append(paint["loaded"])
        sizes.append(traffic["http_in"])
        stage.ask("open about:blank")
    time.sleep(SETTLED)
    blank = share(stage, scene["seconds"])
    stage.arrive()
    costs = {}
    for state in ("stopped", "rolling"):
        if state == "rolling":
            stage.ask(f'until "{LIVE}"')
            stage.ask("click #toggle")
            stage.ask("until \"document.querySelector('#toggle').dataset.song === 'rolling'\"")
        time.sleep(SETTLED)  # the first snapshot, the first pings
        before, began, used = stage.ask("traffic"), time.monotonic(), processes.used(stage.tactus.pid)
        costs[state] = {"browser_percent": round(share(stage, scene["seconds"]) - blank, 1)}
        seconds, after = time.monotonic() - began, stage.ask("traffic")
        costs[state] |= {f"socket_{way}_bytes_per_second": round((after[f"socket_{way}"] - before[f"socket_{way}"]) / seconds)
                         for way in ("in", "out")}
        costs[state]["tactus_percent"] = round((processes.used(stage.tactus.pid) - used) / seconds / 1e7, 2)
    say({"type": "load", "first_paint_ms": spread(paints), "loaded_ms": spread(loads), "page_bytes": round(median(sizes)), **costs})
    stage.end()


def share(stage: Stage, seconds: float) -> float:
    """Of one core: all processes of the browser."""
    before, began = stage.ask("status")["seconds"], time.monotonic()
    time.sleep(seconds)
    used: float = stage.ask("status")["seconds"] - before
    return used / (time.monotonic() - began) * 100


def surface(scene: Scene) -> None:
    """An OSC controller's pings, all at the same pace, and beside each the same question to a process that only answers: alone, beside
    sixteen pages of another machine, beside one that means harm, and alone again."""
    stage = Stage(scene, has_browser=False)
    thread, here, echo = Surface(stage.tactus.pid), f"{HOME}:{stage.port}", Echo()
    for name, words in (("nobody", []), ("sixteen pages", ["pages", here, "16"]), ("a hostile page", ["vandal", here]), ("nobody again", [])):
        crowd = Crowd(*words) if words else None
        time.sleep(SETTLED)
        memory, figures = processes.status(stage.tactus.pid, "RssAnon"), pinged(stage.tactus.pid, thread, echo, scene["pings"])
        say({"type": "surface", "beside": name, **figures, "grown_kb": processes.status(stage.tactus.pid, "RssAnon") - memory,
             **({"bytes_per_second": crowd.per_second()} if crowd else {})})
        if crowd:
            crowd.end()
    echo.stop()
    stage.end()


def pinged(process: int, thread: Surface, echo: Echo, count: int) -> dict[str, Any]:
    """Of pings that come after a rest, as a finger's do: those that follow each other find everything awake. And of the surface's
    thread how much of a core it had, and for how long of that time it could have run but had none."""
    controller, pings = osc.Controller(), []
    echo.elapsed.clear()
    began, (ran, waited) = time.perf_counter(), processes.schedule(process, thread.task)
    for _ in range(count):
        pings.append(controller.ping() or 2000.0)
        time.sleep(0.01)
        echo.ping()
        time.sleep(0.01)
    seconds, (ran_then, waited_then) = time.perf_counter() - began, processes.schedule(process, thread.task)
    return {"ping_ms": spread(pings), "echo_ms": spread(echo.elapsed), "core_percent": round((ran_then - ran) / seconds / 1e7, 1),
            "no_core_percent": round((waited_then - waited) / seconds / 1e7, 2)}


def click(scene: Scene) -> None:
    """The phone as a click, heard at the browser's own port: with what the browser says of its latency; then calibrated by
    somebody who taps early and not quite evenly, with the room and with the phone; then through tempo changes; at the end
    for headphones that come a fifth of a second after the port."""
    with open(os.environ["LAB_DIR"] + "/pulse.log", "w") as log:
        server = subprocess.Popen(["pipewire-pulse"], stdout=log, stderr=log)
    stage = Stage(scene)
    stage.ask("size 390 844 touched")
    stage.arrive()
    stage.ask("tap #tab-sound")
    stage.ask("tap #phone-click")
    connect()
    heard: list[dict[str, Any]] = []
    ear = listening.Ear(["Chromium:output_FL"], heard.append)
    ear.wait_for_peers(1)
    time.sleep(WARM)
    off = 0.0
    for section, seconds, tempos, late in scene["sections"]:
        if late is not None:
            calibrate(stage, off + late)
            time.sleep(SETTLED)
        ear.tell(f"section {section}")
        for tempo in tempos or [None]:
            if tempo:
                ear.tell(f"tempo {tempo} half")
            time.sleep(seconds / max(1, len(tempos)))
        ear.tell("report")
        for line in heard:
            say(line)
            if line["type"] == "summary" and line["by_jack"]["n"]:
                off = line["by_jack"]["median"] / 1000
        found = stage.ask('evaluate "JSON.stringify({missed: tactus.click.missed, offset_ms: tactus.click.offset, clock_ms: tactus.clock.error})"')
        say({"type": "phone", "section": section, "median_ms": round(off, 3), "late_ms": late or 0, **json.loads(found["value"])})
        heard.clear()
    ear.end()
    stage.end()
    server.terminate()
    server.wait()


def calibrate(stage: Stage, late: float) -> None:
    """By a finger that comes 25 ms before what it hears, give or take 8: first with the session, then with the phone, which its ear
    hears so many milliseconds late."""
    dice, peer = random.Random(18), reference(2)
    stage.ask("tap #calibrate")
    for after in (0.0, late):
        now, micros_per_beat = peer.ask("clock")["time"], 60e6 / peer.ask("status")["tempo"]
        first = now + micros_per_beat * (3 - peer.ask(f"beat {now}")["beat"] % 1)
        stage.ask("strike #calibrate-pad " + " ".join(f"{first + beat * micros_per_beat + 1000 * (after + dice.gauss(-25, 8)):.0f}"
                                                      for beat in range(TAPS)))
    peer.end()


def connect() -> None:
    """What a session manager does on a desktop: the browser's stream gets its ports, and a way to the sink."""
    deadline = time.monotonic() + 30
    while True:
        nodes = subprocess.run(["pw-cli", "ls", "Node"], check=True, capture_output=True, text=True).stdout
        found = re.search(r"id (\d+),(?:(?!\bid \d+,).)*node\.name = \"Chromium\"", nodes, re.DOTALL)
        if found:
            break
        if time.monotonic() > deadline:
            raise SystemExit("the browser does not play")
        time.sleep(0.1)
    shape = ("{ direction: Output, mode: dsp, monitor: false, format: { mediaType: audio, mediaSubtype: raw, format: F32P, "
             "rate: 48000, channels: 2, position: [ FL, FR ] } }")
    subprocess.run(["pw-cli", "s", found[1], "PortConfig", shape], check=True, stdout=subprocess.DEVNULL)
    for side in ("FL", "FR"):
        while subprocess.run(["pw-link", f"Chromium:output_{side}", f"system:playback_{side}"], check=False,
                             stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > deadline:
                raise SystemExit("the browser's port cannot be connected")
            time.sleep(0.1)


def main(words: list[str]) -> None:
    scene = json.loads(words[0])
    {"beat": beat, "change": change, "load": load, "surface": surface, "click": click}[scene["kind"]](scene)


