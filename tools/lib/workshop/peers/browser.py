# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Chromium without a window, driven by lines (lines.py) through Playwright. Each page belongs to
another visitor, with cookies of its own. A TARGET is a CSS selector, or @NAME or @ROLE:NAME for the text
that a screen reader says. The first visible match counts, and is waited for. Words with blanks need
quotes."""

import os
import pathlib
import re
import shlex
import shutil
import tempfile
import time
from typing import Any

from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Error, Locator, sync_playwright

from ..lab import prepare
from . import lines
from .lines import Fields, Refused

PATIENCE = 30.0  # seconds to wait for an answer of a browser on a busy machine
NAMED = re.compile(r"@(?:(?P<role>[a-z]+):)?(?P<name>.+)", re.DOTALL)
# Without these switches, Chromium makes an extra page for the list below its address bar, so each window has
# two pages.
SWITCHES = ["--disable-features=Translate,MediaRouter,OptimizationHints,WebUIOmniboxPopup,WebUIOmniboxAimPopup", "--disable-gpu", "--lang=en"]
# The point of an element that a hand would touch: the element's middle, when the element has not moved for
# two frames. `hit` is false while another element covers that point.
PLACE = """async (it) => {
  const where = () => { const box = it.getBoundingClientRect(); return [box.x, box.y, box.width, box.height].join() };
  const before = it.getBoundingClientRect();
  const there = document.elementFromPoint(before.x + before.width / 2, before.y + before.height / 2);
  if (!there || !(it.contains(there) || there.contains(it)) || there.matches("body, html, main, section"))
    it.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
  for (let last = "", still = 0, n = 0; still < 2 && n < 120; n += 1) {
    await new Promise((done) => (globalThis.eachFrame ?? requestAnimationFrame)(done));
    still = where() === last ? still + 1 : 0;
    last = where();
  }
  const box = it.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  const top = document.elementFromPoint(x, y), labels = it.labels ? [...it.labels] : [];
  const hit = top && (it.contains(top) || top.contains(it) && !top.matches("body, html, main, section")
    || labels.some((label) => label.contains(top)));
  const handle = it.type === "range" ? box.x + 8 + (it.value - it.min) / (it.max - it.min) * (box.width - 16) : x;
  return {x, y, handle, hit: Boolean(hit && box.width && box.height), top: top ? top.outerHTML.slice(0, 60) : "nothing"};
}"""
# Makes the page draw only every 60 ms. Playwright still reads the position of an element in each frame.
CALM = """globalThis.eachFrame = requestAnimationFrame;
globalThis.requestAnimationFrame = (draw) => setTimeout(() => eachFrame(draw), 60)"""
# The findings of axe-core as text, each with its elements.
FINDINGS = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map((each) =>
  `${each.id} (${each.impact}): ${each.nodes.slice(0, 4).map((node) => node.target.join(" ")
  + (node.any[0] ? ` [${node.any[0].message}]` : "")).join(" , ")}`))"""
FOCUSED = """(() => { const at = document.activeElement; return at && at !== document.body
  ? at.id ? "#" + at.id : at.dataset && Object.keys(at.dataset).length ? `${at.tagName.toLowerCase()} ${JSON.stringify({...at.dataset})}`
  : `${at.tagName.toLowerCase()} ${at.getAttribute("aria-label") || at.name || at.textContent.trim().slice(0, 40)}` : "" })()"""
# Evaluates an expression for each frame while it is drawn; T is the frame's time (performance.now()).
SAMPLER = """new Promise((done) => { const found = [], end = performance.now() + %f;
  const frame = (T) => { const value = (%s); found.push([T, value, performance.now()]);
    if (T < end) requestAnimationFrame(frame); else done(found) };
  requestAnimationFrame(frame) })"""


class Page:
    def __init__(self, browser: Chromium, is_calm: bool) -> None:
        self.context = browser.new_context(no_viewport=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.tools = self.context.new_cdp_session(self.page)
        self.tools.send("Performance.enable")
        self.complaints = list[str]()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(f"{said.text} {said.location['url']}".strip())
                     if said.type in ("error", "assert") else None)
        self.size(390, 844, False)
        if is_calm:
            self.page.add_init_script(CALM)

    def evaluate(self, expression: str) -> Any:
        """Evaluates an expression in the page, through the debugger: the page's policy forbids scripts from
        elsewhere, and must stay as it is."""
        how = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        try:
            found = self.tools.send("Runtime.evaluate", {"expression": expression, **how})
        except Error as problem:
            raise Refused(str(problem)) from None
        if details := found.get("exceptionDetails"):
            raise Refused(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def find(self, target: str) -> Locator:
        """The first visible element that matches, as soon as there is one."""
        if named := NAMED.fullmatch(target):
            role: Any = named["role"] or "button"
            found = self.page.get_by_role(role, name=named["name"], exact=True)
            if not named["role"]:
                found = found.or_(self.page.get_by_label(named["name"], exact=True))
        else:
            found = self.page.locator(target)
        shown = found.filter(visible=True).first
        shown.wait_for(timeout=10_000)
        return shown

    def place(self, target: str) -> Fields:
        deadline = time.monotonic() + 5
        while True:
            place: Fields = self.find(target).evaluate(PLACE)
            if place["hit"]:
                return place
            if time.monotonic() > deadline:
                raise Refused(f"{target}: {place['top']} is in front of it")

    def hold(self, target: str, seconds: float) -> None:
        place = self.place(target)
        self.page.mouse.move(place["x"], place["y"])
        self.page.mouse.down()
        time.sleep(seconds)
        self.page.mouse.up()

    def size(self, width: int, height: int, is_touched: bool) -> None:
        self.tools.send("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "mobile": is_touched,
                                                              "deviceScaleFactor": 2 if is_touched else 1})
        self.tools.send("Emulation.setTouchEmulationEnabled", {"enabled": is_touched})

    def origin(self) -> float:
        """The time, in microseconds of CLOCK_MONOTONIC_RAW, at which the page's performance.now() was 0.
        From there performance.now() counts CLOCK_MONOTONIC."""
        metrics = {each["name"]: each["value"] for each in self.tools.send("Performance.getMetrics")["metrics"]}
        least = min((abs(after - before), (before + after) / 2 - steady) for before, steady, after in (
            (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.clock_gettime_ns(time.CLOCK_MONOTONIC),
             time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)) for _ in range(20)))
        return float(metrics["NavigationStart"] * 1e6 + least[1] / 1000)


class Browser(lines.Browsing):
    def __init__(self) -> None:
        if not (program := shutil.which("chromium")):
            raise SystemExit("browser: Chromium is not installed; tools/lab prepare installs it")
        home = tempfile.mkdtemp(prefix="browser-", dir=os.environ["LAB_DIR"])
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=program, args=SWITCHES, env={**os.environ, "HOME": home, "TMPDIR": home})
        self.is_calm, self.pages = False, list[Page]()
        self.page("1")

    def page(self, number: str) -> Fields:
        while len(self.pages) < int(number):
            self.pages.append(Page(self.chromium, self.is_calm))
        self.now = self.pages[int(number) - 1]
        return {"pages": len(self.pages)}

    def calm(self) -> None:
        """Slows the drawing down, for tests that judge no frames: drawing sixty frames a second is most of
        the cost of an idle page."""
        self.is_calm = True
        for each in self.pages:
            each.page.add_init_script(CALM)

    def open(self, address: str, seconds: str = "20") -> None:
        self.now.page.goto(address, timeout=1000 * float(seconds))

    def reload(self, seconds: str = "20") -> None:
        self.now.page.reload(timeout=1000 * float(seconds))

    def size(self, width: str, height: str, touched: str = "") -> None:
        self.now.size(int(width), int(height), touched == "touched")

    def media(self, feature: str, value: str) -> None:
        self.now.page.emulate_media(**{feature.removeprefix("prefers-").replace("-", "_"): value})  # type: ignore[arg-type]

    def click(self, target: str) -> None:
        self.now.hold(target, 0)

    def hold(self, target: str, seconds: str) -> None:
        self.now.hold(target, float(seconds))

    def tap(self, target: str) -> None:
        place = self.now.place(target)
        self.now.tools.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": place["x"], "y": place["y"]}]})
        self.now.tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def drag(self, target: str, right: str, down: str = "0", steps: str = "10") -> None:
        """Drags an element from its middle, or a slider from its handle."""
        place, mouse = self.now.place(target), self.now.page.mouse
        mouse.move(place["handle"], place["y"])
        mouse.down()
        mouse.move(place["handle"] + float(right), place["y"] + float(down), steps=int(steps))
        mouse.up()

    def press(self, *names: str) -> None:
        for name in names:
            self.now.page.keyboard.press(name)

    def type(self, *words: str) -> None:
        self.now.page.keyboard.type(" ".join(words))

    def fill(self, target: str, *words: str) -> None:
        """Fills a field as people do: selects the whole text, types over it, and presses Enter."""
        self.now.hold(target, 0)
        self.press("Control+a")
        if words:
            self.type(*words)
        else:
            self.press("Delete")
        self.press("Enter")

    def choose(self, target: str, *words: str) -> None:
        self.now.find(target).select_option(" ".join(words))

    def text(self, target: str) -> Fields:
        return {"value": self.now.find(target).inner_text().strip()}

    def value(self, target: str) -> Fields:
        return {"value": self.now.find(target).input_value()}

    def seen(self, expression: str) -> Any:
        return self.now.evaluate(expression)

    def focus(self) -> Fields:
        return {"value": self.now.evaluate(FOCUSED)}

    def names(self, role: str) -> Fields:
        """The names that a screen reader gets for all elements with this role."""
        nodes = self.now.tools.send("Accessibility.getFullAXTree")["nodes"]
        return {"value": "; ".join(node.get("name", {}).get("value", "") for node in nodes
                                   if not node["ignored"] and node["role"]["value"] == role)}

    def screenshot(self, path: str, whole: str = "") -> None:
        self.now.page.screenshot(path=path, full_page=whole == "whole")

    def axe(self) -> Fields:
        if not self.now.evaluate("typeof axe === 'object'"):
            if not (checker := prepare.axe()):
                raise Refused("axe-core is not installed; tools/lab prepare installs it")
            self.now.evaluate(pathlib.Path(checker).read_text() + "; true")
        findings: list[str] = self.now.evaluate(FINDINGS)
        return {"count": len(findings), "findings": "\n".join(findings)}

    def complaints(self) -> Fields:
        """The errors on the page's console since the last call."""
        self.now.page.wait_for_timeout(1)  # Playwright hears events only while it is called
        found, self.now.complaints = self.now.complaints, []
        return {"count": len(found), "value": "\n".join(found)}

    def frames(self, seconds: str, expression: str) -> Fields:
        """For each frame "TIME VALUE DRAWN; ...", with times of Link's clock."""
        found: list[list[Any]] = self.now.evaluate(SAMPLER % (float(seconds) * 1000, expression))
        origin = self.now.origin()
        return {"value": "; ".join(f"{origin + 1000 * at:.0f} {value} {origin + 1000 * drawn:.0f}" for at, value, drawn in found)}

    def status(self) -> Fields:
        return {"pages": len(self.pages)}

    def leave(self) -> None:
        self.chromium.close()
        self.playwright.stop()


def main(_: list[str]) -> None:
    lines.serve(Browser(), shlex.split, Error)
