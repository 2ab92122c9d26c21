# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are, how a command reads its words, and how it says that something is wrong."""

import json
import os
import pathlib
import re
import subprocess
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

LIB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.path.dirname(LIB)
ROOT = os.path.dirname(TOOLS)
LAB = os.path.join(TOOLS, "lab")


def fail(command: str, message: object, status: int = 2) -> NoReturn:
    sys.stderr.write(f"{command}: {message}\n")
    sys.exit(status)


class Number(NamedTuple):
    """An option's value: what it is unless said, and what it may be."""
    value: float | None
    low: float
    high: float = 10**12
    kind: Callable[[str], float] = int


def read_words(command: str, usage: str, words: Sequence[str], options: Mapping[str, object], is_prefix: bool = False
               ) -> types.SimpleNamespace:
    """The options by their names, and `words`, which are none. An option is False (a switch), a Number, or a text (None if
    it has no default). With `is_prefix` everything from the first word on belongs to another command."""
    known = {flag: option.value if isinstance(option, Number) else option for flag, option in options.items()}
    found, waiting = types.SimpleNamespace(words=[]), list(words)
    try_help = f"Try 'tools/{command} --help'"
    while waiting:
        word = waiting.pop(0)
        if word in ("-h", "--help"):
            print(usage)
            sys.exit(0)
        flag, equals, value = word.partition("=")
        if not word.startswith("-") or (is_prefix and word == "--"):
            found.words.append(word)
            if is_prefix:
                found.words = waiting if word == "--" else [word, *waiting]
                break
        elif flag not in options or (equals and options[flag] is False):
            fail(command, f"{flag}: no such option. {try_help}")
        elif options[flag] is False:
            known[flag] = True
        elif not equals and not waiting:
            fail(command, f"{flag} needs a value. {try_help}")
        else:
            text, option = value if equals else waiting.pop(0), options[flag]
            known[flag] = number(command, flag, text, option, try_help) if isinstance(option, Number) else text
    for flag, value_of in known.items():
        setattr(found, flag[2:].replace("-", "_"), value_of)
    return found


def number(command: str, flag: str, text: str, option: Number, try_help: str) -> float:
    try:
        value = option.kind(text)
    except ValueError:
        value = option.low - 1
    if not option.low <= value <= option.high:
        fail(command, f"{flag} {text}: must be a number from {option.low} to {option.high}. {try_help}")
    return value


def choices(command: str, flag: str, text: str | None, names: Sequence[str]) -> list[str]:
    """NAME,... of an option; all of them if it was not given."""
    found = text.split(",") if text else list(names)
    for name in found:
        if name not in names:
            fail(command, f"{flag} {name}: there are {', '.join(names)}")
    return found


def succeeds(command: Sequence[str]) -> bool:
    """Nobody types into it, and what it says is no result of ours."""
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0


def shell(function: str, *words: str) -> None:
    """A function of tools/lib/packages.sh: it says what it does and why it could not."""
    if not succeeds(["bash", "-c", '. "$0/packages.sh"; "$@"', LIB, function, *words]):
        sys.exit(125)


def package_list(name: str) -> list[str]:
    """What an array of tools/lib/packages.sh names."""
    script = '. "$0/packages.sh"; declare -n list=$1; printf "%s\\n" "${list[@]}"'
    return subprocess.run(["bash", "-c", script, LIB, name], capture_output=True, text=True, check=True).stdout.split()


def module(name: str, *words: str, python: Sequence[str] = ("/usr/bin/python3", "-I", "-S")) -> list[str]:
    """The command that runs a module of ours."""
    return [*python, LIB, name, *words]


def is_in_lab() -> bool:
    return "LAB_DIR" in os.environ


def play(options: Sequence[str], scene: str, description: Mapping[str, object]) -> tuple[int, list[dict[str, Any]]]:
    """A module of ours in a lab of its own: its status, and the JSON lines that it prints."""
    done = subprocess.run([LAB, *options, "--", *module(scene, json.dumps(description))], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in done.stdout.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            sys.stderr.write(line + "\n")
    return done.returncode, lines


def say(line: Mapping[str, object]) -> None:
    print(json.dumps(line), flush=True)


def write_json(target: str | None, figures: object) -> None:
    """To the file that --json names ("-": standard output)."""
    text = json.dumps(figures, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
    elif target:
        pathlib.Path(target).write_text(text)


def git(*words: str) -> str:
    """What it says; "unknown" outside of a clone."""
    done = subprocess.run(["git", "-C", ROOT, *words], check=False, capture_output=True, text=True)
    return "unknown" if done.returncode else done.stdout.strip()


def machine() -> str:
    """The kind of machine, said honestly: figures of a virtual one are not those of a studio's computer."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    virtual = " in a virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.MULTILINE) else ""
    return f"{os.cpu_count()} cores of {model.group(1) if model else 'unknown'}{virtual}"
