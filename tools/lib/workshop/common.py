# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths, running of commands, and error messages."""

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

LIB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.path.dirname(LIB)
ROOT = os.path.dirname(TOOLS)
LAB = os.path.join(TOOLS, "lab")


def fail(command: str, message: object, status: int = 2) -> NoReturn:
    sys.stderr.write(f"{command}: {message}\n")
    sys.exit(status)


def succeeds(command: Sequence[str]) -> bool:
    """Runs a command without input. Its output goes to standard error, because it is no result of ours."""
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0


def shell(function: str, *words: str) -> None:
    """Runs a function of tools/lib/packages.sh, which prints what it does and why it failed."""
    if not succeeds(["bash", "-c", '. "$0/packages.sh"; "$@"', LIB, function, *words]):
        sys.exit(125)


def package_list(name: str) -> list[str]:
    """The packages in an array of tools/lib/packages.sh."""
    script = '. "$0/packages.sh"; declare -n list=$1; printf "%s\\n" "${list[@]}"'
    return subprocess.run(["bash", "-c", script, LIB, name], capture_output=True, text=True, check=True).stdout.split()


def module(name: str, *words: str, python: Sequence[str] = ("/usr/bin/python3", "-I", "-S")) -> list[str]:
    """The command that runs one of our modules."""
    return [*python, LIB, name, *words]


def is_in_lab() -> bool:
    return "LAB_DIR" in os.environ


def play(options: Sequence[str], scene: str, description: Mapping[str, object]) -> tuple[int, list[dict[str, Any]]]:
    """Runs one of our modules in a lab of its own. Returns its status, and the JSON lines that it
    printed."""
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
    """Writes the figures to the file that --json names; "-" is standard output."""
    text = json.dumps(figures, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
    elif target:
        pathlib.Path(target).write_text(text)


def git(*words: str) -> str:
    """The output of a git command; "unknown" outside of a clone."""
    done = subprocess.run(["git", "-C", ROOT, *words], check=False, capture_output=True, text=True)
    return "unknown" if done.returncode else done.stdout.strip()


def machine() -> str:
    """The kind of machine. A virtual machine is named as such, because its figures differ from those of a
    studio's computer."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    virtual = " in a virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.MULTILINE) else ""
    return f"{os.cpu_count()} cores of {model.group(1) if model else 'unknown'}{virtual}"
