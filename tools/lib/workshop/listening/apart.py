# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 apart.py SECONDS PORT OTHER: records both with jack_rec and prints, as JSON, how many frames the sounds of OTHER are
behind the nearest of PORT, by the middles of their energy: a resampler rings before a sound begins, so its first frame says
little. For sounds that are alike and not longer than a tenth of a second.

"beat": the same against the beat. tactus's own clicks lie on the frame next to it, so the straight line through eight of them to
each side is the beat, if their number of frames is not a whole one and the roundings average out."""

import array
import json
import subprocess
import sys
import tempfile
import wave
from statistics import linear_regression, median

LOUD, GAP = 400, 4800  # of 32767; frames


def middles(samples: "array.array[int]") -> list[float]:
    """Of each sound that is whole."""
    found, energy, moment, last = list[float](), 0.0, 0.0, -GAP
    for frame, sample in enumerate(samples):
        if abs(sample) > LOUD:
            if frame - last >= GAP:
                energy = moment = 0.0
            energy += sample * sample
            moment += sample * sample * float(frame)
            last = frame
        elif frame - last == GAP and energy > 0:
            found.append(moment / energy)
    return found[1:]


def on_line(place: float, near: list[float]) -> float | None:
    """Where the beat is, by the sounds of PORT around it."""
    nearest = min(range(len(near)), key=lambda number: abs(near[number] - place))
    numbers = range(max(0, nearest - 8), min(len(near), nearest + 9))
    if len(numbers) < 9:
        return None
    line = linear_regression(numbers, [near[number] for number in numbers])
    wrong = max(abs(line.slope * number + line.intercept - near[number]) for number in numbers)
    # Where the server lost a cycle there is no line.
    return line.slope * nearest + line.intercept if wrong < 2 else None


def record(seconds: str, ports: list[str]) -> list["array.array[int]"]:
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["jack_rec", "-f", file.name, "-d", seconds, "-b", "16", *ports], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with wave.open(file.name) as sound:
            frames = array.array("h", sound.readframes(sound.getnframes()))
    return [frames[place::len(ports)] for place in range(len(ports))]


def figures(gaps: list[float]) -> dict[str, float | None]:
    return {"median": round(median(gaps), 3) if gaps else None, "least": round(min(gaps), 3) if gaps else None,
            "most": round(max(gaps), 3) if gaps else None}


def apart(seconds: float, port: str, other: str) -> dict[str, object]:
    near, far = (middles(samples) for samples in record(str(seconds), [port, other]))
    gaps = [min((middle - place for place in near), key=abs) for middle in far if near]
    beats = [(middle, on_line(middle, near)) for middle in far if near]
    return {"count": len(gaps), **figures(gaps), "beat": figures([middle - beat for middle, beat in beats if beat is not None])}


if __name__ == "__main__":
    print(json.dumps(apart(float(sys.argv[1]), sys.argv[2], sys.argv[3])))
