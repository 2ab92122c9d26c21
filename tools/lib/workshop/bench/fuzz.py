# SPDX-License-Identifier: GPL-2.0-or-later
"""Feeds 10,000,000 mutated packets (with --quick 200,000, with --runs a number of your choice) to
LinkWire's decoders, and to a LinkSession as if they came from the network, with libFuzzer and the address
sanitizer. Starts from captured packets of real peers. Fails on a crash, an over-read, or a packet that
changes when it is written and read again. The packet is then in a file that libFuzzer names, and the seed
repeats the run.

The harnesses:
    audio   Link Audio's messages, and a LinkAudioSession that believes their senders
    far     series of datagrams of a far wire (1,000,000), for FarLink and a session behind it. The cipher seals
            nothing, so that the fuzzer reaches the code that only senders with the key can reach
    json5   documents for the reader of the configuration, starting from one that uses the whole language
    web     data from browsers: a line of a socket, a request's head, a code
    midi    input at the port "control" (1,000,000 streams), for the map of keys and knobs, the clock that leads,
            and the audio cycle
    bbt     bars and beats that other JACK clients show and request (1,000,000 series), through the audio cycle"""

import lzma
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from .. import build
from ..common import ROOT, fail, shell
from ..options import Parser, within

HARNESS = os.path.join(build.NATIVE, "fuzz")
SANITIZE = "-sanitize=address,fuzzer"
SYSTEM = ["-I", f"{ROOT}/Sources/C"]  # the C modules that Swift imports


class Subject(NamedTuple):
    modules: list[str]
    harness: list[str]  # files of tools/native/fuzz, or of Sources
    things: str
    longest: int
    runs: int  # enough for six to ten minutes: each input is played for a hundred cycles
    quick_runs: int


SUBJECTS = {
    "packets": Subject(["LinkBeatMath", "LinkAddresses", "LinkWire", "LinkSession"], ["fuzz"], "packets", 600, 10_000_000, 200_000),
    "audio": Subject(["LinkBeatMath", "LinkAddresses", "LinkWire", "LinkAudioSession"], ["audio"], "messages", 1250, 10_000_000, 200_000),
    "far": Subject(["LinkBeatMath", "LinkAddresses", "LinkWire", "LinkSession", "FarLink"], ["far"], "series", 2500, 1_000_000, 50_000),
    "json5": Subject(["TactusJSON5"], ["json5"], "documents", 4000, 10_000_000, 200_000),
    "web": Subject(["LinkBeatMath", "LinkAddresses", "LinkSystem", "TactusJSON5", "TactusOSC"],
                   ["web", *(f"{ROOT}/Sources/Control/TactusWeb/{name}" for name in ("JSONLine", "Request", "Handshake", "Secret"))],
                   "inputs", 600, 10_000_000, 200_000),
    "midi": Subject(["LinkBeatMath", "TactusChoices", "TactusSync", "TactusMIDI"], ["midi", "cycles"], "streams", 160, 1_000_000, 50_000),
    "bbt": Subject(["LinkBeatMath", "TactusChoices", "TactusSync"], ["bbt", "cycles"], "series", 400, 1_000_000, 50_000),
}
CHOICES = b"\1" * 16  # the bytes that choose the settings of the harness's `Stage`
SEAL = bytes(16)  # the authentication tag that the harness's cipher expects


def series(*datagrams: bytes) -> bytes:
    """The datagrams in the form that the harness of far wires reads. The odd number makes them all pass to
    the same room."""
    return b"".join(struct.pack(">HB", len(each), 9) + each for each in datagrams)


def far_wire(packets: list[bytes]) -> bytes:
    """A series of datagrams: a hello, its confirmation, a keep-alive with an address, and Link's own
    datagrams."""
    hello = b"\1" + bytes(range(32)) + b"caller!!" + b"\0\0\0\7" + bytes(20) + SEAL
    plain = [b"\0", b"\0\xcb\0\x71\7\x12\x34", *(bytes([2 if each[:8] == b"_link_v\1" else 1]) + each for each in packets), b"\3"]
    return series(hello, *(b"\3\0\0\0\0" + struct.pack(">Q", number + 1) + each + SEAL for number, each in enumerate(plain)))


CORPUS = {
    "web": [b'\0["/tactus/tempo", 128.5e0, -1, "\\u00e9\\ud83c\\udfb5\\n", true, false, null]',
            (b"\1GET http://stage.local:20880/osc?K7QM-3XPA\nHost: stage.local:20880\nOrigin: http://stage.local:20880\nUpgrade: websocket\n"
             b"Connection: keep-alive, Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"
             b"Cookie: a=b; tactus-012345=0123456789ABCDEF"), b"\2o123-4567 89ab-cdef\r\n"],
    "json5": [(rb"""// a
{ a: [1, .5, 0xff, -Infinity, NaN, 1e3,], 'b': "\u00e9\ud83c\udfb5\
\x41\n", /* c */ "c": {d: null, $e: true, """ + "été: false}, }\n".encode())],
    "midi": [(b"note 36 ch 10 = tap\ncc 1 = tempo 60..180, click/volume 2..0\nmmc deferred play = rewind, start now\n"
              b"bend ch 16 = /tactus/click/volume\n"),
             # MIDI clock messages with a Start among them, and an MMC locate.
             CHOICES + b"\2\0\1\10\1\2\2\2\3\2" * 60 + b"\2\3\1\10" + b"\1\10\1\2\2\2\3\2\0\1" * 30
             + b"\1\307\177\177\6\104\6\1\0\0\1\2\3"],
    # The bars and beats of a timebase master with an even tempo.
    "bbt": [CHOICES + b"\3\1\1\2\50\17\1\0\1\1\1\1\1\1\1\1" * 80],
}


CAPTURES = {"packets": ["linkhut.pcap"],
            "audio": ["mono-resubscribed.pcap.xz", "stereo-tempo.pcap.xz", "sixty-channels.pcap.xz"]}
OF_A_KIND = 200


def captured(name: str) -> list[bytes]:
    """The packets in captures of real peers. Of thousands of similar packets, only some are taken."""
    seen = dict[tuple[bytes, int], set[bytes]]()
    for capture in CAPTURES[name]:
        data = pathlib.Path(ROOT, "Tests", "captures", capture).read_bytes()
        data = lzma.decompress(data) if capture.endswith(".xz") else data
        at = 24
        while at + 16 <= len(data):
            size = struct.unpack_from("<I", data, at + 8)[0]
            frame = data[at + 16:at + 16 + size]
            packet = frame[14 + (frame[14] & 15) * 4 + 8:]
            alike = seen.setdefault((packet[:9], len(packet)), set())
            if len(alike) < OF_A_KIND:
                alike.add(packet)
            at += 16 + size
    return sorted(packet for alike in seen.values() for packet in alike)


def corpus(name: str) -> list[bytes]:
    if name != "far":
        return captured(name)
    packets = captured("packets")
    return [far_wire(packets[first:first + 6]) for first in range(0, len(packets), 6)]


def compiled(subject: Subject, work: str) -> str:
    sources = {module: build.swift_files(module) for module in subject.modules}
    sources["Fuzz"] = [os.path.join(HARNESS, f"{name}.swift") for name in subject.harness]
    objects = [build.swift_module(name, files, work, SANITIZE, *SYSTEM) for name, files in sources.items()]
    # Capture the linker's output, because it warns of a hundred symbols of the sanitizer.
    linked = subprocess.run(["swiftc", SANITIZE, *objects, "-o", f"{work}/fuzz"], check=False, capture_output=True, text=True)
    if linked.returncode != 0:
        fail("bench fuzz", f"the harness does not link\n{linked.stderr}", 1)
    return f"{work}/fuzz"


def arguments(parser: Parser) -> None:
    parser.add_argument("subject", nargs="?", choices=SUBJECTS, default="packets", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--runs", type=within(1), metavar="N", help="as many")
    parser.add_argument("--seed", type=within(0), default=20808, metavar="N", help="(20808)")


def ready(_: object) -> None:
    shell("need_swift")


def measure(options: Any) -> tuple[object, bool]:
    name, subject = options.subject, SUBJECTS[options.subject]
    with tempfile.TemporaryDirectory() as work:
        program = compiled(subject, work)
        os.mkdir(f"{work}/corpus")
        for number, seed in enumerate(CORPUS.get(name) or corpus(name)):
            pathlib.Path(work, "corpus", str(number)).write_bytes(seed)
        runs = options.runs or (subject.quick_runs if options.quick else subject.runs)
        # Swift's backtracer would delay the end after a crash. Swift's runtime keeps
        # memory for good, which the sanitizer would report as a leak.
        environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", ASAN_OPTIONS="detect_leaks=0")
        began = time.monotonic()
        done = subprocess.run([program, f"-runs={runs}", f"-seed={options.seed}", f"-max_len={subject.longest}",
                               "-print_final_stats=1", f"-artifact_prefix={os.getcwd()}/", f"{work}/corpus"], check=False,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        sys.stderr.write("\n".join(done.stdout.splitlines()[-40:]) + "\n")
        fail("bench fuzz", f"seed {options.seed}: one of the {subject.things} did harm", 1)
    seconds = int(time.monotonic() - began)
    executed = int(re.findall(r"^stat::number_of_executed_units: *(\d+)", done.stdout, re.MULTILINE)[-1])
    covered = int(re.findall(r"cov: (\d+)", done.stdout)[-1])
    print(f"fuzz: {executed} {subject.things} in {seconds} s, seed {options.seed}, {covered} branches reached: "
          "no crash, no over-read")
    return {subject.things: executed, "seconds": seconds, "seed": options.seed, "branches": covered}, True
