# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 apart.py SECONDS PORT OTHER [PULSE]: records the ports with jack_rec and prints, as JSON, by how
many frames the sounds of OTHER are behind the nearest sounds of PORT. The middles of their energy are
compared: a resampler rings before a sound begins, so the first frame says little. The sounds must be alike,
and not longer than a tenth of a second.

"beat": the same comparison with the beat. tactus's own clicks lie on the frame next to the beat. PULSE, a
pulse with fine=yes and full level, shows where between two frames the beat is. The sounds of PORT show how
far a sound's middle is behind its first frame."""

import array
import json
import subprocess
import sys
import tempfile
import wave
from statistics import median

LOUD, GAP = 400, 4800  # a sample value (full scale is 32767), and frames


def middles(samples: "array.array[int]") -> list[float]:
    """The middle of each complete sound."""
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


def first_frames(samples: "array.array[int]") -> list[int]:
    """The first frame of each complete sound. Between the sounds, PORT is silent."""
    found, last = list[int](), 0
    for frame, sample in enumerate(samples):
        if sample:
            if frame - last >= GAP:
                found.append(frame)
            last = frame
    return found


def beats(samples: "array.array[int]") -> list[float]:
    """The exact place of each beat, from the pulse. The level of a pulse's first frame shows which part of
    that frame lies after the edge."""
    return [first + 0.5 - samples[first] / 32767 for first in first_frames(samples)]


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


def nearest(place: float, places: list[float]) -> float:
    return min((place - other for other in places), key=abs)


def apart(seconds: float, port: str, other: str, *pulse: str) -> dict[str, object]:
    here, there, *pulses = record(str(seconds), [port, other, *pulse])
    near, far = middles(here), middles(there)
    found: dict[str, object] = {"count": len(far), **figures([nearest(place, near) for place in far if near])}
    for edges in map(beats, pulses):
        begins = [float(first) for first in first_frames(here)]
        length = median(nearest(middle, begins) for middle in near)
        gaps = [nearest(middle - length, edges) for middle in far]
        found["beat"] = figures(gaps) | {"beyond": sum(abs(gap) > 1 for gap in gaps)}
    return found


if __name__ == "__main__":
    print(json.dumps(apart(float(sys.argv[1]), *sys.argv[2:])))
