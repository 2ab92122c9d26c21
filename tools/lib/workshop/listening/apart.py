# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 apart.py SECONDS PORT OTHER: records the ports with jack_rec and prints, as JSON, by how
many frames the sounds of OTHER are behind the nearest sounds of PORT. The middles of their energy are
compared: a resampler rings before a sound begins, so the first frame says little. The sounds must be alike,
and not longer than a tenth of a second."""

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


def record(seconds: str, ports: list[str]) -> list["array.array[int]"]:
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["jack_rec", "-f", file.name, "-d", seconds, "-b", "16", *ports], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with wave.open(file.name) as sound:
            frames = array.array("h", sound.readframes(sound.getnframes()))
    return [frames[place::len(ports)] for place in range(len(ports))]


def apart(seconds: str, port: str, other: str) -> dict[str, float | None]:
    here, there = record(seconds, [port, other])
    near, far = middles(here), middles(there)
    gaps = [min((place - sound for sound in near), key=abs) for place in far if near]
    return {"count": len(far), "median": round(median(gaps), 3) if gaps else None,
            "least": round(min(gaps), 3) if gaps else None, "most": round(max(gaps), 3) if gaps else None}


if __name__ == "__main__":
    print(json.dumps(apart(*sys.argv[1:])))
