# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves that the audio thread never allocates, frees, locks, waits or makes a system call, in four ways that
know nothing of each other, and that each of them fails when such a sin is planted:
  annotations   the compiler checks every function that a JACK callback can reach
  reach         a walk over the release program's machine code finds only the C calls that CJACK's shim allows
  rtsan         HostSync plays an hour, LinkAudioPath ten minutes under RealtimeSanitizer
  interposer    the release program runs under a watch of its audio thread, on jackd and on PipeWire, N seconds
                each (8), while everything around it changes: Link peers, OSC, transport, connections, periods
Ends with 0 if every proof held and every planted sin was found."""

import glob
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from .. import build
from ..common import LAB, ROOT, module, package_list, shell
from ..options import Parser, within
from . import reach

# Each proof returns a list of errors. A counter-proof runs the same proof on planted errors. It returns the
# errors that the proof missed, and how many were planted.
Missed = tuple[list[str], int]
PLANTS = ["MALLOC", "FREE", "LOCK", "CLOCK", "WRITE", "FUTEX"]


def run(command: Sequence[str], **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment})


# ---- the compiler's annotations

def host_source() -> str:
    return "".join(pathlib.Path(path).read_text() for path in build.swift_files("TactusJACK"))


def callbacks() -> list[str]:
    """All functions that JACKHost gives to libjack as callbacks for the audio thread, or for threads that
    may be the audio thread. `nil` removes a callback and does not count."""
    calls = re.findall(r"jack_set_\w+_callback\(([^()]*(?:\([^()]*\)[^()]*)*)\)", host_source())
    return list(dict.fromkeys(name for call in calls if (name := call.split(",")[-2].strip()) != "nil"))


def annotated(names: list[str]) -> list[str]:
    """The errors in the annotations of the callbacks."""
    text, wrong = host_source(), [] if names else ["found no callback at all"]
    for name in names:
        if not re.fullmatch(r"\w+", name):
            wrong.append(f"a JACK callback is not a named function: {name}")
        elif not re.search(rf"@_noLocks @_noAllocation\n(private |fileprivate )?func {name}\(", text):
            wrong.append(f"{name} is not marked @_noLocks @_noAllocation")
    return wrong


def prove_annotations(_: str) -> list[str]:
    names = callbacks()
    wrong = annotated(names)
    # Check the debug and the release build: one may accept a function of another module that the other
    # rejects. With tools/test, the release build is done already, with the same checks.
    configurations = ["debug"] if "TACTUS_PRODUCTS" in os.environ else ["debug", "release"]
    for configuration in configurations:
        done = run(["swift", "build", "--package-path", ROOT, "-c", configuration, "--target", "TactusJACK", "--no-color-diagnostics"])
        if done.returncode != 0:
            wrong.append(f"the {configuration} build is refused:\n{done.stdout[-2000:]}")
    print(f"  {len(names)} callbacks given to libjack, all marked; debug and release builds pass the checks")
    return wrong


def counter_annotations(scratch: str) -> Missed:
    sins = {
        "allocates": "final class Box { var n = 0 }\nfunc sin() -> Int { let box = Box(); keep = box; return 0 }\n"
                     "nonisolated(unsafe) var keep: Box?",
        "calls C that is not on the list": "import CTactusJACK\nfunc sin() -> Int { Int(jack_get_time()) }",
    }
    missed = []
    for what, text in sins.items():
        # The planted error is in a separate file without an annotation, because most files of HostSync have
        # no annotation either.
        paths = [f"{scratch}/sin.swift", f"{scratch}/callback.swift"]
        for path, content in zip(paths, [text, "@_noLocks @_noAllocation\npublic func callback() -> Int { sin() }"]):
            pathlib.Path(path).write_text(content + "\n")
        done = run(["swiftc", "-swift-version", "6", "-parse-as-library", "-wmo", "-I", f"{ROOT}/Sources/C/CTactusJACK", "-c", *paths,
                    "-o", f"{scratch}/sin.o"])
        if done.returncode == 0 or "error:" not in done.stdout:
            missed.append(f"the compiler accepts a callback that {what}")
    return missed, len(sins)


# ---- reachability

def prove_reach(_: str, plant: str | None = None) -> list[str]:
    names = [plant] if plant else callbacks()
    result = reach.walk(build.product("tactus"), names, reach.allow_list(f"{ROOT}/Sources/C/CTactusJACK/shim.h"))
    if not plant:
        print(f"  {len(result.functions)} functions reachable; they call {', '.join(sorted(result.external))}")
    return result.wrong


def counter_reach(scratch: str) -> Missed:
    wrong = prove_reach(scratch, plant="main")
    return ([] if wrong else ["the program's main function passes for real-time code"]), 1


# ---- RealtimeSanitizer

def play(scratch: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    """Plays the modules as they are in the release. They call no allocator themselves, so the sanitizer
    sees every call that they cause."""
    release = os.path.dirname(build.product("tactus"))
    objects = [path for name in ["LinkBeatMath", "TactusChoices", "TactusSync", "LinkAudioPath"] for path in glob.glob(f"{release}/{name}.build/*.o")]
    program = f"{scratch}/play"
    sources = [f"{build.NATIVE}/{name}.swift" for name in ["play", "channel", "fuzz/cycles"]]
    done = run(["swiftc", "-swift-version", "6", "-parse-as-library", "-O", "-wmo", "-I", f"{release}/Modules",
                "-package-name", os.path.basename(ROOT).lower(), *flags, *sources, *objects,
                "-o", program, "-Xclang-linker", "-fsanitize=realtime"])
    if done.returncode != 0:
        sys.exit(f"prove-realtime: the hour of cycles does not compile\n{done.stdout[-3000:]}")
    return run([program], RTSAN_OPTIONS="halt_on_error=true")


def prove_rtsan(scratch: str) -> list[str]:
    done = play(scratch)
    for line in (done.stdout.strip().splitlines() or ["nothing was played"])[-2:]:
        print("  " + line)
    return [] if done.returncode == 0 else [done.stdout[-3000:]]


def counter_rtsan(scratch: str) -> Missed:
    missed = []
    for sin in ["ALLOCATION", "LOCK"]:
        done = play(scratch, "-D", f"PLANT_{sin}")
        if done.returncode == 0 or "RealtimeSanitizer" not in done.stdout:
            missed.append(f"RealtimeSanitizer does not see a planted {sin.lower()}")
    return missed, 2


# ---- the interposer

def watch(scratch: str, server: str, seconds: int, plant: str | None = None, program: str | None = None) -> "Report":
    """Runs the stage, or the program with changes all around it, under the interposer in a lab. Returns its
    report."""
    report = f"{scratch}/report"
    pathlib.Path(report).unlink(missing_ok=True)
    preload = ":".join([build.native("interposer")] + ([build.native("plant", f"-DPLANT={plant}")] if plant else []))
    stage = build.product("RealtimeStage")
    command = ["env", f"LD_PRELOAD={preload}", stage, str(seconds)]
    if program:
        command = module("proofs.scene", preload, str(seconds), program, stage)
    done = run([LAB, *(["--pipewire"] if server == "pipewire" else []), "--", *command], REALTIME_REPORT=report)
    if done.returncode != 0:
        sys.exit(f"prove-realtime: the stage failed ({done.returncode}) on {server}\n{done.stdout[-2000:]}")
    # For the real program, the scene sends OSC commands; the harness `Stage` gets none.
    return Report(report, done.stdout.strip(), program is not None)


class Report:
    """The report that interposer.c writes."""

    def __init__(self, path: str, said: str, has_osc: bool) -> None:
        self.has_osc, self.said = has_osc, said.splitlines()[-1] if said else ""
        data = pathlib.Path(path).read_bytes()
        (magic, self.cycles, self.sync, self.timebase, self.audible, self.midi, self.watched,
         self.violations) = struct.unpack_from("<8Q", data)
        if magic != 0x52544D45:
            sys.exit("prove-realtime: the interposer was not loaded")
        self.kinds = {name.split(b"\0")[0].decode(): count for name, count in struct.iter_unpack("<24sQ", data[64:]) if count}
        self.stacks = pathlib.Path(path + ".stacks").read_text()


def prove_interposer(scratch: str, seconds: int = 8) -> list[str]:
    wrong: list[str] = []
    for server in ["jackd", "pipewire"]:
        for program in [build.product("tactus"), None]:
            report = watch(scratch, server, seconds, program=program)
            what = f"{'tactus' if program else 'the stage'} on {server}"
            print(f"  {what}: {report.cycles} process, {report.sync} sync and "
                  f"{report.timebase} timebase callbacks watched, {report.audible} cycles with sound, "
                  f"{report.midi} MIDI events, {report.violations} violations"
                  + (f" ({report.said})" if report.said else ""), flush=True)
            wrong += judge(report, what)
    return wrong


def judge(report: Report, what: str) -> list[str]:
    if not report.watched:
        print("  (this kernel can't hand system calls back: only those that libc's names lead to were watched)")
    claims = {f"{report.kinds}\n{report.stacks[:6000]}": report.violations == 0,
              "too little happened to prove anything": report.cycles >= 100 and report.audible and report.midi,
              "its sync or timebase callback was never called": not report.has_osc or report.sync and report.timebase,
              "it never answered OSC": not report.has_osc or re.search(r"sent, [1-9]", report.said)}
    return [f"{what}: {claim}" for claim, holds in claims.items() if not holds]


def counter_interposer(scratch: str) -> Missed:
    missed = []
    for plant in PLANTS:
        report = watch(scratch, "jackd", 2, plant)
        if report.violations == 0 and not (plant in ["WRITE", "FUTEX"] and not report.watched):
            missed.append(f"the interposer does not see one planted {plant.lower()}")
    return missed, len(PLANTS)


PROOFS: dict[str, tuple[Callable[..., list[str]], Callable[[str], Missed]]] = {
    "annotations": (prove_annotations, counter_annotations),
    "reach": (prove_reach, counter_reach),
    "rtsan": (prove_rtsan, counter_rtsan),
    "interposer": (prove_interposer, counter_interposer),
}


def main(words: list[str]) -> int:
    parser = Parser("prove-realtime", __doc__)
    parser.add_argument("--seconds", type=within(1), default=8, metavar="N", help="of the interposer's watch on each server (8)")
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help=f"{', '.join(PROOFS)}; all without names")
    options = parser.parse_args(words)
    if unknown := set(options.proofs) - set(PROOFS):
        parser.error(f"{unknown.pop()}: no such proof")
    shell("need_packages", *package_list("build_packages"), "binutils")
    build.lab()
    failed = False
    with tempfile.TemporaryDirectory(prefix="prove-realtime-") as scratch:
        for name in options.proofs or PROOFS:
            prove, counter = PROOFS[name]
            print(name, flush=True)
            wrong = prove(scratch, options.seconds) if name == "interposer" else prove(scratch)
            missed, planted = counter(scratch)
            for line in wrong + missed:
                print(f"  WRONG: {line}")
            failed = failed or bool(wrong or missed)
            print(f"  {'FAILED' if wrong else 'holds'}; {planted - len(missed)} of {planted} planted sins found",
                  flush=True)
    return 1 if failed else 0
