# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of a scene: the listener, LinkHut (through the lab's driver), tactus, jack_midi_clock."""

import array
import json
import mmap
import os
import subprocess
import sys
import time

TOOLS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOOLS, "lib"))

import ear

TIMES = "/dev/shm/callback-time"


class Ear(ear.Ear):
    """What it prints is passed on, and its reports are waited for."""

    def __init__(self, program, options, say):
        self.say = say
        super().__init__(program, options)

    def hear(self, message):
        if message["type"] not in ("peers", "looked"):
            self.say(message)
        if message["type"] in ("ready", "peers", "looked", "end"):
            self.inbox.put(message)

    def next(self, seconds):
        try:
            return super().next(seconds)
        except ear.Deaf as deaf:
            raise SystemExit(str(deaf))

    def wait_ready(self):
        self.wait("ready", 30)

    def wait_peers(self, count):
        for _ in range(100):
            self.tell("peers")
            if self.wait("peers", 5)["count"] >= count:
                return
            time.sleep(0.1)
        self.say({"type": "note", "text": f"fewer than {count} Link peers in the session after 10 s"})

    def report(self):
        self.tell("report")
        self.wait("end", 60)

    def end(self):
        self.process.stdin.close()
        self.process.stdout = None
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Timed:
    """A program whose process callback is timed when it was started with the interposer."""

    def environment(self, preload):
        self.timed = preload is not None
        return dict(os.environ, LD_PRELOAD=preload, CALLBACK_TIME=TIMES) if preload else dict(os.environ)

    def calls(self):
        with open(f"{TIMES}.{self.process}", "rb") as file:
            log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        count = int.from_bytes(log[:8], "little")
        values = array.array("I")
        values.frombytes(log[8:8 + 8 * count])
        return values[0::2], values[1::2]

    def forget_times(self):
        self.skip = len(self.calls()[0])

    def times(self):
        elapsed, cpu = (sorted(values[self.skip:]) for values in self.calls())

        def figures(values):
            at = [values[min(len(values) - 1, int(len(values) * part))] / 1000 for part in (0.5, 0.99, 0.999)]
            return {"median": at[0], "p99": at[1], "p99.9": at[2], "max": values[-1] / 1000}

        return {"calls": len(elapsed), "elapsed_us": figures(elapsed), "cpu_us": figures(cpu)}


class Tactus(Timed):
    def __init__(self, program, preload=None, options=("--click", "--clock=always")):
        self.child = subprocess.Popen([program, "--name", "tactus", *options], env=self.environment(preload),
                                      stdin=subprocess.DEVNULL, stdout=sys.stderr)
        self.process = self.child.pid

    def end(self):
        self.child.terminate()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()


class Least(Timed):
    """Does nothing, or adds in a register for some microseconds: what its callback takes beyond is the machine's."""

    def __init__(self, program, preload, *options):
        self.child = subprocess.Popen([program, *options], env=self.environment(preload), stdin=subprocess.DEVNULL)
        self.process = self.child.pid

    def end(self):
        self.child.kill()
        self.child.wait()


class LinkHut(Timed):
    def __init__(self, preload=None):
        self.driver = subprocess.Popen([os.environ["LAB"], "peer", "linkhut"], env=self.environment(preload),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = self.ask("status")["pid"]

    def ask(self, line):
        self.driver.stdin.write(line + "\n")
        self.driver.stdin.flush()
        answer = json.loads(self.driver.stdout.readline() or '{"ok": false, "error": "it ended"}')
        if not answer["ok"]:
            raise SystemExit(f"LinkHut: {line}: {answer['error']}")
        return answer

    def join_and_play(self, others):
        self.ask("enable on")
        self.ask(f"wait peers {others} 10")
        self.ask("play")

    def end(self):
        self.driver.stdin.close()
        try:
            self.driver.wait(5)
        except subprocess.TimeoutExpired:
            self.driver.kill()


def server_process():
    """jackd, or the PipeWire that runs the graph: the only one in this lab."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with open(f"/proc/{entry}/comm") as file:
                if file.read().strip() in ("jackd", "pipewire"):
                    return int(entry)
    raise SystemExit("no server runs in this lab")


def not_finished():
    """Whom jackd found late, and how often."""
    counts = {}
    path = os.path.join(os.environ.get("LAB_DIR", ""), "jackd-1.log")
    if os.path.exists(path):
        with open(path, errors="replace") as file:
            for line in file:
                if "was not finished" in line and "client = " in line:
                    name = line.split("client = ")[1].split()[0]
                    counts[name] = counts.get(name, 0) + 1
    return counts


def jack_midi_clock(listen, say):
    """Its grid is JACK transport's, so that is what it is judged by: a plain timebase master, from two frames."""
    for bpm, frame in ((120, 0), (97, 100_001)):
        player = subprocess.Popen(["jack_midi_clock"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ear = Ear(listen, ["--events", "--timebase", str(bpm), "--song", str(bpm), "--latency", "0",
                           "jack_midi_clock:mclk_out"], say)
        ear.wait_ready()
        ear.tell(f"locate {frame}")
        time.sleep(0.5)
        ear.tell(f"section from_{frame}")
        ear.tell("roll")
        time.sleep(6)
        ear.tell("halt")
        ear.report()
        ear.end()
        player.terminate()
        player.wait()
