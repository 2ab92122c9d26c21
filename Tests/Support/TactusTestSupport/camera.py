#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the QR codes in a picture, as a phone's camera does, and prints what they say.

The picture is a file of text: a letter for each dot, # for the dark ones.
"""

import pathlib
import sys

import zbar  # type: ignore[import-not-found, unused-ignore]

DOT = 4


def main() -> None:
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
    width = max(len(line) for line in lines)
    rows = [bytes(0 if letter == "#" else 255 for letter in line.ljust(width)) for line in lines]
    pixels = b"".join(bytes(grey for grey in row for _ in range(DOT)) for row in rows for _ in range(DOT))
    image = zbar.Image(width * DOT, len(rows) * DOT, "Y800", pixels)
    zbar.ImageScanner().scan(image)
    for symbol in image:
        print(symbol.data)


main()
