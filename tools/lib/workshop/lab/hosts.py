# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts: a network and a set of mounts each. Without --hosts there is one, process 1's own, with loopback only;
with it every host has loopback and an interface wire0, whose other end is a port of the wire."""

import contextlib
import os
import pathlib
import re
import subprocess
from argparse import Namespace
from collections.abc import Callable, Iterator

from .. import build as compiled
from . import kernel, wire
from .kernel import fail

SHARED = "/dev/shm/.lab"
RUNTIME = "/dev/shm/runtime"  # in every host's own /dev/shm
MULTICAST4, MULTICAST6 = "224.0.0.0/4", "ff00::/8"
HAS_IPV6 = os.path.exists("/proc/sys/net/ipv6")
NO_WIRE = "this lab has no wire: start it with --hosts"
Environment = dict[str, str]


class Host:
    def __init__(self, number: int, environment: Environment, net: int | None = None, mounts: int = -1) -> None:
        self.number, self.environment, self.net, self.mounts = number, environment, net, mounts

    def enter(self) -> None:
        if self.net is not None:
            kernel.setns(self.net)
            kernel.setns(self.mounts)  # also moves to the root directory

    def publish(self) -> None:
        """Writes the file with which native/at.c starts programs on this host."""
        mine = [f"{key}={value}" for key, value in self.environment.items() if os.environ.get(key) != value]
        place = f"{-1 if self.net is None else self.net} {self.mounts}"
        pathlib.Path(SHARED, f"host-{self.number}").write_text("".join(f"{text}\0" for text in [place, *mine]))

    def spawn(self, command: list[str], environment: Environment | None = None, log: str | None = None) -> int:
        """Starts a process on this host, in the caller's directory and with default signals. Returns its
        id."""
        self.publish()
        streams = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                   (os.POSIX_SPAWN_DUP2, 1, 2)] if log else []
        return os.posix_spawn(self.environment["LAB_AT"], ["lab", "0", str(self.number), *command],
                              environment or self.environment, file_actions=streams)


def own_spaces() -> list[int]:
    return [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("net", "mnt")]


@contextlib.contextmanager
def elsewhere(enter: Callable[[], object]) -> Iterator[None]:
    """Moves this process into other namespaces by `enter`, and back again at the end."""
    here, home = os.getcwd(), own_spaces()
    try:
        enter()
        yield
    finally:
        for space in home:
            kernel.setns(space)
            os.close(space)
        os.chdir(here)


def ip(script: str) -> None:
    done = subprocess.run(["ip", "-batch", "-"], check=False, input=script, text=True, capture_output=True)
    if done.returncode != 0:
        raise OSError(None, f"ip: {done.stderr.strip()}")


def fresh_shm() -> None:
    """Mounts a private /dev/shm, where JACK keeps its registry and sockets. The lab's shared directory
    stays visible in it."""
    shared = os.open(SHARED, os.O_RDONLY)
    kernel.mount_tmpfs("/dev/shm")
    os.mkdir(SHARED)
    kernel.bind(f"/proc/self/fd/{shared}", SHARED)
    os.close(shared)


def loopback(has_multicast: bool) -> None:
    """Sets up loopback. Only with multicast on loopback can two programs on one host find each other
    through 127.0.0.1."""
    lines = ["link set lo multicast on", "link set lo up"]
    if has_multicast:
        lines += [f"route add {MULTICAST4} dev lo"] + [f"route add multicast {MULTICAST6} dev lo table local"] * HAS_IPV6
    ip("\n".join(lines) + "\n")


def sysctl(name: str, value: int) -> None:
    with contextlib.suppress(OSError), open("/proc/sys/net/ipv6/conf/default/" + name, "w") as file:
        file.write(str(value))  # ignored on a kernel without IPv6


def build(options: Namespace, environment: Environment, wire_program: str | None) -> list[Host]:
    """Makes all hosts, and the wire between them."""
    environment["XDG_RUNTIME_DIR"] = RUNTIME
    # Let programs store their configuration and state in the lab, so that both vanish with the lab.
    environment["XDG_CONFIG_HOME"], environment["XDG_STATE_HOME"] = "/dev/shm/config", "/dev/shm/state"
    if wire_program is None:
        os.mkdir(RUNTIME, 0o700)
        loopback(True)
        if options.server != "pipewire":
            environment["JACK_DEFAULT_SERVER"] = options.name
        everyone = [Host(1, environment)]
    else:
        ip("link set lo up\n")
        sysctl("disable_ipv6", 1)  # the wire's ends of the cables send nothing by themselves
        wire.start(wire_program)
        everyone = [make(number, options, environment) for number in range(1, options.hosts + 1)]
        for host in everyone:
            plug(host, "wire0", f"10.77.0.{host.number}/24", MULTICAST4)
        if options.wire:
            wire.set_quality(options.wire.split())
    return everyone


def make(number: int, options: Namespace, environment: Environment) -> Host:
    """Makes the host with this number. Its namespaces exist only as descriptors that we hold."""
    with elsewhere(lambda: kernel.unshare(kernel.NEWNET | kernel.NEWNS)):
        fresh_shm()
        os.mkdir(RUNTIME, 0o700)
        sysctl("accept_dad", 0)  # link-local addresses are usable at once
        loopback(False)
        net, mounts = own_spaces()
    mine = dict(environment, LAB_HOST=str(number))
    if options.server != "pipewire":  # PipeWire's libjack has one server, and its own rules for names
        mine["JACK_DEFAULT_SERVER"] = f"{options.name}-{number}"
    return Host(number, mine, net, mounts)


def digits(interface: str) -> int:
    return int(re.sub("[^0-9]", "", interface) or 0)


def plug(host: Host, interface: str, address: str, multicast: str | None = None) -> None:
    """Adds a cable from a new interface of the host to a new port of the wire. Runs in the wire's network,
    which is process 1's."""
    port = f"p{host.number}-{interface}"[:15]
    ip(f"link add name {port} type veth peer name {interface} netns /proc/{os.getpid()}/fd/{host.net}\n"
       f"link set {port} up\n")
    kernel.no_offload(port)
    wire.connect(host.number, port)
    # A hardware address ends in the number of the interface and the number of the host.
    script = (f"link set {interface} address 02:00:00:00:{digits(interface) % 256:02x}:{host.number:02x}\n"
              f"link set {interface} up\naddr add {address} brd + dev {interface}\n")
    if multicast:
        script += f"route add {multicast} dev {interface}\n"
    with elsewhere(host.enter):
        kernel.no_offload(interface)
        ip(script)


# Commands that run inside a lab.

def find(word: str, needs_wire_for: str) -> Host:
    """The host of the surrounding lab that WORD names. Process 1 holds its namespaces."""
    shared = os.environ["LAB_DIR"]
    known = sorted(name[5:] for name in os.listdir(shared) if name.startswith("host-"))
    if word not in known:
        fail(f"no host {word} here; there are: {' '.join(known)}", 2)
    place, *mine = pathlib.Path(shared, f"host-{word}").read_text().split("\0")[:-1]
    if place.startswith("-1"):
        fail(f"{needs_wire_for}: {NO_WIRE}", 2)
    net, mounts = (os.open(f"/proc/1/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC) for fd in place.split())
    return Host(int(word), dict(os.environ, **dict(text.split("=", 1) for text in mine)), net, mounts)


def run_on(words: list[str]) -> None:
    if len(words) < 2:
        fail("usage: $LAB on K COMMAND...", 2)
    os.execv(compiled.native("at"), ["lab", "0", *words])


def run_at(words: list[str]) -> None:
    """Starts a process in a running lab, from outside, by the lab's process id. The process ends with us
    and with the lab."""
    if len(words) < 2 or not words[0].isdigit():
        fail("usage: tools/lab at PID [on K] COMMAND...; PID is that of a running tools/lab", 2)
    host, command = (words[2], words[3:]) if words[1] == "on" and len(words) > 3 else ("1", words[1:])
    os.execv(compiled.native("at"), ["lab", words[0], host, *command])


def plug_command(words: list[str]) -> None:
    if len(words) not in (2, 3) or not re.fullmatch(r"[a-z]{1,8}[0-9]{1,2}", words[1]):
        fail("usage: $LAB plug K NAME [ADDRESS/BITS]; NAME is letters and a number, like wire1", 2)
    host, name = find(words[0], needs_wire_for="plug"), words[1]
    kernel.enter("/proc/1/ns/net")  # where the wire's ends of the cables are
    try:
        plug(host, name, words[2] if len(words) == 3 else f"10.77.{digits(name)}.{host.number}/24")
    except OSError as error:
        fail(f"plug: {error}")


def unplug_command(words: list[str]) -> None:
    if len(words) != 2:
        fail("usage: $LAB unplug K NAME", 2)
    find(words[0], needs_wire_for="unplug").enter()
    try:
        ip(f"link delete {words[1]}\n")
    except OSError as error:
        fail(f"unplug: {error}")
