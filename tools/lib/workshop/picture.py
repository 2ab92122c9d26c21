# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the picture of the terminal view (docs/images/terminal.svg) as a real terminal shows it: in a
lab, with Ableton's LinkHut in the session and the transport rolling. TACTUS_PROGRAM: build none, picture this one."""

import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from . import build
from .common import ROOT, shell
from .options import Parser
from .peers.driver import Peer

COLUMNS, ROWS = 80, 24
BACKGROUND, FOREGROUND = (22, 24, 29), (230, 230, 230)
COLOURS = {2: (127, 209, 139), 3: (217, 178, 95), 6: (95, 184, 217), 8: (125, 130, 140), 9: (255, 107, 104), 11: (255, 180, 84)}
SHADES = {"\u2588": "7", "\u2592": "48;2;67;70;75", "\u2591": "48;2;44;47;54"}  # background colours
PAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="{char_height}"
 font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" xml:space="preserve">
<!-- SPDX-License-Identifier: GPL-2.0-or-later; made by tools/picture -->
<style>{styles}</style><defs>{lines}</defs>{chrome}
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}{matrix}</g>
</svg>
"""


class Terminal:
    def __init__(self, command: list[str]) -> None:
        self.socket = os.path.join(tempfile.mkdtemp(), "terminal")
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
                  "env", "LC_ALL=C.UTF-8", *command)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(COLUMNS), "-y", str(ROWS))

    def tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, text=True, stdout=subprocess.PIPE,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-e", "-N")

    def see(self, *texts: str) -> None:
        deadline = time.monotonic() + 20
        while True:
            shown = self.tmux("capture-pane", "-p")
            if all(text in shown for text in texts):
                return
            if time.monotonic() > deadline:
                sys.exit(f"picture: never saw {texts} in\n{shown}")
            time.sleep(0.02)


def scene(program: str) -> tuple[str, bool]:
    """Returns the screen, and whether no cycle was lost: a lost cycle shows the machine's load, which does
    not belong in the picture."""
    peer = Peer("linkhut")  # first, because a client that joins JACK may cost other clients a cycle
    terminal = Terminal([program, "--click", "--startstop", "--osc-listen=0.0.0.0"])
    terminal.see("Enabled", "JACK 48000 Hz")
    for line in ("enable on", "sync on", "wait peers 1", "tempo 126"):
        peer.ask(line)
    terminal.see("1 Link")
    time.sleep(3)  # by now the message about the peer is no longer highlighted
    subprocess.run(["jack_connect", "tactus:click_1", "system:playback_1"], check=True)
    terminal.tmux("send-keys", "Space")
    peer.ask("wait playing true")
    terminal.see("rolling")
    time.sleep(5.9)  # wait until the song is in its third bar
    screen, text = terminal.screen(), terminal.tmux("capture-pane", "-p")
    terminal.tmux("kill-server")
    peer.end()
    return screen, "0 xruns" in text


def picture(screen: str) -> str:
    """The screen as SVG. Blocks become backgrounds, so that no font leaves gaps between them."""
    from rich import console, terminal_theme, text
    colours = [COLOURS.get(number, FOREGROUND) for number in range(16)]
    recorder = console.Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in screen.split("\n")[:ROWS]:
        blocks = re.sub("\u2588+|\u2592+|\u2591+",
                        lambda found: f"\x1b[{SHADES[found[0][0]]}m{' ' * len(found[0])}\x1b[27;49m", line)
        recorder.print(text.Text.from_ansi(blocks), no_wrap=True, crop=True)
    theme = terminal_theme.TerminalTheme(BACKGROUND, FOREGROUND, colours[:8], colours[8:])
    return str(recorder.export_svg(title="tactus", theme=theme, code_format=PAGE))


def main(words: list[str]) -> None:
    parser = Parser("picture", __doc__)
    parser.add_argument("file", metavar="FILE", nargs="?", default=f"{ROOT}/docs/images/terminal.svg")
    path = os.path.abspath(parser.parse_args(words).file)
    program = build.tactus(os.environ.get("TACTUS_PROGRAM"))
    shell("need_packages", "ableton-link-utils", "python3-rich", "tmux")
    build.enter_lab("picture", [path], "--hosts", "1")
    for _ in range(5):
        screen, is_calm = scene(program)
        if is_calm:
            break
        print("picture: this machine lost cycles; once more", file=sys.stderr)
        time.sleep(2)
    drawn = picture(screen)
    pathlib.Path(path).write_text(drawn, encoding="utf-8")
    print(f"{path}: {len(drawn)} bytes")
