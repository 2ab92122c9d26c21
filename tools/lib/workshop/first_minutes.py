# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/first-minutes, inside of its lab and in the clone: README's steps in their order, in the same terminals: the click beside
LinkHut, the page on a phone, `session start` while that tactus still runs, Hydrogen on the bar and in the session's tempo, and `session start` again.
Prints what is typed behind a $, and what the programs say. The status is 1 if something was off."""

import os
import re
import signal
import subprocess
import sys
import time

from .common import LAB
from .peers.driver import Child, Peer

TOLERATED = 3.0  # milliseconds
TEMPO = 124
BY_PHONE = 126
SESSION = "tools/run session start hydrogen"


class Terminal(Child):
    """A program in a window of its own: what is typed into it, and what it says."""

    def __init__(self, title: str, command: list[str]) -> None:
        print(f"$ {title}", flush=True)
        super().__init__(command, stdin=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def until(self, words: str, shown: bool = True) -> str:
        while (line := self.next(90)) is not None:
            if shown:
                print(line, flush=True)
            if words in line:
                return line
        sys.exit(f"ended, or was silent, before it said \"{words}\"")

    def interrupt(self) -> None:
        os.killpg(self.pid, signal.SIGINT)
        self.process.wait(20)


def run(command: str) -> tuple[int, str]:
    print(f"$ {command}")
    done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True)
    said = (done.stdout + done.stderr).rstrip()
    if said:
        print(said, flush=True)
    return done.returncode, said


def press(linkhut: Terminal, keys: str, line: str) -> None:
    """LinkHut's keys are pressed by the lab, which speaks lines."""
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


def is_refused() -> None:
    """Beside a tactus that runs: it says so, and no other one comes to be."""
    status, said = run(SESSION)
    demand("a second start says that one runs, and what to do", status != 0 and "send quit" in said)
    clients = subprocess.run(["jack_lsp"], check=True, capture_output=True, text=True).stdout
    demand("there is one tactus", "tactus:click_1" in clients and "tactus-01" not in clients)


def click_beside_linkhut() -> tuple[Terminal, Terminal]:
    tactus = Terminal("tools/run --click", ["tools/run", "--click"])
    tactus.until("timebase master")
    run("jack_connect tactus:click_1 system:playback_1; jack_lsp -c tactus:click_1")
    linkhut = Terminal("LinkHut", [LAB, "peer", "linkhut"])
    press(linkhut, "a: Link on", "enable on")
    press(linkhut, f"e, until it shows {TEMPO} BPM", f"tempo {TEMPO}")
    tactus.until("1 Link")
    time.sleep(3)
    ear = Terminal("tools/listen --for 8 tactus:click_1", ["tools/listen", "--for", "8", "tactus:click_1"])
    judge(ear, ear.until("onsets at"))
    return tactus, linkhut


def page_on_a_phone(linkhut: Terminal) -> None:
    """What `o` and `w` in the view do; a browser in the lab opens the address that the code carries, with the size and touch of a phone."""
    run("tools/run send web/open 1")
    _, said = run("tools/run web")
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
    run("tools/run send web/open 0")


def judge(ear: Terminal, summary: str) -> None:
    (bpm,), (median,) = numbers(r"at ([0-9.]+) BPM", summary), numbers(r"([-+0-9.]+) ms from the", summary)
    ear.until("Link peer")
    ear.process.wait(20)
    demand(f"the session's tempo is played: {bpm}", abs(bpm - TEMPO) < 0.05)
    demand(f"within {TOLERATED} ms of the beat: {median}", abs(median) < TOLERATED)


def hydrogen_on_the_bar(linkhut: Terminal) -> None:
    tactus = Terminal(SESSION, [LAB, "screen", *SESSION.split()])
    tactus.until("timebase master")
    is_refused()
    press(linkhut, "s: start/stop sync on", "sync on")
    ear = Terminal("tools/listen --for 14 --events Hydrogen:out_L", ["sh", "-c", """
      until jack_lsp | grep -q Hydrogen:out_L; do sleep 0.2; done
      exec tools/listen --for 14 --events Hydrogen:out_L"""])
    ear.until("listening")
    time.sleep(3)
    press(linkhut, "space: play", "play")
    first = ear.until("Hydrogen:out_L")
    demand(f"the first kick is on a bar: {first}", first.endswith("on a bar"))
    for _ in range(4):
        ear.until("Hydrogen:out_L")
    print("…")
    while "onsets at" not in (line := ear.until("Hydrogen:out_L", shown=False)):
        pass
    print(line)
    judge(ear, line)
    press(linkhut, "space: stop", "stop")
    time.sleep(1)
    run("tools/run status")
    tactus.interrupt()


def main(_: list[str]) -> int:
    os.environ["HOME"] = os.path.join(os.environ["LAB_DIR"], "musician")
    os.makedirs(os.environ["HOME"])
    first, linkhut = click_beside_linkhut()
    page_on_a_phone(linkhut)
    # As README has it, in a second terminal: the first tactus still runs.
    is_refused()
    run("tools/run send quit")
    first.process.wait(20)
    hydrogen_on_the_bar(linkhut)
    return 0
