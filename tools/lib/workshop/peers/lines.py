# SPDX-License-Identifier: GPL-2.0-or-later
"""The line protocol of every peer: a command line in, one line of flat JSON out, in order.

{"ok": true, ...} or {"ok": false, "error": "..."}. Times are microseconds of Link's clock, CLOCK_MONOTONIC_RAW,
the same for all processes of a machine; a TIME may be +MICROS from now, and is now if it is left out. End of input
ends the peer as quit does."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

HELP = {
    "status": "all that the peer shows",
    "enable on|off": "take part in Link",
    "sync on|off": "start/stop sync",
    "tempo BPM [TIME]": "set the session's tempo",
    "play [TIME]": "start", "stop [TIME]": "stop",
    "quantum Q": "the quantum for everything that follows (4)",
    "beat [TIME]": "beat, phase and tempo at a time",
    "time BEAT": "when that beat is",
    "request BEAT [TIME]": "map a beat to a time, in phase with the session",
    "force BEAT [TIME]": "map a beat to a time, for everybody",
    "start BEAT [TIME]": "play and request that beat at that time",
    "clock": "the time", "peers": "how many others",
    "wait FIELD VALUE [SECONDS]": "until status shows it (numbers within 0.01); 10 seconds at most unless said",
    "master BPM [TICKS]": "become JACK's timebase master, with so many ticks a beat (960); tempo then sets it (jack)",
    "slow MILLISECONDS": "need so long before each start, as a DAW with a disk does (jack)",
    "flip COUNT HERTZ": "play, stop, play and so on, so often (jack)",
    "count": "from now on count the starts and locates of the transport (jack)",
    "key KEYS": "press keys (LinkHut)", "locate FRAME": "move the transport (jack)",
    "record": "a loop from the next bar line on; and when asked again until the next, and then it plays (looper)",
    "say PATH [TAGS ARGUMENT...]": "/tactus/PATH (controller, and so the next)",
    "ping": "milliseconds until its answer",
    "subscribe GROUPS": "at our port",
    "told SECONDS": "what is told from now on: for each path \"TIME ARGUMENT...; ...\"",
    "toggle PATH COUNT": "on and off at random moments; sent: \"TIME ON; ...\"",
    "fade FROM TO HERTZ SECONDS": "tempo/fader, and once more at TO",
    "crowd COUNT": "a packet that is no OSC from each of so many other ports",
    "flood COUNT PATH": "a bundle of so many, 4000 times a second from sixteen ports, until it quits",
    "page NUMBER": "what follows is about this page (browser, and so the next); each has its own cookies",
    "open ADDRESS [SECONDS]": "until it has loaded", "reload [SECONDS]": "the same again",
    "calm": "pages opened from now on draw a dozen frames a second, instead of 60",
    "size WIDTH HEIGHT [touched]": "of the screen, and whether it is touched",
    "media FEATURE VALUE": "what the user wants: prefers-reduced-motion, prefers-color-scheme",
    "click TARGET": "what a mouse does", "hold TARGET SECONDS": "down, and up again later", "tap TARGET": "what a finger does",
    "drag TARGET RIGHT [DOWN [STEPS]]": "by so many pixels",
    "press NAME...": "keys: Tab, Shift+Tab, Enter, Space, ArrowUp, t", "type TEXT": "where the keyboard is",
    "fill TARGET TEXT": "instead of what is there, and Enter", "choose TARGET VALUE": "of a list",
    "text TARGET": "what is to be read there", "value TARGET": "of a field", "evaluate EXPRESSION": "in the page",
    "until EXPRESSION [SECONDS]": "it is true in the page, 15 seconds at most unless said",
    "focus": "where the keyboard is", "names ROLE": "what a screen reader has of it",
    "screenshot FILE [whole]": "as PNG", "axe": "what axe-core finds wrong",
    "complaints": "errors of the page since they were asked for",
    "frames SECONDS EXPRESSION": "of each frame's time T: \"TIME VALUE DRAWN; ...\"",
    "help": "this", "quit": "leave the session and end",
}
_BOOLEANS = {"on": True, "off": False, "true": True, "false": False}
Fields = dict[str, Any]


class Refused(Exception):
    """A command that cannot be carried out. Its text is sent to the caller."""


class Player(Protocol):
    """A peer: it has a method for each word of HELP that it knows."""
    pause: float  # seconds between two readings of the peer's status

    def status(self) -> Fields: ...
    def leave(self) -> None: ...


class Browsing:
    """The part that all peers with a browser share: a page that evaluates JavaScript."""
    pause = 0.05

    def seen(self, expression: str) -> Any:
        raise NotImplementedError

    def evaluate(self, *words: str) -> Fields:
        return {"value": self.flat(self.seen(" ".join(words)))}

    def until(self, expression: str, seconds: str = "15") -> Fields:
        deadline, last = time.monotonic() + float(seconds), "nothing"
        while True:
            try:
                if value := self.seen(expression):
                    return {"value": self.flat(value)}
                last = json.dumps(value)
            except Refused as problem:  # the browser may be between two pages
                last = str(problem)
            if time.monotonic() > deadline:
                raise Refused(f"{expression}: {last} after {seconds} s")
            time.sleep(self.pause)

    @staticmethod
    def flat(value: Any) -> Any:
        return value if isinstance(value, (bool, int, float, str)) or value is None else json.dumps(value)


def switch(word: str) -> bool:
    if word not in _BOOLEANS:
        raise Refused(f"{word}: must be on or off")
    return _BOOLEANS[word]


def link_time() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) // 1000


def time_of(words: tuple[str, ...]) -> int:
    """The given TIME; if none is given, now."""
    if not words:
        return link_time()
    return link_time() + int(words[0][1:]) if words[0].startswith("+") else int(words[0])


def wait(peer: Player, field: str, value: str, seconds: float) -> Fields:
    status = peer.status()
    if field not in status:
        raise Refused(f"{field}: not in status")
    wanted = _BOOLEANS[value] if value in _BOOLEANS else float(value)
    began = time.monotonic()
    while True:
        shown = status[field]
        if shown is wanted or (not isinstance(shown, bool) and abs(shown - wanted) < 0.01):
            return dict(status, waited=time.monotonic() - began)
        if time.monotonic() - began > seconds:
            raise Refused(f"{field} is {json.dumps(shown)} and did not become {value} within {seconds} s")
        time.sleep(peer.pause)
        status = peer.status()


def answer(peer: Player, words: list[str]) -> Fields | None:
    verb = words[0]
    if verb == "help":
        return HELP
    if verb == "clock":
        return {"time": link_time()}
    if verb == "wait" and len(words) in (3, 4):
        return wait(peer, words[1], words[2], float(words[3]) if len(words) == 4 else 10.0)
    method = getattr(peer, verb, None) if any(usage.split()[0] == verb for usage in HELP) else None
    if method is None:
        raise Refused(f"{' '.join(words)}: not a command of this peer, or not all of one; try help")
    result: Fields | None = method(*words[1:])
    return result


def serve(peer: Player, split: Callable[[str], list[str]] = str.split, problems: type[Exception] = Refused) -> None:
    for line in sys.stdin:
        try:
            words = split(line)
        except ValueError as problem:  # the line has a quote that is not closed
            print(json.dumps({"ok": False, "error": f"{line.strip()}: {problem}"}), flush=True)
            continue
        if not words:
            continue
        if words[0] == "quit":
            print('{"ok": true}', flush=True)
            break
        try:
            result = {"ok": True, **(answer(peer, words) or {})}
        except (Refused, ValueError, OverflowError, problems) as problem:
            result = {"ok": False, "error": str(problem)}
        except (IndexError, TypeError):  # the line has too few or too many words
            usage = next(usage for usage in HELP if usage.split()[0] == words[0])
            result = {"ok": False, "error": f"{line.strip()}: not {usage} as this peer can do it; try help"}
        print(json.dumps(result, ensure_ascii=False), flush=True)
    peer.leave()
