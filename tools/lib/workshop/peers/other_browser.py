# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody with a browser that is not Chromium, driven by lines (lines.py): the words that browser.py knows, as far as all
browsers can be asked for them. A TARGET is a CSS selector."""

import base64
import pathlib
import shlex
import sys
from typing import Any

from . import lines
from .lines import Fields
from .webdriver import ELEMENT, Driver, Firefox, WebKit

KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Space": " ", "ArrowUp": "\ue013", "ArrowDown": "\ue015",
        "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Home": "\ue011", "End": "\ue010", "Control": "\ue009", "Shift": "\ue008"}
BROWSERS: dict[str, type[Firefox] | type[WebKit]] = {"firefox": Firefox, "webkit": WebKit}


class Browser(lines.Browsing):
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        driver.ask("SetTimeouts", {"implicit": 10_000, "pageLoad": 30_000, "script": 60_000})

    def open(self, address: str) -> None:
        self.driver.ask("Navigate", {"url": address})

    def reload(self) -> None:
        self.driver.ask("Refresh", {})

    def size(self, width: str, height: str) -> None:
        """Of what is to be seen of the page; a window has a frame, and may not be as small as that."""
        rect = {"width": int(width), "height": int(height)}
        for _ in range(2):
            self.driver.ask("SetWindowRect", rect)
            inner = self.run("return [innerWidth, innerHeight]")
            rect = {"width": rect["width"] + int(width) - inner[0], "height": rect["height"] + int(height) - inner[1]}

    def run(self, script: str, *words: Any) -> Any:
        return self.driver.ask("ExecuteScript", {"script": script, "args": list(words)})

    def find(self, target: str) -> str:
        found: str = self.driver.ask("FindElement", {"using": "css selector", "value": target})[ELEMENT]
        return found

    def click(self, target: str) -> None:
        self.driver.ask("ElementClick", {"id": self.find(target)})

    def hold(self, target: str, seconds: str) -> None:
        place = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: self.find(target)}}
        self.driver.ask("PerformActions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            place, {"type": "pointerDown", "button": 0}, {"type": "pause", "duration": round(float(seconds) * 1000)},
            {"type": "pointerUp", "button": 0}]}]})

    def fill(self, target: str, *words: str) -> None:
        """As somebody does: into it, all of it marked, typed over, Enter."""
        self.click(target)
        keys = KEYS["Control"] + "a" + KEYS["Control"] + " ".join(words) + KEYS["Enter"]
        self.driver.ask("ElementSendKeys", {"id": self.find(target), "text": keys})

    def press(self, *names: str) -> None:
        for name in names:
            key = KEYS.get(name, name)
            self.driver.ask("PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": [
                {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def text(self, target: str) -> Fields:
        return {"value": self.run("return arguments[0].innerText.trim()", {ELEMENT: self.find(target)})}

    def value(self, target: str) -> Fields:
        return {"value": self.run("return String(arguments[0].value)", {ELEMENT: self.find(target)})}

    def seen(self, expression: str) -> Any:
        return self.run(f"return ({expression})")

    def screenshot(self, path: str) -> None:
        pathlib.Path(path).write_bytes(base64.b64decode(self.driver.ask("TakeScreenshot", {"full": False})))

    def status(self) -> Fields:
        return {"agent": self.run("return navigator.userAgent")}

    def leave(self) -> None:
        self.driver.end()


def main(words: list[str]) -> None:
    lines.serve(Browser(BROWSERS[words[0]]()), shlex.split)


if __name__ == "__main__":
    main(sys.argv[1:])
