# SPDX-License-Identifier: GPL-2.0-or-later
"""One page of the browser, as somebody has it before him: a phone, a tablet or a laptop with its own cookies. He sees, points, types
and looks; scripts only ask."""

import base64
import json
import math
import pathlib
import re
import time
from typing import Any

from .chromium import PATIENCE, Chromium, Fields
from .lines import Refused

NAMED = re.compile(r"@(?:(?P<role>[a-z]+):)?(?P<name>.+)", re.DOTALL)
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
# The events of a keyboard: code, key code, and the text that it types.
KEYS = {"Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Space": ("Space", 32, " "), "Escape": ("Escape", 27, ""),
        "Backspace": ("Backspace", 8, ""), "Delete": ("Delete", 46, ""), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
        "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""),
        "ArrowDown": ("ArrowDown", 40, ""), "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, "")}
# Waits until the element has been in the same place for two frames: a user does not hit a moving target.
PLACE = """async function() {
  const where = () => { const box = this.getBoundingClientRect(); return [box.x, box.y, box.width, box.height].join() };
  const before = this.getBoundingClientRect();
  const there = document.elementFromPoint(before.x + before.width / 2, before.y + before.height / 2);
  if (!there || !(this.contains(there) || there.contains(this)) || there.matches("body, html, main, section"))
    this.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
  for (let last = "", still = 0, n = 0; still < 2 && n < 120; n += 1) {
    await new Promise((done) => (globalThis.eachFrame ?? requestAnimationFrame)(done));
    still = where() === last ? still + 1 : 0;
    last = where();
  }
  const box = this.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  const top = document.elementFromPoint(x, y);
  const names = (each) => each ? each.tagName.toLowerCase() + (each.id ? "#" + each.id : "") : "nothing";
  const labels = this.labels ? [...this.labels] : [];
  const hit = top && (this.contains(top) || top.contains(this) && !top.matches("body, html, main, section")
    || labels.some((label) => label.contains(top)));
  return {x, y, width: box.width, height: box.height, hit: Boolean(hit), top: names(top), disabled: Boolean(this.disabled)};
}"""
# The page draws only every 60 ms; positions of elements are still checked in each frame.
CALM = """globalThis.eachFrame = requestAnimationFrame;
globalThis.requestAnimationFrame = (draw) => setTimeout(() => eachFrame(draw), 60)"""
SHOWN = "function() { return this.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) }"


class Page:
    def __init__(self, browser: Chromium) -> None:
        self.browser = browser
        context = browser.ask("Target.createBrowserContext")["browserContextId"]
        target = browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session: str = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.loaded, self.complaints = 0, list[str]()
        self.traffic = {"http_in": 0, "socket_in": 0, "socket_out": 0, "frames_in": 0, "frames_out": 0, "sockets": 0}

    def begin(self) -> None:
        """Once what it tells is heard."""
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility", "Performance"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, patience: float = PATIENCE, /, **parameters: Any) -> Fields:
        return self.browser.ask(method, self.session, patience, **parameters)

    # Events of the browser.

    def hear(self, what: str, fields: Fields) -> None:
        traffic = self.traffic
        if what == "Page.loadEventFired":
            self.loaded += 1
        elif what == "Network.loadingFinished":
            traffic["http_in"] += int(fields["encodedDataLength"])
        elif what == "Network.webSocketCreated":
            traffic["sockets"] += 1
        elif what in ("Network.webSocketFrameReceived", "Network.webSocketFrameSent"):
            way, data = "in" if what.endswith("Received") else "out", fields["response"]["payloadData"]
            traffic[f"frames_{way}"] += 1
            traffic[f"socket_{way}"] += len(data.encode()) if fields["response"]["opcode"] == 1 else len(data) * 3 // 4
        elif what == "Runtime.exceptionThrown":
            details = fields["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif what == "Runtime.consoleAPICalled" and fields["type"] in ("error", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each.get("description"))) for each in fields["args"]))
        elif what == "Log.entryAdded" and fields["entry"]["level"] == "error":
            self.complaints.append(f"{fields['entry']['text']} {fields['entry'].get('url', '')}".strip())

    # Reading the page.

    def evaluate(self, expression: str, seconds: float = 0) -> Any:
        """It may take so long."""
        found = self.ask("Runtime.evaluate", seconds + PATIENCE, expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise Refused(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def call(self, thing: str, function: str, *words: object) -> Any:
        return self.ask("Runtime.callFunctionOn", objectId=thing, functionDeclaration=function, returnByValue=True, awaitPromise=True,
                        arguments=[{"value": word} for word in words])["result"].get("value")

    def find_all(self, target: str) -> list[str]:
        """Elements by a selector, or by what a screen reader calls them: @NAME, @ROLE:NAME."""
        if named := NAMED.fullmatch(target):
            root = self.ask("Runtime.evaluate", expression="document")["result"]["objectId"]
            query = {"accessibleName": named["name"], **({"role": named["role"]} if named["role"] else {})}
            nodes = self.ask("Accessibility.queryAXTree", objectId=root, **query)["nodes"]
            ours = [node["backendDOMNodeId"] for node in nodes
                    if not node["ignored"] and node["role"]["value"] not in ("StaticText", "InlineTextBox", "LabelText")]
            return [self.ask("DOM.resolveNode", backendNodeId=node)["object"]["objectId"] for node in ours]
        listing = self.ask("Runtime.evaluate", expression=f"[...document.querySelectorAll({json.dumps(target)})]")
        if "exceptionDetails" in listing:
            raise Refused(f"{target}: not a selector")
        parts = self.ask("Runtime.getProperties", objectId=listing["result"]["objectId"], ownProperties=True)["result"]
        return [part["value"]["objectId"] for part in parts if part["name"].isdigit()]

    def find(self, target: str, seconds: float = 10) -> str:
        """The first that is shown, as soon as there is one."""
        deadline = time.monotonic() + seconds
        while True:
            there: list[str] = []
            try:
                there = self.find_all(target)
                if shown := [each for each in there if self.call(each, SHOWN)]:
                    return shown[0]
            except Refused:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise Refused(f"{target}: " + ("is not shown" if there else "there is none"))
            time.sleep(0.02)

    # Actions of a hand.

    def place(self, target: str) -> tuple[str, float, float]:
        """Where somebody would point at it; refused while something else is in front of it."""
        thing, deadline = self.find(target), time.monotonic() + 5
        while True:
            place = self.call(thing, PLACE) or {"hit": False, "top": "nothing"}
            if place["hit"] and place["width"] and place["height"]:
                return thing, place["x"], place["y"]
            if time.monotonic() > deadline:
                raise Refused(f"{target}: {place['top']} is in front of it")
            time.sleep(0.02)
            thing = self.find(target)

    def mouse(self, kind: str, x: float, y: float, buttons: int) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons,
                 clickCount=0 if kind == "mouseMoved" else 1)

    def hold(self, target: str, seconds: float) -> None:
        _, x, y = self.place(target)
        self.mouse("mouseMoved", x, y, 0)
        self.mouse("mousePressed", x, y, 1)
        time.sleep(seconds)
        self.mouse("mouseReleased", x, y, 0)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        self.ask("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def tap(self, target: str) -> None:
        _, x, y = self.place(target)
        self.touch("touchStart", (x, y))
        self.touch("touchEnd")

    def drag(self, target: str, right: float, down: float, steps: int) -> None:
        """From its middle, or a slider from where its handle is."""
        thing, x, y = self.place(target)
        handle = self.call(thing, """function() {
          if (this.type !== "range") return null;
          const box = this.getBoundingClientRect(), part = (this.value - this.min) / (this.max - this.min);
          return box.x + 8 + part * (box.width - 16) }""")
        x = handle if handle is not None else x
        self.mouse("mouseMoved", x, y, 0)
        self.mouse("mousePressed", x, y, 1)
        for step in range(1, steps + 1):
            self.mouse("mouseMoved", x + right * step / steps, y + down * step / steps, 1)
        self.mouse("mouseReleased", x + right, y + down, 0)

    def key(self, combination: str) -> None:
        """Tab, Shift+Tab, Control+a, t."""
        *held, name = combination.split("+") if combination != "+" else ["+"]
        code, number, text = KEYS.get(name, ("", ord(name[0].upper()), name))
        modifiers = sum(MODIFIERS[each] for each in held)
        named = " " if name == "Space" else name
        text = "" if modifiers & ~8 else text
        common: Fields = {"key": named, "code": code or f"Key{name.upper()}", "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common,
                 **({"commands": ["selectAll"]} if combination == "Control+a" else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        for letter in text:
            self.ask("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter, unmodifiedText=letter)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=letter)

    # Appearance.

    def size(self, width: int, height: int, is_touched: bool) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if is_touched else 1,
                 mobile=is_touched)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=is_touched)

    def calm(self) -> None:
        """From the next address on."""
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=CALM)

    def screenshot(self, path: str, is_whole: bool) -> None:
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def open(self, address: str, seconds: float) -> None:
        before, answer = self.loaded, self.ask("Page.navigate", url=address)
        if "errorText" in answer:
            raise Refused(f"{address}: {answer['errorText']}")
        if "loaderId" in answer:  # or only the fragment is another
            self.await_load(before, seconds)

    def await_load(self, before: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.loaded == before:
            if time.monotonic() > deadline:
                raise Refused(f"the page did not load within {seconds} s")
            time.sleep(0.005)

    # The page's clock.

    def origin(self) -> float:
        """Microseconds of CLOCK_MONOTONIC_RAW at which its performance.now() was 0: that counts CLOCK_MONOTONIC from there."""
        metrics = {each["name"]: each["value"] for each in self.ask("Performance.getMetrics")["metrics"]}
        least = min((abs(after - before), (before + after) / 2 - steady) for before, steady, after in (
            (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.clock_gettime_ns(time.CLOCK_MONOTONIC),
             time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)) for _ in range(20)))
        return math.fsum((metrics["NavigationStart"] * 1e6, least[1] / 1000))
