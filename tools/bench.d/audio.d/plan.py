# SPDX-License-Identifier: GPL-2.0-or-later
"""Which scenes are played, and for how long."""

NAMES = ["self-test", "beat", "periods", "rates", "pipewire", "busy", "stall", "clock", "callback"]


def steady(bpm, seconds):
    return {"name": f"{bpm:g}", "tempo": bpm, "seconds": seconds}


def changes(seconds):
    """A new tempo every few seconds, halfway between two beats: in the middle of the bar, of a loop, of a set."""
    return {"name": "tempo-changes", "tempo": 120, "seconds": seconds, "changes": [140, 97.3, 187.3, 60.7, 120]}


def scene(name, title, kind="beat", period=256, rate=48000, **more):
    return {"name": name, "title": title, "kind": kind, "period": period, "rate": rate, **more}


def scenes(options):
    if options.endurance:
        seconds = options.endurance * 60
        return [scene("endurance", f"64 frames for {options.endurance:g} minutes", "callback", 64, seconds=seconds)]
    all_scenes = quick() if options.quick else full()
    return [s for s in all_scenes if not options.only or s["name"] in options.only]


def quick():
    return [
        scene("self-test", "the method on a click that is known", "exact", offsets=[1000], seconds=2),
        scene("beat", "clicks, jackd, 48 kHz, 256 frames", sections=[steady(187.3, 8), changes(8)]),
        scene("stall", "forced stalls of 60 ms", "stall", realtime=False, rounds=1, victims=["server"]),
        scene("callback", "process callback, 64 frames", "callback", 64, seconds=4),
    ]


def full():
    found = [
        scene("self-test", "the method on a click that is known", "exact", offsets=[0, 1000, -3700], seconds=5),
        scene("beat", "clicks, jackd, 48 kHz, 256 frames",
              sections=[steady(60, 20), steady(120, 101), steady(187.3, 20), changes(25)]),
    ]
    for period in (64, 1024):
        found.append(scene("periods", f"clicks, jackd, 48 kHz, {period} frames", period=period,
                           sections=[steady(187.3, 15)]))
    for rate in (44100, 96000):
        found.append(scene("rates", f"clicks, jackd, {rate / 1000:g} kHz, 256 frames", rate=rate,
                           sections=[steady(187.3, 15)]))
    for period in (256, 1024):
        found.append(scene("pipewire", f"clicks, PipeWire, 48 kHz, {period} frames", period=period, pipewire=True,
                           sections=[steady(187.3, 15), changes(10)][:2 if period == 256 else 1]))
    found += [
        scene("busy", "three busy loops, no real-time scheduling", "busy", realtime=False, seconds=30),
        scene("stall", "forced stalls of 60 ms", "stall", realtime=False, rounds=2,
              victims=["server", "tactus", "LinkHut"]),
        scene("clock", "MIDI clock from odd places", "clock"),
        scene("callback", "process callback, 64 frames", "callback", 64, seconds=12),
    ]
    return found
