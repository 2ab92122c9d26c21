# SPDX-License-Identifier: GPL-2.0-or-later
"""A private JACK server per host: jackd with the dummy driver, or PipeWire with its own libjack."""

import os
import pathlib
import socket
import sys
import time
from argparse import Namespace

from ..common import LIB
from .hosts import Host
from .kernel import fail

READY_WITHIN = 30.0  # seconds; jackd usually needs 0.2 to 1, but at a load of 12 sometimes more than 10


Started = tuple[int, str, str]  # the server's process, its log file, and the socket for its clients


def start(options: Namespace, everyone: list[Host]) -> None:
    """Starts the servers of all hosts at once. Returns when all of them accept clients."""
    if options.server is None:
        return
    begin = {"jackd": start_jackd, "pipewire": start_pipewire}[options.server]
    is_realtime = may_run_realtime()
    for started in [begin(options, is_realtime, host) for host in everyone]:
        wait(options.server, *started)


def wait(what: str, pid: int, log: str, path: str) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while not takes_clients(f"/proc/{pid}/root{path}"):
        has_ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        if has_ended or time.monotonic() > deadline:
            if os.path.exists(log):
                sys.stderr.write(pathlib.Path(log).read_text())
            fail(f"{what} {'ended' if has_ended else f'did not come up within {READY_WITHIN} s'}")
        time.sleep(0.005)


def takes_clients(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        return client.connect_ex(path) == 0


def may_run_realtime() -> bool:
    """Whether the kernel grants real-time scheduling. This tries it, since ulimit does not tell."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def start_jackd(options: Namespace, is_realtime: bool, host: Host) -> Started:
    name = host.environment["JACK_DEFAULT_SERVER"]
    log = f"{host.environment['LAB_DIR']}/jackd-{host.number}.log"
    environment = {key: value for key, value in host.environment.items() if key != "DISPLAY"}
    scheduling = ["--realtime", "--realtime-priority", "10"] if is_realtime else ["--no-realtime"]
    # jackd allocates and locks the memory of all its ports when it starts, which takes a sixth of a second
    # for its default of 2048 ports.
    pid = host.spawn(["jackd", *scheduling, "--port-max", "512", "--name", name, "-d", "dummy", "--rate", str(options.rate),
                      "--period", str(options.period)], environment, log)
    return pid, log, f"/dev/shm/jack_{name}_{os.geteuid()}_0"


RT_MODULE = "{ name = libpipewire-module-rt args = { rt.prio = 10 } flags = [ ifexists nofail ] }"


def start_pipewire(options: Namespace, is_realtime: bool, host: Host) -> Started:
    directory = f"{host.environment['LAB_DIR']}/pipewire-{host.number}"
    os.mkdir(directory)
    text = pathlib.Path(LIB, "pipewire.conf").read_text()
    # Give PipeWire one sample rate and one period, so that it changes neither.
    words = dict.fromkeys(("PERIOD", "LEAST", "MOST"), options.period) | dict.fromkeys(("RATE", "RATES"), options.rate)
    for key, value in {**words, "REALTIME": RT_MODULE if is_realtime else ""}.items():
        text = text.replace(f"@{key}@", str(value))
    pathlib.Path(directory, "pipewire.conf").write_text(text)
    # The loader replaces ${LIB} by the library directory of the program's architecture.
    library = "/usr/${LIB}/pipewire-0.3/jack"
    before = host.environment.get("LD_LIBRARY_PATH")
    host.environment["LD_LIBRARY_PATH"] = f"{library}:{before}" if before else library
    pid = host.spawn(["pipewire"], dict(host.environment, PIPEWIRE_CONFIG_DIR=directory), f"{directory}/log")
    return pid, f"{directory}/log", f"{host.environment['XDG_RUNTIME_DIR']}/pipewire-0"
