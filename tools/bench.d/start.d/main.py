# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/bench start: inside the lab. First packets are taken from the multicast group itself, memory and processor time
from the kernel's own books."""

import argparse
import ctypes
import fcntl
import json
import os
import pty
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import processor  # noqa: E402

GROUP = ("224.76.78.75", 20808)
MAGIC = b"_asdp_v"
PATIENCE = 20  # seconds


def listen():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(GROUP)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    struct.pack("4s4s", socket.inet_aton(GROUP[0]), socket.inet_aton("127.0.0.1")))
    return sock


class Program:
    """In a terminal, as a user would start it. LinkHut comes with Link disabled and takes a key to enable it: that key
    lies in the terminal before it starts, so that no finger is measured."""

    def __init__(self, name, command, keys, home):
        self.name, self.command, self.keys = name, command, keys
        self.environment = dict(os.environ, HOME=home, TERM="xterm", XDG_CONFIG_HOME="", XDG_STATE_HOME="")

    def start(self):
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        os.write(self.terminal, self.keys)
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=inner, stdout=inner, stderr=inner, close_fds=True,
                                        env=self.environment)
        os.close(inner)

    def drain(self, seconds):
        """A terminal that nobody reads would hold the program up."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                try:
                    os.read(self.terminal, 65536)
                except OSError:
                    break

    def first_packet(self, sock):
        end = self.began + PATIENCE
        while (left := end - time.monotonic()) > 0:
            ready = select.select([sock, self.terminal], [], [], left)[0]
            if self.terminal in ready:
                try:
                    os.read(self.terminal, 65536)
                except OSError:
                    break
            if sock in ready:
                data = sock.recv(2048)
                if data.startswith(MAGIC):
                    return (time.monotonic() - self.began) * 1000
        raise SystemExit(f"bench start: no Link packet of {self.name} within {PATIENCE} s")

    def stop(self):
        if self.name == "LinkHut":
            os.write(self.terminal, b"q")
        else:
            self.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 5
        while self.process.poll() is None and time.monotonic() < end:
            self.drain(0.02)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def memory(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line and "-" not in line.split(":")[0])
        kilobytes = {key: int(fields[key].split()[0]) for key in ("Rss", "Private_Clean", "Private_Dirty")}
        with open(f"/proc/{self.process.pid}/status") as file:
            shared = next(int(line.split()[1]) for line in file if line.startswith("RssShmem:"))
        return {"resident_kB": kilobytes["Rss"], "jack_shared_kB": shared,
                "private_kB": kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]}


def starts(programs, rounds):
    sock = listen()
    found = {program.name: [] for program in programs}
    for number in range(rounds):
        for program in programs if number % 2 == 0 else reversed(programs):
            sock.setblocking(False)
            try:
                while True:
                    sock.recv(2048)
            except BlockingIOError:
                pass
            program.start()
            found[program.name].append(round(program.first_packet(sock), 1))
            program.drain(0.1)
            program.stop()
            time.sleep(0.1)
    return found


class Hand:
    """Somebody at a patchbay."""

    def __init__(self):
        self.jack = ctypes.CDLL("libjack.so.0")
        self.jack.jack_client_open.restype = ctypes.c_void_p
        self.client = ctypes.c_void_p(self.jack.jack_client_open(b"hand", 1, None))
        self.jack.jack_activate(self.client)

    def plug(self, connect):
        call = self.jack.jack_connect if connect else self.jack.jack_disconnect
        if call(self.client, b"tactus:click_1", b"system:playback_1") != 0:
            raise SystemExit("bench start: tactus:click_1 can't be connected")


def wakes(tactus, home, rounds):
    """With --life=auto, in the background: from jack_connect until Link's first packet after its rest. LinkHut has no
    such life."""
    sock, hand, found = listen(), Hand(), []
    environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME="", XDG_STATE_HOME="")
    process = subprocess.Popen([tactus, "--life=auto", "--no-osc"], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)

    def says(start):
        for line in process.stdout:
            if line.startswith(start):
                return
        raise SystemExit(f"bench start: tactus ended before it said: {start}")

    says("JACK server")
    for number in range(rounds):
        # It rests from the start on, and again after each connection.
        says("Ableton Link rests")
        # Not in step with anything of its own.
        time.sleep(0.1 + 0.0137 * number)
        while select.select([sock], [], [], 0)[0]:
            sock.recv(2048)
        began = time.monotonic()
        hand.plug(True)
        while select.select([sock], [], [], PATIENCE)[0] and not sock.recv(2048).startswith(MAGIC):
            pass
        found.append(round((time.monotonic() - began) * 1000, 1))
        hand.plug(False)
    process.terminate()
    process.wait()
    return found


def rest(program, seconds):
    program.start()
    program.drain(3)
    before, began = processor.used(program.process.pid), time.monotonic()
    program.drain(seconds)
    percent = (processor.used(program.process.pid) - before) / (time.monotonic() - began) / 1e7
    result = dict(program.memory(), idle_percent=round(percent, 2),
                  threads=len(os.listdir(f"/proc/{program.process.pid}/task")))
    program.stop()
    return result


def main():
    parser = argparse.ArgumentParser(prog="tools/bench start", add_help=False)
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        programs = [Program("tactus", [options.program], b"", home), Program("LinkHut", ["LinkHut"], b"a", home)]
        times = starts(programs, 5 if options.quick else 21)
        result = {
            program.name: dict(first_packet_ms=times[program.name], **rest(program, 5 if options.quick else 25))
            for program in programs
        }
        result["tactus"]["after_connection_ms"] = wakes(options.program, home, 5 if options.quick else 11)
    if options.json != "-":
        print(f"{'':<34} {'tactus':>22} {'LinkHut':>22}")
        def spread(values):
            return f"{statistics.median(values):.1f} ({min(values):.1f}...{max(values):.1f})" if values else "-"

        rows = [
            ("first Link packet after, ms", lambda r: spread(r["first_packet_ms"])),
            ("... after a connection, at rest", lambda r: spread(r.get("after_connection_ms"))),
            ("resident memory, MB", lambda r: f"{r['resident_kB'] / 1024:.1f}"),
            ("  without JACK's shared memory, MB", lambda r: f"{(r['resident_kB'] - r['jack_shared_kB']) / 1024:.1f}"),
            ("  its own alone, MB", lambda r: f"{r['private_kB'] / 1024:.1f}"),
            ("processor when idle, %", lambda r: f"{r['idle_percent']:.2f}"),
            ("threads", lambda r: str(r["threads"])),
        ]
        for words, value in rows:
            print(f"{words:<34} {value(result['tactus']):>22} {value(result['LinkHut']):>22}")
    if options.json:
        text = json.dumps(result, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            with open(options.json, "w") as file:
                file.write(text)


main()
