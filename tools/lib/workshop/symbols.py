# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges symbol graphs for tools/documentation: each public symbol has documentation for users, each call
says which threads may use it, and docs/linkkit.md names only existing symbols.

symbols.py GRAPHS PAGE MODULE...: GRAPHS has a folder for each module, PAGE is docs/linkkit.md."""

import glob
import json
import re
import sys
from typing import Any

Symbol = dict[str, Any]

CALLS = ("swift.func", "swift.func.op", "swift.init", "swift.method", "swift.type.method")
# The modules with calls that users may make on several threads, such as the audio thread.
THREADED = ("Link", "LinkAudio")
THREADS = re.compile(r"Thread-safe: (yes|no, [^.]+)\. Real-time-safe: (yes|no(, [^.]+)?)\.$")
# Notes for maintainers that must not be in the users' documentation: citations of docs/facts, threads in
# brackets, and hints where to start reading.
NOTES = re.compile(r"\(facts: |\[(any|audio|control|network)\]|[Ss]tart reading|these files")
# The types of the values in docs/linkkit.md.
TYPES = {
    "Link": ["Link"],
    "LinkAudio": ["LinkAudio"],
    "link": ["Link"],
    "diagnostics": ["Link.Diagnostics", "LinkAudio.Diagnostics"],
    "handle": ["Link.AudioHandle"],
    "instant": ["Link.Instant"],
    "state": ["Link.SessionState"],
    "audio": ["LinkAudio"],
    "end": ["LinkAudio.SendEnd", "LinkAudio.ReceiveEnd"],
    "lane": ["LinkAudio.SendLane", "LinkAudio.ReceiveLane"],
    "sink": ["LinkAudio.Sink"],
    "source": ["LinkAudio.Source"],
}
USE = re.compile(r"(\w+)((?:\.\w+)*)(\([^)]*\))?")


def name(symbol: Symbol) -> str:
    return ".".join(symbol["pathComponents"])


def text(symbol: Symbol) -> str:
    return " ".join(line["text"] for line in symbol.get("docComment", {}).get("lines", []))


def is_silent(symbol: Symbol, module: str, classes: list[list[str]]) -> bool:
    """Whether a call, or a property of a class, does not say which threads may use it. Documentation that
    is inherited from a protocol does not count."""
    kind = symbol["kind"]["identifier"]
    asked = kind in CALLS or (kind.endswith("property") and symbol["pathComponents"][:-1] in classes)
    if not asked or symbol["docComment"].get("module") != module:
        return False
    if any(rule.get("isUnconditionallyUnavailable") for rule in symbol.get("availability", [])):
        return False
    return not THREADS.search(text(symbol))


def complaints(module: str, symbols: list[Symbol]) -> list[str]:
    bare = [name(symbol) for symbol in symbols if "docComment" not in symbol]
    noted = [name(symbol) for symbol in symbols if NOTES.search(text(symbol))]
    wrong = []
    if bare or not symbols:
        wrong.append(f"of {len(symbols)} public symbols of {module} these have no documentation: {', '.join(bare)}")
    if noted:
        wrong.append(f"the documentation of these symbols of {module} has notes for implementers: {', '.join(noted)}")
    if module in THREADED and not bare:
        classes = [symbol["pathComponents"] for symbol in symbols if symbol["kind"]["identifier"] == "swift.class"]
        silent = [name(symbol) for symbol in symbols if is_silent(symbol, module, classes)]
        if silent:
            wrong.append(f"these symbols of {module} do not say which threads may use them: {', '.join(silent)}")
    return wrong


def labels(call: str) -> list[str]:
    """The argument labels in `beat(at: t, quantum: q)` or `beat(at:quantum:)`: at and quantum. An argument
    without a label has _."""
    inner = call.strip("()")
    if re.fullmatch(r"(\w+:)+", inner):
        return re.findall(r"\w+", inner)
    return [label for part in inner.split(",") if part for label in re.findall(r"(\w+):", part) or ["_"]]


def exists(use: "re.Match[str]", known: list[str]) -> bool:
    owners, path, call = TYPES[use[1]], use[2].split(".")[1:], use[3]
    if not path and call is not None:
        path = ["init"]
    for place, member in enumerate(path):
        wanted = labels(call) if call is not None and place == len(path) - 1 else None
        owners = [
            found for found in known for owner in owners
            if found.split("(")[0] == f"{owner}.{member}" and (wanted is None or "(" not in found or re.findall(r"(\w+):", found) == wanted)
        ]
        if not owners:
            return False
        owners = TYPES.get(member, owners)
    return True


def main() -> None:
    graphs, page, *modules = sys.argv[1:]
    known: list[str] = []
    for module in modules:
        symbols: list[Symbol] = []
        for path in glob.glob(f"{graphs}/{module}/*.json"):
            with open(path, encoding="utf-8") as graph:
                symbols += json.load(graph)["symbols"]
        wrong = complaints(module, symbols)
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"{len(symbols)} public symbols of {module}, all with documentation")
        if module in THREADED:
            known += [name(symbol) for symbol in symbols]
    with open(page, encoding="utf-8") as file:
        spans = [span for line in file for span in re.findall(r"`([^`]+)`", line)]
    uses = [use for use in map(USE.match, spans) if use and use[1] in TYPES]
    unknown = [use[0] for use in uses if not exists(use, known)]
    if unknown or len(uses) < 80:
        sys.exit(f"of {len(uses)} uses in docs/linkkit.md these do not exist: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
