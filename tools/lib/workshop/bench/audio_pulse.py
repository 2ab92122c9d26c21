# SPDX-License-Identifier: GPL-2.0-or-later
"""Pulses for a modular, with edges between two frames and at the nearest one, against the beat. Prints JSON lines."""

import time
from typing import Any

import numpy

from .. import listening
from ..common import say
from ..listening import edges
from ..listening.judge import Judge
from . import actors

RATE = 4  # a beat
OUTPUTS = {"fine": "pulse rate=4 fine=yes", "nearest": "pulse rate=4"}


def pulse(scene: dict[str, Any]) -> None:
    ear = listening.Ear(["--tempo", "131", *(f"tactus:{name}@{RATE}" for name in OUTPUTS)], say)
    player = actors.tactus(scene["tactus"], *(f"--out={name}={what}" for name, what in OUTPUTS.items()))
    ear.wait_for_peers(1)
    ear.tell("tempo 187.3")  # a beat of 15376.4 frames: roundings do not repeat
    time.sleep(17)  # JACK's own clock, by which is judged, takes so long to settle in a server's first seconds
    ear.tell("section pulses")
    time.sleep(scene["seconds"])
    ear.mark()
    judge = Judge(ear.heard, ear.period, ear.began)
    for port, name in enumerate(OUTPUTS):
        heard, errors = edges.errors(judge, port, RATE)
        middle = float(numpy.median(errors)) if len(errors) else 0.0
        say({"type": "edges", "pulse": name, "median": round(middle, 2),
             "seconds": [round(float(when - heard[0]) / 1e6, 3) for when in heard],
             "errors": [round(float(error) - middle, 2) for error in errors]})
    ear.tell("report")
    ear.end()
    player.end()
