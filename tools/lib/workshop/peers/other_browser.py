# SPDX-License-Identifier: GPL-2.0-or-later
"""A browser other than Chromium, driven by lines (lines.py). It knows the words of browser.py that every
browser can carry out. A TARGET is a CSS selector."""

import shlex
import sys
from typing import Any

from . import lines
from .lines import Fields
from .webdriver import ELEMENT, Driver, Firefox, WebKit

CONTROL, ENTER = "\ue009", "\ue007"
BROWSERS: dict[str, type[Firefox] | type[WebKit]] = {"firefox": Firefox, "webkit": WebKit}


class Browser(lines.Browsing):
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        driver.ask("SetTimeouts", {"implicit": 10_000, "pageLoad": 30_000, "script": 60_000})

    def open(self, address: str) -> None:
        self.driver.ask("Navigate", {"url": address})

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
        """Fills a field as people do: selects the whole text, types over it, and presses Enter."""
        self.click(target)
        keys = CONTROL + "a" + CONTROL + " ".join(words) + ENTER
        self.driver.ask("ElementSendKeys", {"id": self.find(target), "text": keys})

    def seen(self, expression: str) -> Any:
        return self.run(f"return ({expression})")

    def status(self) -> Fields:
        return {"agent": self.run("return navigator.userAgent")}

    def leave(self) -> None:
        self.driver.end()


def main(words: list[str]) -> None:
    lines.serve(Browser(BROWSERS[words[0]]()), shlex.split)


if __name__ == "__main__":
    main(sys.argv[1:])
