# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets the scene in tmux and draws what its screen holds. Runs in a lab; tools/picture starts it."""

import os
import subprocess
import sys
import tempfile
import time

from screen import picture

COLUMNS, ROWS = 80, 24


class Terminal:
    def __init__(self, command):
        self.socket = os.path.join(tempfile.mkdtemp(), "terminal")
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
                  "env", "LC_ALL=C.UTF-8", *command)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(COLUMNS), "-y", str(ROWS))

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, text=True, stdout=subprocess.PIPE,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-e", "-N")

    def see(self, *texts):
        deadline = time.monotonic() + 20
        while True:
            shown = self.tmux("capture-pane", "-p")
            if all(text in shown for text in texts):
                return
            if time.monotonic() > deadline:
                sys.exit(f"picture: never saw {texts} in\n{shown}")
            time.sleep(0.02)


class Peer:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["LAB"], "peer", "linkhut"], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        answer = self.process.stdout.readline()
        if '"ok": true' not in answer:
            sys.exit(f"picture: {line}: {answer}")


def scene(program):
    """The screen, and whether no cycle was lost: that belongs to the machine and not to the picture."""
    peer = Peer()  # first: whoever joins JACK may cost the others a cycle
    terminal = Terminal([program, "--click", "--start-stop-sync", "--osc-listen=0.0.0.0"])
    terminal.see("Enabled", "JACK 48000 Hz")
    for line in ("enable on", "sync on", "wait peers 1", "tempo 126"):
        peer.ask(line)
    terminal.see("1 Link")
    time.sleep(3)  # the news of that is news no more
    subprocess.run(["jack_connect", "tactus:click_1", "system:playback_1"], check=True)
    terminal.tmux("send-keys", "Space")
    peer.ask("wait playing true")
    terminal.see("rolling")
    time.sleep(5.9)  # into the third bar
    screen, text = terminal.screen(), terminal.tmux("capture-pane", "-p")
    terminal.tmux("kill-server")
    peer.process.stdin.close()
    peer.process.wait()
    return screen, "0 xruns" in text


def main():
    program, path = sys.argv[1:]
    for _ in range(5):
        screen, is_calm = scene(program)
        if is_calm:
            break
        print("picture: this machine lost cycles; once more", file=sys.stderr)
        time.sleep(2)
    drawn = picture(screen, COLUMNS, ROWS)
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawn)
    print(f"{path}: {len(drawn)} bytes")


main()
