# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares our library with the reference library (Debian's ableton-link-dev), in turns, in one process on
a private network: the time in which an audio callback captures the session and asks for a beat, and its
allocations and locks. The program is a package of its own that uses the product Link as any other package
would. Fails if the audio path allocates or locks."""

import json
import os
import subprocess
from typing import Any

from .. import build
from ..common import LAB, fail, shell


def program() -> str:
    shell("need_packages", "ableton-link-dev", "g++")
    return build.product("LinkBench", folder=".build-bench-link", package=os.path.join(build.NATIVE, "linkbench"))


def ready(_: object) -> None:
    program()
    build.lab()


def measure(options: Any) -> tuple[object, bool]:
    done = subprocess.run([LAB, "--no-server", "--", program(), *["--quick"] * options.quick], check=False, text=True,
                          stdout=subprocess.PIPE)
    *lines, figures = done.stdout.splitlines() or fail("bench link", "the two libraries could not be compared", 1)
    print("\n".join(lines))
    return json.loads(figures), done.returncode == 0
