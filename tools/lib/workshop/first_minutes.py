# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/first-minutes, inside its lab: README's steps in their order, in the same terminals: the click
beside LinkHut, the page on a phone, `session start` while that tactus still runs, Hydrogen on the bar and
in the session's tempo, and `session start` again. The steps run from a clone, or, with ROOT PACKAGE, in the
clean Debian at ROOT, which installs PACKAGE first.
Prints the typed lines behind a $, and the output of the programs. The status is 1 if something was off, 77
if the machine lost so much time that nothing could be judged."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

from .common import LAB
from .peers.driver import Child, Peer

TOLERATED = 3.0  # milliseconds
TEMPO = 124
BY_PHONE = 126
TRIES = 3
# A JACK library that is older than the server cannot read the server's metadata, and says so in these lines.
OLDER = ("BDB", "Cannot open DB environment")


class Newcomer:
    """The machine on which the newcomer types the steps: a clone, or a clean Debian."""

    def __init__(self, root: str | None = None) -> None:
        self.root = root
        self.tactus = "tactus" if root else "tools/run"

    def argv(self, line: str) -> list[str]:
        if not self.root:
            return ["sh", "-c", line]
        # Keep only those variables of this machine's environment that lead to its JACK server and its screen.
        return ["env", "-u", "LD_PRELOAD", "sh", "-c", " ".join([
            "exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/home/musician",
            "TERM=dumb DEBIAN_FRONTEND=noninteractive JACK_NO_AUDIO_RESERVATION=1 XDG_RUNTIME_DIR=/dev/shm/runtime",
            '"DISPLAY=$DISPLAY" "QT_QPA_PLATFORM=$QT_QPA_PLATFORM"', "chroot", shlex.quote(self.root), "sh", "-c",
            shlex.quote(f"cd /home/musician && {line}")])]

    def run(self, line: str, shown: bool = True) -> tuple[int, str]:
        print(f"$ {line}", flush=True)
        done = subprocess.run(self.argv(line), check=False, capture_output=True, text=True)
        said = (done.stdout + done.stderr).rstrip()
        if said and (shown or done.returncode):
            print(said, flush=True)
        return done.returncode, said


class Terminal(Child):
    """A program in a window of its own, with its input and output."""

    def __init__(self, title: str, command: list[str]) -> None:
        print(f"$ {title}", flush=True)
        super().__init__(command, stdin=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def until(self, words: str, shown: bool = True) -> str:
        while (line := self.next(90)) is not None:
            if shown and not line.startswith(OLDER):
                print(line, flush=True)
            if words in line:
                return line
        sys.exit(f"ended, or was silent, before it said \"{words}\"")

    def interrupt(self) -> None:
        os.killpg(self.pid, signal.SIGINT)
        self.process.wait(20)


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


def ports(newcomer: Newcomer) -> str:
    """The server's ports. The first program that asks decides which JACK libraries can read the metadata."""
    return subprocess.run(newcomer.argv("jack_lsp"), check=False, capture_output=True, text=True).stdout


def is_refused(newcomer: Newcomer) -> None:
    """Checks that a second start is refused with a message, and that no second tactus exists."""
    status, said = newcomer.run(f"{newcomer.tactus} session start hydrogen")
    demand("a second start says that one runs, and what to do", status != 0 and "send quit" in said)
    demand("there is one tactus", "tactus:click_1" in ports(newcomer) and "tactus-01" not in ports(newcomer))


def loses_time(ear: Terminal) -> bool:
    """Reads the other lines of tools/listen. Returns whether JACK lost cycles."""
    said = [ear.next(90)]
    while said[-1] is not None and "Link peer" not in said[-1]:
        said.append(ear.next(90))
    print("\n".join(line for line in said if line), flush=True)
    ear.process.wait(20)
    return any("lost time" in (line or "") for line in said)


def is_judged(ear: Terminal, summary: str) -> bool:
    """Returns whether the sound was in time. False: it was not, and JACK lost cycles meanwhile, so nothing
    can be judged."""
    (bpm,), (median,) = numbers(r"at ([0-9.]+) BPM", summary), numbers(r"([-+0-9.]+) ms from the", summary)
    has_lost_time = loses_time(ear)
    is_in_time = abs(bpm - TEMPO) < 0.05 and abs(median) < TOLERATED
    if not is_in_time and has_lost_time:
        print("[the machine lost time: again]", flush=True)
        return False
    demand(f"the session's tempo is played, {bpm}, within {TOLERATED} ms of the beat: {median}", is_in_time)
    return True


def not_judged(what: str) -> None:
    print(f"JACK lost cycles in each of {TRIES} tries: {what} could not be judged", file=sys.stderr)
    sys.exit(77)


def install(newcomer: Newcomer, package: str) -> None:
    """Installs the package, the packages that it recommends, and a server. Mounts what belongs to the
    machine beforehand."""
    root = newcomer.root
    for kind, place in (("-t proc proc", "/proc"), ("--rbind /dev", "/dev"), ("--rbind /sys", "/sys")):
        subprocess.run(["mount", *kind.split(), f"{root}{place}"], check=True)
    began = time.monotonic()
    status, _ = newcomer.run(f"apt install -y ./{package}", shown=False)
    demand("the package can be installed", status == 0)
    print(f"(after {time.monotonic() - began:.0f} seconds)", flush=True)
    os.environ["JACK_DEFAULT_SERVER"] = "default"
    start = "jackd -d dummy -p 256"
    Terminal(start, newcomer.argv(start))
    deadline = time.monotonic() + 60
    while not ports(newcomer) and time.monotonic() < deadline:
        time.sleep(0.1)
    demand("jackd runs", ports(newcomer) != "")


def first_click(newcomer: Newcomer) -> Terminal:
    """Starts tactus, connected to the speakers, in a terminal whose lines are read."""
    if not newcomer.root:
        tactus = Terminal("tools/run --click", newcomer.argv("tools/run --click"))
        tactus.until("timebase master")
        newcomer.run("jack_connect tactus:click_1 system:playback_1; jack_lsp -c tactus:click_1")
        return tactus
    start = "tactus --click --autoconnect"
    tactus = Terminal(start, newcomer.argv(start))
    tactus.until("timebase master")
    return tactus


def click_beside_linkhut(newcomer: Newcomer) -> tuple[Terminal, Terminal]:
    tactus = first_click(newcomer)
    linkhut = Terminal("LinkHut", [LAB, "peer", "linkhut"])
    press(linkhut, "a: Link on", "enable on")
    press(linkhut, f"e, until it shows {TEMPO} BPM", f"tempo {TEMPO}")
    tactus.until("1 Link")
    time.sleep(3)
    for _ in range(TRIES):
        ear = Terminal("tools/listen --for 8 tactus:click_1", ["tools/listen", "--for", "8", "tactus:click_1"])
        if is_judged(ear, ear.until("onsets at")):
            return tactus, linkhut
    not_judged("the click")
    raise AssertionError


def page_on_a_phone(newcomer: Newcomer, linkhut: Terminal) -> None:
    """Does what the keys `o` and `w` of the view do. A browser in the lab, with the size and the touch
    screen of a phone, opens the address in the QR code."""
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
        press(linkhut, f"shows {tempo} BPM", f"wait tempo {tempo} 20")
    phone.end()
    newcomer.run(f"{newcomer.tactus} send web/open 0")


def is_on_the_bar(linkhut: Terminal) -> bool:
    """Returns whether the start was on the bar. False: JACK lost cycles, so nothing can be judged."""
    ear = Terminal("tools/listen --for 14 --events Hydrogen:out_L", ["sh", "-c", """
      until jack_lsp 2>/dev/null | grep -q Hydrogen:out_L; do sleep 0.2; done
      exec tools/listen --for 14 --events Hydrogen:out_L"""])
    ear.until("listening")
    time.sleep(3)
    press(linkhut, "space: play", "play")
    first = ear.until("Hydrogen:out_L")
    if "nothing heard" in first:
        demand("Hydrogen is heard", loses_time(ear))
        print("[the machine lost time: again]", flush=True)
        press(linkhut, "space: stop", "stop")
        time.sleep(1)
        return False
    for _ in range(4):
        ear.until("Hydrogen:out_L")
    print("…")
    while "onsets at" not in (line := ear.until("Hydrogen:out_L", shown=False)):
        pass
    print(line)
    judged = is_judged(ear, line)
    demand(f"the first kick is on a bar: {first}", not judged or first.endswith("on a bar"))
    press(linkhut, "space: stop", "stop")
    time.sleep(1)
    return judged


def hydrogen_on_the_bar(newcomer: Newcomer, linkhut: Terminal) -> None:
    if newcomer.root:
        demand("Hydrogen can be installed", newcomer.run("apt install -y hydrogen", shown=False)[0] == 0)
    start = f"{newcomer.tactus} session start hydrogen"
    tactus = Terminal(start, [LAB, "screen", *newcomer.argv(start)])
    tactus.until("timebase master")
    is_refused(newcomer)
    press(linkhut, "s: start/stop sync on", "sync on")
    if not any(is_on_the_bar(linkhut) for _ in range(TRIES)):
        not_judged("Hydrogen")
    newcomer.run(f"{newcomer.tactus} status")
    tactus.interrupt()


def main(words: list[str]) -> int:
    newcomer = Newcomer(words[0] if words else None)
    os.environ["HOME"] = os.path.join(os.environ["LAB_DIR"], "musician")
    os.makedirs(os.environ["HOME"])
    if words:
        install(newcomer, words[1])
    first, linkhut = click_beside_linkhut(newcomer)
    page_on_a_phone(newcomer, linkhut)
    # Use a second terminal, as README does, because tactus still runs in the first one.
    is_refused(newcomer)
    newcomer.run(f"{newcomer.tactus} send quit")
    first.process.wait(20)
    hydrogen_on_the_bar(newcomer, linkhut)
    return 0
