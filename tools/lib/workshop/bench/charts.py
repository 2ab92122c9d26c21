# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench charts: the command; figures.py draws."""

import os
import subprocess

from ..common import module, read_words, shell

USAGE = """\
usage: tools/bench charts FROM TO

Draws what the areas measured: FROM is the folder with their JSON (audio.json, host.json, crowd.json, as tools/bench
writes them), TO the folder for the pictures: clicks.svg, bbt.svg, clock.svg, crowd.svg. What was not measured is left out."""


def main(words: list[str]) -> int:
    folders = read_words("bench charts", USAGE, words, {}).words
    if len(folders) != 2:
        print(USAGE)
        return 2
    shell("need_packages", "python3-matplotlib")
    os.makedirs(folders[1], exist_ok=True)
    return subprocess.run(module("figures", *folders), check=False).returncode
