# SPDX-License-Identifier: GPL-2.0-or-later
"""A private JACK server per host: jackd with the dummy driver, or PipeWire with its own libjack."""

import os
import socket
import sys
import time
from types import SimpleNamespace

from ..common import LIB
from .hosts import Host
from .kernel import fail

READY_WITHIN = 10.0  # seconds; a busy machine starts jackd in 0.2 to 1


class Starting:
    """A server that does not take clients yet."""

    def __init__(self, what: str, log: str, pid: int, path: str) -> None:
        self.what, self.log, self.pid, self.path = what, log, pid, f"/proc/{pid}/root{path}"

    def takes_clients(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            return client.connect_ex(self.path) == 0

    def wait(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while not self.takes_clients():
            gone = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
            if gone or time.monotonic() > deadline:
                if os.path.exists(self.log):
                    with open(self.log) as file:
                        sys.stderr.write(file.read())
                fail(f"{self.what} {'ended' if gone else f'did not come up within {READY_WITHIN} s'}")
            time.sleep(0.005)


def start(options: SimpleNamespace, everyone: list[Host]) -> None:
    """Start the servers of all hosts at once and come back when each takes clients."""
    if options.server is None:
        return
    is_realtime = not options.no_realtime and may_run_realtime()
    begin = {"jackd": start_jackd, "pipewire": start_pipewire}[options.server]
    for server in [begin(options, is_realtime, host) for host in everyone]:
        server.wait()


def may_run_realtime() -> bool:
    """Asked of the kernel, not of ulimit: try it in a child."""
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def start_jackd(options: SimpleNamespace, is_realtime: bool, host: Host) -> Starting:
    name = host.environment["JACK_DEFAULT_SERVER"]
    log = f"{host.environment['LAB_DIR']}/jackd-{host.number}.log"
    environment = {key: value for key, value in host.environment.items() if key != "DISPLAY"}
    scheduling = ["--realtime", "--realtime-priority", "10"] if is_realtime else ["--no-realtime"]
    pid = host.spawn(["jackd", *scheduling, "--name", name, "-d", "dummy", "--rate", str(options.rate),
                      "--period", str(options.period)], environment, log)
    return Starting("jackd", log, pid, f"/dev/shm/jack_{name}_{os.geteuid()}_0")


RT_MODULE = "{ name = libpipewire-module-rt args = { rt.prio = 10 } flags = [ ifexists nofail ] }"


def start_pipewire(options: SimpleNamespace, is_realtime: bool, host: Host) -> Starting:
    directory = f"{host.environment['LAB_DIR']}/pipewire-{host.number}"
    os.mkdir(directory)
    with open(os.path.join(LIB, "pipewire.conf")) as file:
        text = file.read()
    # The rate and the period are pinned.
    words = dict.fromkeys(("PERIOD", "LEAST", "MOST"), options.period) | dict.fromkeys(("RATE", "RATES"), options.rate)
    for key, value in {**words, "REALTIME": RT_MODULE if is_realtime else ""}.items():
        text = text.replace(f"@{key}@", str(value))
    with open(f"{directory}/pipewire.conf", "w") as file:
        file.write(text)
    # ${LIB} is for the loader: the libraries' directory of whatever architecture the program has.
    library = "/usr/${LIB}/pipewire-0.3/jack"
    before = host.environment.get("LD_LIBRARY_PATH")
    host.environment["LD_LIBRARY_PATH"] = f"{library}:{before}" if before else library
    pid = host.spawn(["pipewire"], dict(host.environment, PIPEWIRE_CONFIG_DIR=directory), f"{directory}/log")
    return Starting("pipewire", f"{directory}/log", pid, f"{host.environment['XDG_RUNTIME_DIR']}/pipewire-0")
