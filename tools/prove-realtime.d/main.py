# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/prove-realtime: the four proofs, each with its counter-proof. Each proof returns a list of what is wrong;
the counter-proof runs the same proof on something that is wrong, and is content only if it says so."""

import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reach

HERE = os.path.dirname(os.path.abspath(__file__))
PLANTS = ["MALLOC", "FREE", "LOCK", "CLOCK", "WRITE", "FUTEX"]
EMBEDDED = ["swiftc", "-swift-version", "6", "-parse-as-library", "-O", "-wmo"]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def must(command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        sys.exit(f"prove-realtime: {' '.join(command[:6])} ... failed\n{done.stdout[-3000:]}")
    return done.stdout


def build(root, *options):
    must(["swift", "build", "--package-path", root, "--quiet", *options])


# ---- the compiler's annotations

def callbacks(root):
    """Every function that JACKHost gives to libjack for the audio thread or for threads that may be it."""
    found = {}
    folder = f"{root}/Sources/JACKHost"
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}") as file:
            text = file.read()
        for call in re.finditer(r"jack_set_\w+_callback\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text):
            arguments = [argument.strip() for argument in call.group(1).split(",")]
            # `nil` takes one back.
            if arguments[-2] != "nil":
                found[arguments[-2]] = name
    return found


def annotated(root, names):
    """What is wrong with how the callbacks are written."""
    folder = f"{root}/Sources/JACKHost"
    text = "".join(open(f"{folder}/{name}").read() for name in sorted(os.listdir(folder)))
    wrong = []
    if not names:
        wrong.append("found no callback at all")
    for name in names:
        if not re.fullmatch(r"\w+", name):
            wrong.append(f"a JACK callback is not a named function: {name}")
        elif not re.search(rf"@_noLocks @_noAllocation\n(private |fileprivate )?func {name}\(", text):
            wrong.append(f"{name} is not marked @_noLocks @_noAllocation")
    return wrong


def prove_annotations(root, _):
    names = callbacks(root)
    wrong = annotated(root, names)
    # Both: a function of another module may be accepted in one and rejected in the other.
    for configuration in ["debug", "release"]:
        done = run(["swift", "build", "--package-path", root, "-c", configuration, "--product", "tactus"])
        if done.returncode != 0:
            wrong.append(f"the {configuration} build is refused:\n{done.stdout[-2000:]}")
    print(f"  {len(names)} callbacks given to libjack, all marked; debug and release builds pass the checks")
    return wrong


def counter_annotations(root, scratch):
    sins = {
        "allocates": "final class Box { var n = 0 }\nfunc sin() -> Int { let box = Box(); keep = box; return 0 }\n"
                     "nonisolated(unsafe) var keep: Box?",
        "calls C that is not on the list": "import CJACK\nfunc sin() -> Int { Int(jack_get_time()) }",
    }
    missed = []
    for what, text in sins.items():
        # In a file of its own and without a mark, as most of HostSync is.
        paths = [f"{scratch}/sin.swift", f"{scratch}/callback.swift"]
        texts = [text, "@_noLocks @_noAllocation\npublic func callback() -> Int { sin() }"]
        for path, content in zip(paths, texts):
            with open(path, "w") as file:
                file.write(content + "\n")
        done = run(["swiftc", "-swift-version", "6", "-parse-as-library", "-wmo", "-I",
                    f"{root}/Sources/CJACK", "-c", *paths, "-o", f"{scratch}/sin.o"])
        if done.returncode == 0 or "error:" not in done.stdout:
            missed.append(f"the compiler accepts a callback that {what}")
    return missed, len(sins)


# ---- reachability

def prove_reach(root, _, plant=None):
    build(root, "-c", "release", "--product", "tactus")
    program = f"{root}/.build/release/tactus"
    names = [plant] if plant else list(callbacks(root))
    result = reach.walk(program, names, reach.allow_list(f"{root}/Sources/CJACK/shim.h"))
    if not plant:
        print(f"  {len(result.functions)} functions reachable; they call {', '.join(sorted(result.external))}")
    return result.wrong


def counter_reach(root, scratch):
    wrong = prove_reach(root, scratch, plant="main")
    return ([] if wrong else ["the program's main function passes for real-time code"]), 1


# ---- RealtimeSanitizer

def play(root, scratch, *flags):
    objects = []
    for module in ["BeatMath", "Choices", "HostSync"]:
        sources = [f"{root}/Sources/{module}/{name}" for name in sorted(os.listdir(f"{root}/Sources/{module}"))]
        target = f"{scratch}/{module}.o"
        if not os.path.exists(target):
            must([*EMBEDDED, "-I", scratch, "-module-name", module, "-emit-module", "-emit-module-path",
                  f"{scratch}/{module}.swiftmodule", "-c", *sources, "-o", target])
        objects.append(target)
    program = f"{scratch}/play"
    must([*EMBEDDED, "-I", scratch, *flags, f"{HERE}/play.swift", *objects, "-o", program,
          "-Xclang-linker", "-fsanitize=realtime"])
    return run([program], env=dict(os.environ, RTSAN_OPTIONS="halt_on_error=true"))


def prove_rtsan(root, scratch):
    done = play(root, scratch)
    print("  " + (done.stdout.strip().splitlines() or ["nothing was played"])[-1])
    return [] if done.returncode == 0 else [done.stdout[-3000:]]


def counter_rtsan(root, scratch):
    missed = []
    for sin in ["ALLOCATION", "LOCK"]:
        done = play(root, scratch, "-D", f"PLANT_{sin}")
        if done.returncode == 0 or "RealtimeSanitizer" not in done.stdout:
            missed.append(f"RealtimeSanitizer does not see a planted {sin.lower()}")
    return missed, 2


# ---- the interposer

def compile_interposer(scratch):
    if os.path.exists(f"{scratch}/interposer.so"):
        return
    flags = ["clang", "-O2", "-Wall", "-Werror", "-fPIC", "-shared"]
    must([*flags, "-o", f"{scratch}/interposer.so", f"{HERE}/interposer.c", "-ldl", "-pthread"])
    for plant in PLANTS:
        must([*flags, f"-DPLANT={plant}", "-o", f"{scratch}/plant-{plant}.so", f"{HERE}/plant.c", "-ldl"])


def watch(root, scratch, server, seconds, plant=None, program=None):
    """Runs the stage, or the program with a life around it, under the watch in a lab; what the report says."""
    report = f"{scratch}/report"
    for name in [report, report + ".stacks"]:
        if os.path.exists(name):
            os.unlink(name)
    preload = f"{scratch}/interposer.so" + (f":{scratch}/plant-{plant}.so" if plant else "")
    lab = [f"{root}/tools/lab", *(["--pipewire"] if server == "pipewire" else []), "--"]
    stage = f"{root}/.build/release/RealtimeStage"
    if program:
        command = [f"{HERE}/scene", preload, str(seconds), f"{root}/.build/release/{program}", stage]
    else:
        command = ["env", f"LD_PRELOAD={preload}", stage, str(seconds)]
    done = run([*lab, *command], env=dict(os.environ, REALTIME_REPORT=report))
    if done.returncode != 0:
        sys.exit(f"prove-realtime: the stage failed ({done.returncode}) on {server}\n{done.stdout[-2000:]}")
    # The stage has no hand at the surface, the program's scene has.
    has_osc = program is not None
    return Report(report, done.stdout.strip(), has_osc)


class Report:
    """What interposer.c writes."""

    def __init__(self, path, said, has_osc):
        self.has_osc = has_osc
        self.said = said.splitlines()[-1] if said else ""
        with open(path, "rb") as file:
            data = file.read()
        (magic, self.cycles, self.sync, self.timebase, self.audible, self.midi, self.watched,
         self.violations) = struct.unpack_from("<8Q", data)
        if magic != 0x52544D45:
            sys.exit("prove-realtime: the interposer was not loaded")
        self.kinds = {}
        for place in range(64, len(data), 32):
            name, count = struct.unpack_from("<24sQ", data, place)
            if count:
                self.kinds[name.split(b"\0")[0].decode()] = count
        with open(path + ".stacks") as file:
            self.stacks = file.read()


def prove_interposer(root, scratch, seconds=8):
    build(root, "-c", "release", "--product", "RealtimeStage")
    build(root, "-c", "release", "--product", "tactus")
    compile_interposer(scratch)
    wrong = []
    for server in ["jackd", "pipewire"]:
        for program in ["tactus", None]:
            report = watch(root, scratch, server, seconds, program=program)
            print(f"  {program or 'the stage'} on {server}: {report.cycles} process, {report.sync} sync and "
                  f"{report.timebase} timebase callbacks watched, {report.audible} cycles with sound, "
                  f"{report.midi} MIDI events, {report.violations} violations"
                  + (f" ({report.said})" if report.said else ""), flush=True)
            wrong += judge(report, f"{program or 'the stage'} on {server}", program)
    return wrong


def judge(report, what, program):
    wrong = []
    if report.violations:
        wrong.append(f"{what}: {report.kinds}\n{report.stacks[:6000]}")
    if report.cycles < 100 or report.audible == 0 or report.midi == 0:
        wrong.append(f"{what}: too little happened to prove anything")
    if program and (report.sync == 0 or report.timebase == 0):
        wrong.append(f"{what}: its sync or timebase callback was never called")
    if report.has_osc and not re.search(r"sent, [1-9]", report.said):
        wrong.append(f"{what}: it never answered OSC")
    if not report.watched:
        print("  (this kernel can't hand system calls back: only those that libc's names lead to were watched)")
    return wrong


def counter_interposer(root, scratch):
    missed = []
    for plant in PLANTS:
        report = watch(root, scratch, "jackd", 2, plant)
        if report.violations == 0 and not (plant in ["WRITE", "FUTEX"] and not report.watched):
            missed.append(f"the interposer does not see one planted {plant.lower()}")
    return missed, len(PLANTS)


PROOFS = {
    "annotations": (prove_annotations, counter_annotations),
    "reach": (prove_reach, counter_reach),
    "rtsan": (prove_rtsan, counter_rtsan),
    "interposer": (prove_interposer, counter_interposer),
}


def main(root, arguments):
    if arguments[:1] == ["--seconds"] and len(arguments) > 1 and arguments[1].isdigit():
        global prove_interposer
        seconds = int(arguments[1])
        PROOFS["interposer"] = (lambda r, s: prove_interposer(r, s, seconds), counter_interposer)
        arguments = arguments[2:]
    unknown = [name for name in arguments if name not in PROOFS]
    if unknown:
        sys.exit(f"prove-realtime: no proof is called {unknown[0]}; there are {', '.join(PROOFS)}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="prove-realtime-") as scratch:
        for name in arguments or PROOFS:
            prove, counter = PROOFS[name]
            print(name, flush=True)
            wrong = prove(root, scratch)
            missed, planted = counter(root, scratch)
            for line in wrong + missed:
                print(f"  WRONG: {line}")
            failed = failed or bool(wrong or missed)
            print(f"  {'FAILED' if wrong else 'holds'}; {planted - len(missed)} of {planted} planted sins found",
                  flush=True)
    sys.exit(1 if failed else 0)


main(sys.argv[1], sys.argv[2:])
