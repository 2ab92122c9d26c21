# SPDX-License-Identifier: GPL-2.0-or-later
"""Pulses for modular gear, with edges between two frames and at the nearest frame, compared with the beat.
Prints JSON lines.

Two Link peers know a session's beat to some microseconds, each by its own measurement, which is repeated
every half minute. This difference is no error of the pulses. So errors are counted from the median of each
stretch in which the listener's grid did not move."""

import time
from typing import Any

import numpy

from .. import listening
from ..common import say
from ..listening import edges
from ..listening.judge import Judge
from . import actors

OUTPUTS = {"fine": "pulse fine=yes", "nearest": "pulse"}
CLOSE = 2  # microseconds


def pulse(scene: dict[str, Any]) -> bool:
    """Plays the pulses. Returns whether the pulse with fine edges is within CLOSE."""
    ear = listening.Ear(["--tempo", "131", *(f"tactus:{name}" for name in OUTPUTS)], say)
    player = actors.tactus(scene["tactus"], *(f"--out={name}={what}" for name, what in OUTPUTS.items()))
    ear.wait_for_peers(1)
    ear.tell("tempo 187.3")  # a beat has 15376.4 frames, so rounding errors do not repeat
    time.sleep(17)  # until JACK's own clock, by which we judge, has settled after the server's start
    ear.tell("section pulses")
    time.sleep(scene["seconds"])
    ear.mark()
    judge = Judge(ear.heard, ear.period, ear.began)
    is_close = True
    for port, name in enumerate(OUTPUTS):
        heard, errors, stretch = edges.errors(judge, port)
        medians = {int(one): float(numpy.median(errors[stretch == one])) for one in numpy.unique(stretch)}
        apart = [float(error) - medians[int(one)] for error, one in zip(errors, stretch, strict=True)]
        is_close = is_close and (name != "fine" or max(map(abs, apart), default=0) <= CLOSE)
        say({"type": "edges", "pulse": name, "medians": [round(middle, 2) for middle in medians.values()],
             "seconds": [round(float(when - heard[0]) / 1e6, 3) for when in heard], "errors": [round(error, 2) for error in apart]})
    ear.tell("report")
    ear.end()
    player.end()
    return is_close
