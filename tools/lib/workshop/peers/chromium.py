# SPDX-License-Identifier: GPL-2.0-or-later
"""A real Chromium without a window, driven over a pipe (the DevTools protocol, which is also what its own tools speak): no port that
somebody else could use, and it ends when the pipe does."""

import contextlib
import fcntl
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from .lines import Refused

Fields = dict[str, Any]
PATIENCE = 30.0  # seconds for one answer: a browser on a busy machine
# No network traffic of its own, no first-run pages, and frames also for pages in the background. The
# invisible list below the address is a page of its own to Chromium: two for each window before anything is
# opened, three quarters of the start-up time.
SWITCHES = [
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--disable-breakpad", "--no-pings",
    "--disable-features=Translate,MediaRouter,OptimizationHints,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
    "--hide-scrollbars", "--password-store=basic", "--use-mock-keychain", "--force-color-profile=srgb", "--lang=en"]


class Chromium:
    """Commands in, answers and events out. Events go to `hear` on the reading thread: the session's name, what, and its fields."""

    def __init__(self, hear: Callable[[str, str, Fields], object], *switches: str) -> None:
        if not (program := shutil.which("chromium")):
            raise SystemExit("browser: Chromium is not installed; tools/lab prepare installs it")
        self.hear, self.numbers, self.waiting = hear, itertools.count(1), dict[int, "queue.Queue[Fields]"]()
        self.writing = threading.Lock()
        self.home = tempfile.mkdtemp(prefix="browser-", dir=os.environ["LAB_DIR"])
        theirs_in, self.to = self.pipe()
        self.back, theirs_out = self.pipe()
        environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
        # The pipes are its descriptors 3 and 4; it dies with us.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out} {theirs_in}<&- {theirs_out}>&- 2>"$0"',
             f"{self.home}/log", program, *SWITCHES, f"--user-data-dir={self.home}/profile", *switches, "about:blank"],
            pass_fds=[theirs_in, theirs_out], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**environment, "HOME": self.home})
        for end in (theirs_in, theirs_out):
            os.close(end)
        threading.Thread(target=self.read, daemon=True).start()

    @staticmethod
    def pipe() -> tuple[int, int]:
        """Both ends out of the way of 3 and 4."""
        low = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
        for end in low:
            os.close(end)
        return high[0], high[1]

    def read(self) -> None:
        pending = bytearray()
        while more := os.read(self.back, 1 << 20):
            pending += more
            *whole, rest = pending.split(b"\0")
            pending = bytearray(rest)
            for text in whole:
                said = json.loads(text)
                if "id" in said:
                    if box := self.waiting.pop(said["id"], None):
                        box.put(said)
                else:
                    self.hear(said.get("sessionId", ""), said["method"], said["params"])
        for box in list(self.waiting.values()):
            box.put({"error": {"message": "Chromium has ended"}})

    def ask(self, method: str, session: str = "", patience: float = PATIENCE, /, **parameters: Any) -> Fields:
        number, box = next(self.numbers), queue.Queue[Fields]()
        self.waiting[number] = box
        asked = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        with self.writing:
            whole = json.dumps(asked).encode() + b"\0"
            while whole:
                whole = whole[os.write(self.to, whole):]
        try:
            answer = box.get(timeout=patience)
        except queue.Empty:
            raise Refused(f"{method}: Chromium does not answer") from None
        if "error" in answer:
            raise Refused(f"{method}: {answer['error']['message']}")
        result: Fields = answer["result"]
        return result

    def family(self) -> list[int]:
        """Its processes."""
        found = [self.process.pid]
        for process in found:  # it grows
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{process}/task"):
                    with open(f"/proc/{process}/task/{thread}/children") as file:
                        found += map(int, file.read().split())
        return found

    def end(self) -> None:
        family = self.family()
        with contextlib.suppress(Refused, OSError):
            self.ask("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        deadline = time.monotonic() + 5
        while any(os.path.exists(f"/proc/{each}/exe") for each in family[1:]) and time.monotonic() < deadline:
            time.sleep(0.01)
        shutil.rmtree(self.home, ignore_errors=True)
