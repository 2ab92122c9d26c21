# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/first-minutes, inside of its lab and in the clone: two scenes, the click beside LinkHut and Hydrogen on the bar.
Prints what is typed behind a $, what the programs say, and a line for what was heard. The status is 1 if that was off."""

import json
import os
import signal
import subprocess
import sys
import time

from .common import LAB
from .peers.driver import Child

TOLERATED = 3000  # microseconds


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


def run(command: str) -> None:
    print(f"$ {command}")
    done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True)
    print((done.stdout + done.stderr).rstrip(), flush=True)


def press(linkhut: Terminal, keys: str, line: str) -> None:
    """LinkHut's keys are pressed by the lab, which speaks lines."""
    print(f"[LinkHut] {keys}", flush=True)
    linkhut.write(line)
    linkhut.until('"ok": true', shown=False)


def milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:+.3f} ms"


def click_beside_linkhut() -> tuple[Terminal, float]:
    tactus = Terminal("tools/run --click", ["tools/run", "--click"])
    tactus.until("timebase master")
    run("jack_connect tactus:click_1 system:playback_1; jack_lsp -c tactus:click_1")
    linkhut = Terminal("LinkHut", [LAB, "peer", "linkhut"])
    press(linkhut, "a: Link on", "enable on")
    press(linkhut, "e, until it shows 124 BPM", "tempo 124")
    tactus.until("1 Link")
    time.sleep(3)
    ear = Terminal("tools/listen --for 8 tactus:click_1", ["tools/listen", "--for", "8", "tactus:click_1"])
    summary = json.loads(ear.until('"summary"', shown=False))
    heard = summary["by_jack"]
    print(f"{summary['heard']} clicks, {len(summary['missing'])} missing; {milliseconds(heard['median'])} from the beat of "
          f"LinkHut's session (median), all within {heard['range'] / 1000:.3f} ms")
    print("(Ctrl-C in the first terminal)")
    tactus.interrupt()
    return linkhut, abs(heard["median"])


def hydrogen_on_the_bar(linkhut: Terminal) -> tuple[float, int]:
    os.environ["HOME"] = os.path.join(os.environ["LAB_DIR"], "musician")
    os.makedirs(os.environ["HOME"])
    command = "tools/run session start hydrogen"
    tactus = Terminal(command, [LAB, "screen", *command.split()])
    tactus.until("timebase master")
    ear = Terminal("tools/listen --events Hydrogen:out_L", ["sh", "-c", """
      until jack_lsp | grep -q Hydrogen:out_L; do sleep 0.2; done
      exec tools/listen --events Hydrogen:out_L"""])
    ear.until("ready", shown=False)
    press(linkhut, "s: start/stop sync on", "sync on")
    time.sleep(3)
    ear.write("section kicks")
    press(linkhut, "space: play", "play")
    time.sleep(10)
    ear.write("report")
    kicks = []
    while (line := ear.until('"type"', shown=False)) and '"type":"end"' not in line:
        kicks += [event for event in [json.loads(line)] if event["type"] == "onset"]
    for kick in kicks[:4]:
        print(f"kick on the session's beat {kick['beat']:.4f}, {milliseconds(kick['error'])}")
    print(f"… and {len(kicks) - 4} more, up to {max(abs(k['error']) for k in kicks) / 1000:.3f} ms from the beat")
    print(f"the first was on a bar: {round(kicks[0]['beat']) % 4 == 0}")
    press(linkhut, "space: stop", "stop")
    time.sleep(1)
    run("tools/run status")
    tactus.interrupt()
    return max(abs(kick["error"]) for kick in kicks), round(kicks[0]["beat"]) % 4


def main(_: list[str]) -> int:
    linkhut, click = click_beside_linkhut()
    kick, place = hydrogen_on_the_bar(linkhut)
    return 0 if click < TOLERATED and kick < TOLERATED and place == 0 else 1
