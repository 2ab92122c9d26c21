# SPDX-License-Identifier: GPL-2.0-or-later
"""`$LAB screen COMMAND...`: runs a program with windows on an invisible X display of its own. It gets a
fresh HOME, so that your configuration does not affect an experiment ($HOME is kept if it is below
$LAB_DIR), and a dummy ALSA sequencer if the kernel has none. This process becomes COMMAND; the display ends
with the lab."""

import os
import shutil
import signal
import subprocess
import tempfile

from .. import build
from .kernel import fail

SIZE = "1280x900x24"


def run(command: list[str]) -> None:
    if not command:
        fail("usage: tools/lab screen COMMAND...", 2)
    environment = dict(os.environ, DISPLAY=display(), QT_QPA_PLATFORM="xcb")
    if not os.environ.get("HOME", "").startswith(os.environ["LAB_DIR"]):
        environment["HOME"] = tempfile.mkdtemp(prefix="home-", dir=os.environ["LAB_DIR"])
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    if not os.path.exists("/dev/snd/seq"):
        others = os.environ.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = build.native("sequencer") + (f":{others}" if others else "")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}", 127 if isinstance(error, FileNotFoundError) else 126)


def display() -> str:
    """Starts an X server, and returns its name when it accepts programs. Its socket is abstract and belongs
    to this host's network, since every lab on the machine would see a socket or a lock in /tmp. Its keymap
    is still compiled in /tmp, in a file named after the display's number. If two labs start a server at the
    same time, one may fail and is started again."""
    if not shutil.which("Xvfb"):
        fail("Xvfb is not installed and a lab has no way to Debian: run 'tools/lab prepare' outside")
    for _ in range(3):
        ours, theirs = os.pipe()
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "Xvfb", "-displayfd", str(theirs), "-screen", "0", SIZE, "-nolisten", "tcp",
             "-nolisten", "unix", "-nolock", "-noreset"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[theirs])
        os.close(theirs)
        with os.fdopen(ours) as answer:
            number = answer.readline().strip()
        if number:
            return f":{number}"
        words = server.communicate()[1].strip()
        if "keymap" not in words:
            break
    fail(f"Xvfb did not start: {words}")
