# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures about processes from the kernel: processor time, memory, and datagrams that they did not read in
time."""

import contextlib
import os
import pathlib
import time
from collections.abc import Callable

QUIET, PATIENCE = 0.06, 60.0  # the share of the machine that other programs may use, and the seconds to wait for that


def schedule(process: int | str, thread: int | str) -> tuple[int, int]:
    """The nanoseconds for which a thread ran, and for which it could have run but had no core."""
    with open(f"/proc/{process}/task/{thread}/schedstat") as file:
        ran, waited, _ = file.read().split()
    return int(ran), int(waited)


def threads(process: int) -> list[str]:
    return os.listdir(f"/proc/{process}/task")


def name(process: int, thread: str) -> str:
    with open(f"/proc/{process}/task/{thread}/comm") as file:
        return file.read().strip()


def used(process: int) -> int:
    """The nanoseconds for which all live threads of the process ran."""
    return sum(schedule(process, thread)[0] for thread in threads(process))


def switches(process: int) -> dict[str, int]:
    """How often each thread waited for something."""
    return {thread: status(f"{process}/task/{thread}", "voluntary_ctxt_switches") for thread in threads(process)}


def percent(process: int, sleep: Callable[[], object]) -> float:
    """The share of one core that the process uses during `sleep`, in percent."""
    before, began = used(process), time.monotonic()
    sleep()
    return (used(process) - before) / (time.monotonic() - began) / 1e7


def busiest(process: int, work: Callable[[], object]) -> str:
    """The thread that used the processor most during `work`."""
    before = {thread: schedule(process, thread)[0] for thread in threads(process)}
    work()
    return max(threads(process), key=lambda thread: schedule(process, thread)[0] - before.get(thread, 0))


def status(process: int | str, field: str) -> int:
    """A number from /proc's status file. RssAnon: the kilobytes of the process's own memory, which can
    leak."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


def dropped(port: int, family: str = "udp") -> int:
    """Datagrams to a port of this host for which the kernel had no room."""
    with open(f"/proc/net/{family}") as file:
        return sum(int(line.split()[-1]) for line in file if line.split()[1].endswith(f":{port:04X}"))


def in_use(seconds: float = 2.0) -> float:
    """The share of all processors' time that is not idle."""
    def read() -> tuple[int, int]:
        with open("/proc/stat") as file:
            values = [int(word) for word in file.readline().split()[1:9]]
        return sum(values), values[3] + values[4]

    all_before, idle_before = read()
    time.sleep(seconds)
    everything, idle = read()
    return 1 - (idle - idle_before) / max(1, everything - all_before)


def quiet() -> str:
    """Waits until other programs leave the machine idle, so that all compared programs have the same
    conditions. Returns a remark if they did not in time."""
    end = time.monotonic() + PATIENCE
    while (busy := in_use()) > QUIET and time.monotonic() < end:
        pass
    return f", {100 * busy:.0f} % of the machine in use by others before it" if busy > QUIET else ""


def server() -> int:
    """The process id of this host's jackd or PipeWire. Each host sees all processes, so the server is
    recognised by its network namespace."""
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # not a process, or a process that has just ended
            name = pathlib.Path("/proc", entry, "comm").read_text().strip()
            if name in ("jackd", "pipewire") and os.path.samefile(f"/proc/{entry}/ns/net", "/proc/self/ns/net"):
                return int(entry)
    raise SystemExit("no JACK server runs on this host")
