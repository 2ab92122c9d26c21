# SPDX-License-Identifier: GPL-2.0-or-later
"""The other browsers, driven by W3C's WebDriver commands: Firefox through its own protocol Marionette, and
WebKitGTK, which has Safari's engine, through its driver."""

import contextlib
import http.client
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any, ClassVar, Protocol

from ..common import LAB
from .lines import Refused

Fields = dict[str, Any]
START = 60.0  # seconds, on a busy machine
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
NOWHERE = "data:,"
# With Marionette, Firefox itself sets preferences that keep it from contacting Mozilla (RecommendedPreferences).
PREFERENCES: dict[str, bool | int] = {"marionette.port": 0, "browser.aboutwelcome.enabled": False, "browser.startup.page": 0,
                                      "dom.ipc.processCount": 1, "dom.min_background_timeout_value": 4, "network.trr.mode": 5}


class Driver(Protocol):
    """A browser that accepts WebDriver's commands. Raises Refused."""

    def ask(self, what: str, fields: Fields) -> Any: ...
    def end(self) -> None: ...


def program(command: list[str], home: str, **environment: str) -> subprocess.Popen[bytes]:
    """Starts a program in a process group of its own, which ends with us. Its output goes to a file in its
    home."""
    with open(f"{home}/log", "wb") as log:
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True, env={**os.environ, "HOME": home, **environment})


def stop(process: subprocess.Popen[bytes], home: str) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(home, ignore_errors=True)


def new_home(name: str) -> str:
    return tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ["LAB_DIR"])


class Firefox:
    def __init__(self) -> None:
        if not shutil.which("firefox-esr"):
            raise SystemExit("browser: Firefox is not installed; tools/lab prepare installs it")
        self.home, self.numbers, self.pending = new_home("firefox"), itertools.count(1), b""
        profile = pathlib.Path(self.home, "profile")
        profile.mkdir()
        (profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()))
        self.process = program(["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", str(profile), NOWHERE], self.home,
                               MOZ_CRASHREPORTER_DISABLE="1", MOZ_REMOTE_SETTINGS_DEVTOOLS="1")
        deadline, place = time.monotonic() + START, profile / "MarionetteActivePort"
        while not (place.exists() and place.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("browser: Firefox did not start: " + pathlib.Path(self.home, "log").read_text()[-400:])
            time.sleep(0.05)
        self.sock = socket.create_connection(("127.0.0.1", int(place.read_text())), START)
        self.sock.settimeout(START)
        self.next()  # the browser's greeting
        self.ask("NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": False}}})

    def next(self) -> Any:
        while True:
            size, colon, rest = self.pending.partition(b":")
            if colon and len(rest) >= int(size):
                said, self.pending = rest[:int(size)], rest[int(size):]
                return json.loads(said)
            if not (more := self.sock.recv(1 << 20)):
                raise Refused("Firefox has ended")
            self.pending += more

    def ask(self, what: str, fields: Fields) -> Any:
        data = json.dumps([0, next(self.numbers), f"WebDriver:{what}", fields]).encode()
        self.sock.sendall(b"%d:%s" % (len(data), data))
        try:
            _, _, problem, result = self.next()
        except TimeoutError:
            raise Refused(f"{what}: Firefox does not answer") from None
        if problem:
            raise Refused(f"{what}: {problem['message'].splitlines()[0]}")
        return result.get("value", result) if isinstance(result, dict) else result

    def end(self) -> None:
        with contextlib.suppress(Refused, OSError):
            data = json.dumps([0, 0, "Marionette:Quit", {"flags": ["eForceQuit"]}]).encode()
            self.sock.sendall(b"%d:%s" % (len(data), data))
            self.next()
        stop(self.process, self.home)


class WebKit:
    # The HTTP paths of the commands.
    WAYS: ClassVar = {"Navigate": "url", "ExecuteScript": "execute/sync", "FindElement": "element", "ElementClick": "element/{id}/click",
                         "ElementSendKeys": "element/{id}/value", "PerformActions": "actions", "SetTimeouts": "timeouts"}

    def __init__(self) -> None:
        if not shutil.which("WebKitWebDriver"):
            raise SystemExit("browser: WebKit is not installed; tools/lab prepare installs webkit2gtk-driver")
        self.home = new_home("webkit")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Switch the sandbox off, because the lab is a sandbox already. There is no graphics card and no D-Bus.
        self.process = program([LAB, "screen", "WebKitWebDriver", f"--port={self.port}"], self.home, NO_AT_BRIDGE="1",
                               GSETTINGS_BACKEND="memory", WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS="1", WEBKIT_DISABLE_DMABUF_RENDERER="1",
                               LIBGL_ALWAYS_SOFTWARE="1", DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere")
        deadline = time.monotonic() + START
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                break
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("browser: WebKit's driver did not start: " + pathlib.Path(self.home, "log").read_text()[-400:])
            time.sleep(0.05)
        browser = next(iter(pathlib.Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser")), None)
        options = {"webkitgtk:browserOptions": {"binary": str(browser), "args": ["--automation"]}}
        self.session = self.request("POST", "", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def request(self, method: str, path: str, fields: Fields | None = None) -> Any:
        way = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START)
        try:
            way.request(method, f"/session{path}", None if fields is None else json.dumps(fields), {"Content-Type": "application/json"})
            value = json.loads(way.getresponse().read())["value"]
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise Refused(f"{path}: WebKit does not answer: {problem}") from None
        finally:
            way.close()
        if isinstance(value, dict) and "error" in value:
            raise Refused(f"{path}: {value['message'].splitlines()[0] if value['message'] else value['error']}")
        return value

    def ask(self, what: str, fields: Fields) -> Any:
        return self.request("POST", f"/{self.session}/{self.WAYS[what].format(**fields)}", fields)

    def end(self) -> None:
        with contextlib.suppress(Refused):
            self.request("DELETE", f"/{self.session}")
        self.process.terminate()
        stop(self.process, self.home)
