# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines: argparse, with a one-line message for a wrong word, and types that name their limits."""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from .common import fail


class Parser(argparse.ArgumentParser):
    def __init__(self, command: str, text: str | None, usage: str | None = None, epilog: str | None = None) -> None:
        super().__init__(f"tools/{command}", usage, text, epilog, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
        self.command = command

    def error(self, message: str) -> NoReturn:
        fail(self.command, re.sub("^argument ([^:]*):", r"\1", message) + f". Try '{self.prog} --help'")


def within(low: float, high: float = math.inf, kind: Callable[[str], float] = int) -> Callable[[str], float]:
    """The type of an option whose value is a finite number from `low` to `high`."""
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high or value == math.inf:
            raise argparse.ArgumentTypeError(f"{text}: must be a number from {low:g}" + (f" to {high:g}" if high < math.inf else ""))
        return value
    return read


def names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an option whose value is a list NAME,... of known names."""
    def read(text: str) -> list[str]:
        found = text.split(",")
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name}: there are {', '.join(known)}")
        return found
    return read
