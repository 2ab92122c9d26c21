# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench link: the library beside Ableton's: capture in the callback, allocations, joining. [--quick] [--json FILE]

The library beside the reference library (Debian's ableton-link-dev), in turn, in one process on a private network:
the time that an audio callback needs to capture the session and ask for a beat, what it allocates and locks, and
the time from enabling to being in a running session. The program is a package of its own that uses the product
Link, as anybody's would. Fails if the audio path allocates or locks."""

import os
import subprocess

from .. import build
from ..common import LAB, read_words, shell


def program() -> str:
    shell("need_packages", "ableton-link-dev", "g++")
    return build.product("LinkBench", folder=".build-bench-link", package=os.path.join(build.NATIVE, "linkbench"))


def main(words: list[str]) -> int:
    read_words("bench link", __doc__, words, {"--quick": False, "--json": None})
    build.lab()
    return subprocess.run([LAB, "--no-server", "--", program(), *words], check=False).returncode
