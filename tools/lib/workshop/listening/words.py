# SPDX-License-Identifier: GPL-2.0-or-later
"""The results as lines for people."""

from .report import Message

NAMES = {"fa": "Start", "fb": "Continue", "fc": "Stop", "f2": "Song Position"}


def milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:+.3f} ms"


def plural(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def off(message: Message) -> str:
    """The error as text: by JACK's clock if it has settled, otherwise by the wall clock, which cannot be
    milliseconds off."""
    by_jack, by_wall = message["error"], message["wall_error"]
    is_settled = message["quiet"] and by_jack is not None and abs(by_jack - by_wall) < 500
    return milliseconds(by_jack if is_settled else by_wall)


def summary(message: Message, count: int) -> str:
    port = message["port"]
    if not count:
        return f"{port}: nothing heard"
    thing = "MIDI clock" if message.get("per_beat") == 24 else "onset"
    doubled = f", {len(message['doubled'])} doubled" if message["doubled"] else ""
    by_jack, by_wall = message["by_jack"], message["by_wall"]
    found, clock = (by_jack, "") if 2 * by_jack["n"] >= count else (by_wall, " (exact to 0.2 ms only: JACK's clock has not settled yet)")
    interval = message.get("interval")
    tempo = f" at {60e6 / interval / message['per_beat']:.2f} BPM" if interval else ""
    words = f"{port}: {plural(count, thing)}{tempo}, {len(message['missing'])} missing{doubled}"
    if not found["n"]:
        return words + "; when, nobody can say: the server stalls all the time"
    return (f"{words}; {milliseconds(found['median'])} from the session's beat (median), from {milliseconds(found['min'])} to "
            f"{milliseconds(found['max'])}{clock}")


def line(message: Message, quantum: float) -> str | None:
    """A message as a line of text; None: readers need no line for it."""
    match message["type"]:
        case "ready":
            return f"listening at {message['rate']} Hz, {message['period']} frames a period"
        case "onset" | "clock":
            bar = ", on a bar" if message["type"] == "onset" and round(message["beat"]) % quantum == 0 else ""
            return f"{message['port']}: beat {message['beat']:.4f}, {off(message)}{bar}"
        case "midi":
            return f"{message['port']}: beat {message['beat']:.4f}, {NAMES.get(message['bytes'][:2], message['bytes'])}"
        case "summary":
            return summary(message, message["heard"])
        case "heard":
            return summary(message, message["count"])
        case "method":
            return f"the server lost time: {plural(message['xruns'], 'xrun')}" if message["xruns"] else None
        case "peers":
            return plural(message["count"], "Link peer")
        case "end":
            return f"in a session of {plural(message['peers'], 'Link peer')}" if message["peers"] else "no Link peer heard"
        case "note":
            return str(message["text"])
        case _:
            return None
