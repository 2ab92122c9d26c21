# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody with a browser, driven by lines (lines.py): a real Chromium. A TARGET is a CSS selector, or @NAME or @ROLE:NAME for what a
screen reader says; the first one that is shown is meant, and waited for. Words with blanks go in quotes."""

import pathlib
import shlex
import time
from typing import Any

from .. import processes
from ..lab import prepare
from . import lines
from .chromium import Chromium
from .lines import Fields, Refused
from .page import Page

# The findings of axe, each with its elements.
FINDINGS = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map((each) =>
  `${each.id} (${each.impact}): ${each.nodes.slice(0, 4).map((node) => node.target.join(" ")
  + (node.any[0] ? ` [${node.any[0].message}]` : "")).join(" , ")}`))"""
FOCUSED = """(() => { const at = document.activeElement; return at && at !== document.body
  ? at.id ? "#" + at.id : at.dataset && Object.keys(at.dataset).length ? `${at.tagName.toLowerCase()} ${JSON.stringify({...at.dataset})}`
  : `${at.tagName.toLowerCase()} ${at.getAttribute("aria-label") || at.name || at.textContent.trim().slice(0, 40)}` : "" })()"""
PAINT = """(() => { const all = performance.getEntriesByType("paint"), trip = performance.getEntriesByType("navigation")[0];
  const of = (name) => (all.find((each) => each.name === name) || {startTime: -1}).startTime;
  return {paint: of("first-paint"), contentful: of("first-contentful-paint"), loaded: trip ? trip.loadEventEnd : -1} })()"""
# Samples an expression of the frame's time T (performance.now()) in each frame, while it is drawn.
SAMPLER = """new Promise((done) => { const found = [], end = performance.now() + %f;
  const frame = (T) => { const value = (%s); found.push([T, value, performance.now()]);
    if (T < end) requestAnimationFrame(frame); else done(found) };
  requestAnimationFrame(frame) })"""
# The delay from a frame's time until it was on the screen, as the
# browser itself measures it, for twenty frames.
PRESENTED = """new Promise((done) => { const began = {}, took = [];
  new PerformanceObserver((list) => list.getEntries().forEach((each) => took.push(each.renderTime - began[each.identifier])))
    .observe({type: "element"});
  const draw = (T) => { const name = `probe ${Object.keys(began).length}`, probe = document.createElement("p");
    began[name] = T; probe.textContent = name; probe.setAttribute("elementtiming", name); probe.style.position = "fixed";
    document.body.append(probe); setTimeout(() => probe.remove(), 100);
    if (Object.keys(began).length < 20) setTimeout(() => requestAnimationFrame(draw), 70 + 20 * Math.random());
    else setTimeout(() => done(took), 500) };
  requestAnimationFrame(draw) })"""


class Browser(lines.Browsing):
    def __init__(self) -> None:
        self.is_calm = False
        self.by_session: dict[str, Page] = {}
        self.pages: list[Page] = []
        self.chromium = Chromium(self.hear)
        self.page("1")

    def hear(self, session: str, what: str, fields: Fields) -> None:
        if page := self.by_session.get(session):
            page.hear(what, fields)

    def page(self, number: str) -> Fields:
        """Each has cookies of its own, as on another phone."""
        while len(self.pages) < int(number):
            page = Page(self.chromium)
            self.by_session[page.session] = page
            self.pages.append(page)
            page.begin()
            page.size(390, 844, False)
            if self.is_calm:
                page.calm()
        self.now = self.pages[int(number) - 1]
        return {"pages": len(self.pages)}

    def calm(self) -> None:
        """For who judges no frames: sixty of them a second are most of what a page costs that nobody touches."""
        self.is_calm = True
        for page in self.pages:
            page.calm()

    def open(self, address: str, seconds: str = "20") -> None:
        self.now.open(address, float(seconds))

    def reload(self, seconds: str = "20") -> None:
        before = self.now.loaded
        self.now.ask("Page.reload")
        self.now.await_load(before, float(seconds))

    def size(self, width: str, height: str, touched: str = "") -> None:
        self.now.size(int(width), int(height), touched == "touched")

    def media(self, feature: str, value: str) -> None:
        self.now.ask("Emulation.setEmulatedMedia", features=[{"name": feature, "value": value}])

    def click(self, target: str) -> None:
        self.now.hold(target, 0)

    def hold(self, target: str, seconds: str) -> None:
        self.now.hold(target, float(seconds))

    def tap(self, target: str) -> None:
        self.now.tap(target)

    def strike(self, target: str, *moments: str) -> None:
        """With a finger that is already above it, at these moments of Link's clock."""
        _, x, y = self.now.place(target)
        for moment in map(float, moments):
            time.sleep(max(0, moment / 1e6 - time.clock_gettime(time.CLOCK_MONOTONIC_RAW)))
            self.now.touch("touchStart", (x, y))
            self.now.touch("touchEnd")

    def drag(self, target: str, right: str, down: str = "0", steps: str = "10") -> None:
        self.now.drag(target, float(right), float(down), int(steps))

    def press(self, *names: str) -> None:
        for name in names:
            self.now.key(name)

    def type(self, *words: str) -> None:
        self.now.type(" ".join(words))

    def fill(self, target: str, *words: str) -> None:
        """As somebody does: into it, all of it marked, typed over, Enter."""
        self.now.hold(target, 0)
        self.now.key("Control+a")
        if words:
            self.now.type(" ".join(words))
        else:
            self.now.key("Delete")
        self.now.key("Enter")

    def choose(self, target: str, *words: str) -> None:
        """One of a list, whose window nobody sees here."""
        if not self.now.call(self.now.find(target), """function(word) {
              const which = [...this.options].find((each) => each.value === word || each.label === word);
              if (which) { this.value = which.value; for (const what of ["input", "change"])
                this.dispatchEvent(new Event(what, {bubbles: true})) }
              return Boolean(which) }""", " ".join(words)):
            raise Refused(f"{target}: has no {' '.join(words)}")

    def text(self, target: str) -> Fields:
        return {"value": self.now.call(self.now.find(target), "function() { return this.innerText.trim() }")}

    def value(self, target: str) -> Fields:
        return {"value": self.now.call(self.now.find(target), "function() { return String(this.value) }")}

    def attribute(self, target: str, name: str) -> Fields:
        return {"value": self.now.call(self.now.find(target), "function(name) { return this.getAttribute(name) }", name)}

    def exists(self, target: str) -> Fields:
        return {"value": len(self.now.find_all(target))}

    def seen(self, expression: str) -> Any:
        return self.now.evaluate(expression)

    def focus(self) -> Fields:
        return {"value": self.now.evaluate(FOCUSED)}

    def names(self, role: str) -> Fields:
        """What a screen reader has of a kind."""
        nodes = self.now.ask("Accessibility.getFullAXTree")["nodes"]
        return {"value": "; ".join(node.get("name", {}).get("value", "") for node in nodes
                                   if not node["ignored"] and node["role"]["value"] == role)}

    def screenshot(self, path: str, whole: str = "") -> None:
        self.now.screenshot(path, whole == "whole")

    def axe(self) -> Fields:
        if not self.now.evaluate("typeof axe === 'object'"):
            if not (checker := prepare.axe()):
                raise Refused("axe-core is not installed; tools/lab prepare installs it")
            # Through the debugger: the page's own policy forbids foreign scripts, and shall keep doing so.
            self.now.evaluate(pathlib.Path(checker).read_text() + "; true")
        findings: list[str] = self.now.evaluate(FINDINGS)
        return {"count": len(findings), "findings": "\n".join(findings)}

    def complaints(self) -> Fields:
        """What the page's console has had since this was asked last."""
        found, self.now.complaints = self.now.complaints, []
        return {"count": len(found), "value": "\n".join(found)}

    def traffic(self) -> Fields:
        """Bytes and frames of this page since it was opened in this browser."""
        return dict(self.now.traffic)

    def paint(self) -> Fields:
        """Milliseconds after the address was opened."""
        found: Fields = self.now.evaluate(PAINT)
        return found

    def frames(self, seconds: str, expression: str) -> Fields:
        """For each frame "TIME VALUE DRAWN; ...", the times on Link's clock."""
        found: list[list[Any]] = self.now.evaluate(SAMPLER % (float(seconds) * 1000, expression), float(seconds))
        origin = self.now.origin()
        return {"value": "; ".join(f"{origin + 1000 * at:.0f} {value} {origin + 1000 * drawn:.0f}" for at, value, drawn in found)}

    def presented(self) -> Fields:
        """Milliseconds from a frame's time until it was seen, each."""
        found: list[float] = self.now.evaluate(PRESENTED, 10)
        return {"value": " ".join(f"{each:.1f}" for each in found)}

    def status(self) -> Fields:
        family = self.chromium.family()
        used = 0.0
        for process in family:
            try:
                used += processes.used(process) / 1e9
            except OSError:
                continue
        return {"pages": len(self.pages), "processes": len(family), "seconds": used, "pid": self.chromium.process.pid}

    def leave(self) -> None:
        self.chromium.end()


def main(_: list[str]) -> None:
    lines.serve(Browser(), shlex.split)
