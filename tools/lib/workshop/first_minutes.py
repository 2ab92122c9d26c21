# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/first-minutes, inside its lab: README's steps in their order, in the same terminals: the click
beside LinkHut, the page on a phone, `session start` while that tactus still runs, Hydrogen on the bar and
in the session's tempo, and `session start` again.

usage: first_minutes PLACE jackd|PipeWire [ROOT PACKAGE]; the steps run from a clone on the lab's own server,
or in the clean Debian at ROOT, which installs PACKAGE first. Messages call it PLACE.

Prints the typed lines behind a $, and the output of the programs. The status is 1 if something was off, and
77 if JACK lost so many cycles that a step could not be judged; a line names the step."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import ClassVar

from .common import LAB, TOOLS
from .peers.driver import Child, Peer

# Milliseconds: from the beat, or from the transport's start.
TOLERATED = 3.0
# Milliseconds: a start in frame 0 is up to half a period off (docs/launching.md), and this is added for the
# inaccuracy of the measurement.
BEYOND_HALF_A_PERIOD = 0.33
TEMPO = 124
BY_PHONE = 126
TRIES = 3
# A JACK library that is older than the server cannot read the server's metadata, and says so in these lines.
OLDER = ("BDB", "Cannot open DB environment")
RUNTIME = "/dev/shm/runtime"
BUS = f"unix:path={RUNTIME}/bus"
# The loader replaces ${LIB} by the library directory of the program's architecture.
PIPEWIRES_JACK = "/usr/${LIB}/pipewire-0.3/jack"


class Newcomer:
    """The machine on which the newcomer types the steps: a clone, or a clean Debian."""

    def __init__(self, server: str, root: str | None = None) -> None:
        self.has_pipewire, self.root = server == "PipeWire", root
        self.tactus = "tactus" if root else "tools/run"

    def argv(self, line: str) -> list[str]:
        if not self.root:
            return ["sh", "-c", line]
        bus = f"DBUS_SESSION_BUS_ADDRESS={BUS}" if self.has_pipewire else ""
        # Keep only those variables of this machine's environment that lead to its JACK server and its screen.
        return ["env", "-u", "LD_PRELOAD", "sh", "-c", " ".join([
            "exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/home/musician",
            "TERM=dumb DEBIAN_FRONTEND=noninteractive JACK_NO_AUDIO_RESERVATION=1",
            f"XDG_RUNTIME_DIR={RUNTIME}", bus, '"DISPLAY=$DISPLAY" "QT_QPA_PLATFORM=$QT_QPA_PLATFORM"', "chroot", shlex.quote(self.root), "sh", "-c",
            shlex.quote(f"cd /home/musician && {line}")])]

    def run(self, line: str, shown: bool = True) -> tuple[int, str]:
        print(f"$ {line}", flush=True)
        done = subprocess.run(self.argv(line), check=False, capture_output=True, text=True)
        said = (done.stdout + done.stderr).rstrip()
        if said and (shown or done.returncode):
            print(said, flush=True)
        return done.returncode, said

    def ports(self) -> str:
        """The server's ports. On jackd, the first program that asks decides which JACK libraries can read
        the metadata."""
        asked = "pw-link --output --input" if self.has_pipewire else "jack_lsp"
        return subprocess.run(self.argv(asked), check=False, capture_output=True, text=True).stdout


class Terminal(Child):
    """A program in a window of its own, with its input and output."""

    def __init__(self, title: str, command: list[str]) -> None:
        print(f"$ {title}", flush=True)
        self.title = title
        super().__init__(command, stdin=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def until(self, words: str, shown: bool = True) -> str:
        last = "nothing"
        while (line := self.next(90)) is not None:
            if shown and not line.startswith(OLDER):
                print(line, flush=True)
            if words in line:
                return line
            last = line
        sys.exit(f"{self.title} ended, or was silent, before it said \"{words}\"; it said last: {last}")

    def interrupt(self) -> None:
        os.killpg(self.pid, signal.SIGINT)
        self.process.wait(20)


class Ear(Terminal):
    """tools/listen at a port. `heard`: all that the last one said, for the message of a failed step."""

    heard: ClassVar[list[str]] = []

    def __init__(self, options: str, before: str = "") -> None:
        Ear.heard = []
        command = f"tools/listen {options}"
        super().__init__(command, ["sh", "-c", f"{before}exec {command}"])

    def next(self, seconds: float | None = None) -> str | None:
        line = super().next(seconds)
        if line:
            Ear.heard.append(line)
        return line


def press(linkhut: Terminal, keys: str, line: str) -> None:
    """Presses keys of LinkHut. The lab presses them when it gets the line."""
    print(f"[LinkHut] {keys}", flush=True)
    linkhut.tell(line)
    linkhut.until('"ok": true', shown=False)


def demand(what: str, is_so: bool) -> None:
    if not is_so:
        sys.exit(f"NOT AS README HAS IT: {what}")


def numbers(pattern: str, line: str) -> list[float]:
    found = re.search(pattern, line)
    demand(f"{line!r} has no {pattern!r}", found is not None)
    assert found
    return [float(number) for number in found.groups()]


def loses_time(ear: Ear) -> bool:
    """Reads the other lines of tools/listen. Returns whether JACK lost cycles."""
    said = [ear.next(90)]
    while said[-1] is not None and "Link peer" not in said[-1]:
        said.append(ear.next(90))
    print("\n".join(line for line in said if line), flush=True)
    ear.process.wait(20)
    return any("lost time" in (line or "") for line in said)


def is_judged(ear: Ear, summary: str, most: float = TOLERATED, launched: float = 0) -> bool:
    """Returns whether the sound was in time: at most `most` ms from the beat, and where the transport started
    `launched` ms from it. False: it was not, and JACK lost cycles meanwhile, so nothing can be judged."""
    (bpm,), (median,) = numbers(r"at ([0-9.]+) BPM", summary), numbers(r"([-+0-9.]+) ms from the", summary)
    has_lost_time = loses_time(ear)
    is_in_time = abs(bpm - TEMPO) < 0.05 and abs(median) < most and abs(median - launched) < TOLERATED
    if not is_in_time and has_lost_time:
        print("[the machine lost time: again]", flush=True)
        return False
    demand(f"the session's tempo is played, {bpm}, {median} ms from the beat, which is within {most:.1f}, and within {TOLERATED} "
           f"of the start of the transport at {launched}", is_in_time)
    return True


class Minutes:
    """The steps, in README's order. Each returns whether it could be judged."""

    def __init__(self, newcomer: Newcomer) -> None:
        self.newcomer = newcomer
        self.tactus: Terminal
        self.linkhut: Terminal

    def first_click(self) -> bool:
        """Starts tactus, connected to the speakers, in a terminal whose lines are read."""
        newcomer = self.newcomer
        start = "tactus --click --autoconnect" if newcomer.root else "tools/run --click"
        self.tactus = Terminal(start, newcomer.argv(start))
        self.tactus.until("timebase master")
        speakers = "system:playback_FL" if newcomer.has_pipewire else "system:playback_1"
        if not newcomer.root:
            newcomer.run(f"{'pw-link' if newcomer.has_pipewire else 'jack_connect'} tactus:click_1 {speakers}")
        asked = "pw-link --links" if newcomer.has_pipewire else "jack_lsp -c"
        _, said = newcomer.run(f"{asked} tactus:click_1")
        demand(f"the click is connected to the speakers: {said}", ":playback_" in said)
        return True

    def click_beside_linkhut(self) -> bool:
        self.linkhut = Terminal("LinkHut", [LAB, "peer", "linkhut"])
        press(self.linkhut, "a: Link on", "enable on")
        press(self.linkhut, f"e, until it shows {TEMPO} BPM", f"tempo {TEMPO}")
        self.tactus.until("1 Link")
        time.sleep(3)
        return any(is_judged(ear := Ear("--for 8 tactus:click_1"), ear.until("onsets at")) for _ in range(TRIES))

    def page_on_a_phone(self) -> bool:
        """Does what the keys `o` and `w` of the view do. A browser in the lab, with the size and the touch
        screen of a phone, opens the address in the QR code."""
        newcomer = self.newcomer
        newcomer.run(f"{newcomer.tactus} send web/open 1")
        _, said = newcomer.run(f"{newcomer.tactus} web")
        invitation = re.search(r"^Both +(\S+)$", said, re.MULTILINE)
        demand(f"tactus web shows an address with a code: {said}", invitation is not None)
        assert invitation
        phone = Peer("browser")
        live = "document.body.dataset.connection === 'live' && document.body.dataset.paired === 'true'"

        def touch(what: str, *lines: str) -> None:
            print(f"[phone] {what}", flush=True)
            for line in lines:
                phone.ask(line, seconds=60)

        phone.ask("size 390 844 touched")
        touch("scans the QR code, and the page opens, paired", f"open {invitation[1]}", f'until "{live}" 60',
              "until \"document.querySelector('#peers').textContent === '1 Link'\" 60")  # tools/listen has left
        shown = phone.ask("text #peers")["value"], phone.ask("value #tempo")["value"]
        print(f"[phone] shows: {shown[0]}, {shown[1]} BPM", flush=True)
        demand(f"the phone shows the session: {shown}", shown == ("1 Link", f"{TEMPO}"))
        for tempo in (BY_PHONE, TEMPO):
            touch(f"tempo: {tempo}", f"fill #tempo {tempo}")
            press(self.linkhut, f"shows {tempo} BPM", f"wait tempo {tempo} 20")
        phone.end()
        newcomer.run(f"{newcomer.tactus} send web/open 0")
        return True

    def second_start(self) -> bool:
        """Types in a second terminal, as README does, because tactus still runs in the first one."""
        self.is_refused()
        self.newcomer.run(f"{self.newcomer.tactus} send quit")
        self.tactus.process.wait(20)
        return True

    def is_refused(self) -> None:
        """Checks that a second start is refused with a message, and that no second tactus exists."""
        status, said = self.newcomer.run(f"{self.newcomer.tactus} session start hydrogen")
        demand("a second start says that one runs, and what to do", status != 0 and "send quit" in said)
        ports = self.newcomer.ports()
        demand(f"there is one tactus in {ports.split()}", "tactus:click_1" in ports and "tactus-01" not in ports)

    def hydrogen_on_the_bar(self) -> bool:
        newcomer = self.newcomer
        if newcomer.root:
            demand("Hydrogen can be installed", newcomer.run("apt install -y hydrogen", shown=False)[0] == 0)
        start = f"{newcomer.tactus} session start hydrogen"
        self.tactus = Terminal(start, [LAB, "screen", *newcomer.argv(start)])
        self.tactus.until("timebase master")
        self.is_refused()
        press(self.linkhut, "s: start/stop sync on", "sync on")
        judged = any(self.is_on_the_bar() for _ in range(TRIES))
        newcomer.run(f"{newcomer.tactus} status")
        self.tactus.interrupt()
        return judged

    def is_on_the_bar(self) -> bool:
        """Returns whether the start was on the bar. False: JACK lost cycles, so nothing can be judged."""
        newcomer, ear = self.newcomer, Ear("--for 14 --events Hydrogen:out_L",
                  before="until jack_lsp 2>/dev/null | grep -q Hydrogen:out_L; do sleep 0.2; done; ")
        rate, period = numbers(r"listening at (\d+) Hz, (\d+) frames", ear.until("listening"))
        time.sleep(3)
        press(self.linkhut, "space: play", "play")
        first = ear.until("Hydrogen:out_L")
        if "nothing heard" in first:
            demand("Hydrogen is heard", loses_time(ear))
            print("[the machine lost time: again]", flush=True)
            press(self.linkhut, "space: stop", "stop")
            time.sleep(1)
            return False
        for _ in range(4):
            ear.until("Hydrogen:out_L")
        print("…")
        while "onsets at" not in (line := ear.until("Hydrogen:out_L", shown=False)):
            pass
        print(line)
        done = subprocess.run(newcomer.argv(f"{newcomer.tactus} status --json"), check=True, capture_output=True, text=True)
        launched, most = json.loads(done.stdout)["launch/error"], 1000 * period / rate / 2 + BEYOND_HALF_A_PERIOD
        print(f"[tactus's launch/error: {launched} ms]", flush=True)
        judged = is_judged(ear, line, most, launched)
        demand(f"the first kick is on a bar: {first}", not judged or first.endswith("on a bar"))
        press(self.linkhut, "space: stop", "stop")
        time.sleep(1)
        return judged


def has_come(is_there: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (there := is_there()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return there


def log_in(newcomer: Newcomer) -> None:
    """Starts PipeWire as a desktop does, with the distribution's own configuration and a simulated sound
    card."""
    root = pathlib.Path(newcomer.root or "/")
    folder = root / "home/musician/.config/pipewire/pipewire.conf.d"
    folder.mkdir(parents=True)
    shutil.copy(f"{TOOLS}/package.d/card.conf", folder)
    print("[the desktop] dbus-daemon, pipewire, wireplumber", flush=True)
    for program, socket in ((f"dbus-daemon --session --address={BUS} --nofork --nopidfile", "bus"), ("pipewire", "pipewire-0"),
                            ("wireplumber", "pipewire-0")):
        log = f"{program.split()[0]}.log"
        subprocess.Popen(newcomer.argv(f"exec {program} >{log} 2>&1"), stdin=subprocess.DEVNULL)
        demand(f"{program} runs", has_come(pathlib.Path(RUNTIME, socket).exists))
    demand("PipeWire has the sound card's ports", has_come(lambda: "playback_FL" in newcomer.ports()))
    # LinkHut and tools/listen come from this machine, and find PipeWire's JACK library by this.
    os.environ["LD_LIBRARY_PATH"] = PIPEWIRES_JACK
    del os.environ["JACK_DEFAULT_SERVER"]  # to tactus, a server with a name is jackd's


def start_jackd(newcomer: Newcomer) -> None:
    os.environ["JACK_DEFAULT_SERVER"] = "default"
    start = "jackd -d dummy -p 256"
    Terminal(start, newcomer.argv(start))
    demand("jackd runs", has_come(lambda: newcomer.ports() != ""))


def install(newcomer: Newcomer, package: str) -> bool:
    """Installs the package and the packages that it recommends, on a desktop that has PipeWire or beside
    jackd. Mounts what belongs to the machine beforehand."""
    for kind, place in (("-t proc proc", "/proc"), ("--rbind /dev", "/dev"), ("--rbind /sys", "/sys")):
        subprocess.run(["mount", *kind.split(), f"{newcomer.root}{place}"], check=True)
    if newcomer.has_pipewire:
        log_in(newcomer)
    began = time.monotonic()
    status, _ = newcomer.run(f"apt install -y ./{package}", shown=False)
    demand("the package can be installed", status == 0)
    print(f"(after {time.monotonic() - began:.0f} seconds)", flush=True)
    if not newcomer.has_pipewire:
        start_jackd(newcomer)
    return True


def play(place: str, name: str, step: Callable[[], bool]) -> bool:
    """Plays a step, and returns whether it could be judged. If the step fails, the last line says which
    step, and what was heard in it."""
    Ear.heard = []
    try:
        judged = step()
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - each failure needs the name of its step
        code = problem.code if isinstance(problem, SystemExit) else repr(problem)
        reason = code if isinstance(code, str) else "the line above says why"
        sys.exit(f"{place}, the step \"{name}\": {reason}; heard in this step: {' | '.join(Ear.heard[-8:]) or 'nothing'}")
    if not judged:
        print(f"not judged: {place}, the step \"{name}\": JACK lost cycles in each of {TRIES} tries", flush=True)
    return judged


def main(words: list[str]) -> int:
    place, server, *clean = words
    newcomer = Newcomer(server, *clean[:1])
    os.environ["HOME"] = os.path.join(os.environ["LAB_DIR"], "musician")
    os.makedirs(os.environ["HOME"])
    minutes = Minutes(newcomer)
    steps: dict[str, Callable[[], bool]] = {
        "the first click": minutes.first_click, "the click beside LinkHut": minutes.click_beside_linkhut,
        "the page on a phone": minutes.page_on_a_phone, "a second start": minutes.second_start,
        "Hydrogen on the bar": minutes.hydrogen_on_the_bar}
    if clean:
        steps = {"the installation": lambda: install(newcomer, clean[1]), **steps}
    are_judged = [play(place, name, step) for name, step in steps.items()]
    return 0 if all(are_judged) else 77
