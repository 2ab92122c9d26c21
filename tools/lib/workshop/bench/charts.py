# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: tools/bench charts FROM TO

Draws what the areas measured: FROM is the folder with their JSON (audio.json, host.json, crowd.json, link-audio.json, as
tools/bench writes them), TO the folder for the pictures: clicks.svg, clock.svg, pulse.svg,
bbt.svg, crowd.svg, link-audio.svg. What was not measured is left out."""

import os

from ..common import read_words, shell


def main(words: list[str]) -> int:
    folders = read_words("bench charts", __doc__ or "", words, {}).words
    if len(folders) != 2:
        print(__doc__)
        return 2
    shell("need_packages", "python3-matplotlib")
    os.makedirs(folders[1], exist_ok=True)
    from .. import figures
    figures.draw(*folders)
    return 0
