# SPDX-License-Identifier: GPL-2.0-or-later
"""The stage: the namespaces of a lab. No process outlives them.

A lab has two processes. The one that was called stays outside, waits, and passes signals on. Its child is
process 1 of a new PID namespace: when it ends, for whatever reason, the kernel kills every process inside.
It is set to die with its parent, so even kill -9 of the lab leaves nothing behind. Mounts, interfaces and
shared memory belong to the namespaces, and disappear with the last process. Nothing is ever written
outside."""

import contextlib
import errno
import glob
import os
import pathlib
import signal
import sys
import time
import traceback
from argparse import Namespace
from typing import NoReturn

from .. import build
from ..common import LAB
from . import hosts, kernel, prepare, roots, servers
from .hosts import SHARED
from .kernel import fail

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SI_KERNEL = 0x80  # the signal came from the terminal, so COMMAND got it as well


def enter(options: Namespace, command: list[str], nested: bool) -> NoReturn:
    if options.root:
        roots.needed(options.root)
    elif not nested:
        prepare.needed(options.server, command)
    wire_program, at = build.native("wire") if options.hosts else None, build.native("at")
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING + (signal.SIGCHLD,))
    new_namespace_for_children()
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        kernel.die_with_parent()
        os.close(held)
        os.set_blocking(alive, False)
        with contextlib.suppress(BlockingIOError):
            if os.read(alive, 1) == b"":
                os._exit(125)  # the parent died before this process was bound to it
        os.close(alive)
        status = 125
        try:
            status = inside(options, command, wire_program, at)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 125
        except OSError as error:
            sys.stderr.write(f"lab: {error}\n")
        except BaseException:  # noqa: BLE001 - every error ends here
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(alive)
    sys.exit(outside(child, options.grace))


def new_namespace_for_children() -> None:
    """Creates a PID namespace for the processes that we start next. Without root rights, creates a user
    namespace first."""
    try:
        kernel.unshare(kernel.NEWPID)
        return
    except OSError as error:
        if error.errno != errno.EPERM:
            fail(f"this kernel has no PID namespaces ({error.strerror})")
    user, group = os.geteuid(), os.getegid()
    try:
        kernel.unshare(kernel.NEWUSER | kernel.NEWPID)
        for path, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", path).write_text(text)
    except OSError as error:
        fail(f"needs root or user namespaces, and has neither ({error.strerror}).\n" + how_to_enable())


def how_to_enable() -> str:
    def value(name: str) -> str | None:
        try:
            return pathlib.Path("/proc/sys", name).read_text().strip()
        except OSError:
            return None

    if value("user/max_user_namespaces") == "0":
        return "     user namespaces are limited to 0: sysctl -w user.max_user_namespaces=10000 (as root)"
    if value("kernel/unprivileged_userns_clone") == "0":
        return "     switched off by Debian's kernel: sysctl -w kernel.unprivileged_userns_clone=1 (as root)"
    if value("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return ("     AppArmor keeps ordinary users from them:\n"
                "     sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (as root)")
    return ("     This looks like a container that forbids them: start it with --cap-add SYS_ADMIN and\n"
            "     --security-opt seccomp=unconfined, or run tools/lab as root outside of it.")


def outside(child: int, grace: float) -> int:
    """Waits for process 1 and passes ending signals on. Kills it after the grace period, or at a second
    signal."""
    deadline, sent = float("inf"), 0
    while True:
        info = signal.sigtimedwait(ENDING + (signal.SIGCHLD,), min(3600.0, max(0.0, deadline - time.monotonic())))
        if info is None:
            if deadline > time.monotonic():
                continue
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 128 + sent
        if info.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid == child:
                return shell_status(status)
        elif info.si_signo == signal.SIGINT and info.si_code == SI_KERNEL:
            pass  # COMMAND got Ctrl-C, too; a shell or a prompt survives it
        elif not sent:
            sent, deadline = int(info.si_signo), time.monotonic() + grace
            os.kill(child, signal.SIGRTMIN + sent)
        else:
            deadline = time.monotonic()


def inside(options: Namespace, command: list[str], wire_program: str | None, at: str) -> int:
    """Process 1: sets the stage up, runs COMMAND, reaps all processes, and returns COMMAND's status."""
    try:
        kernel.unshare(kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC)
        kernel.mounts_private()
        kernel.mount_proc()
        kernel.mount_tmpfs("/dev/shm")
        if options.root:
            roots.enter(options.root)
    except OSError as error:
        fail(f"no private network or mounts here: {error}.\n{how_to_enable()}")
    os.mkdir(SHARED, 0o755)
    environment = {
        key: value for key, value in os.environ.items()
        # Leave out variables that lead to programs outside of the lab, and the variables of an enclosing lab.
        if key not in ("DBUS_SESSION_BUS_ADDRESS", "PULSE_SERVER", "PIPEWIRE_REMOTE", "JACK_DEFAULT_SERVER")
    }
    environment.update({
        "LAB": LAB, "LAB_AT": at, "LAB_DIR": SHARED, "LAB_HOST": "1", "LAB_HOSTS": str(max(1, options.hosts)),
        "JACK_NO_START_SERVER": "1", "JACK_NO_AUDIO_RESERVATION": "1",
    })
    everyone = hosts.build(options, environment, wire_program)
    servers.start(options, everyone)
    for host in everyone:
        host.publish()
    ended = {}
    command_pid = everyone[0].spawn(command or [os.environ.get("SHELL", "/bin/sh")])
    for number in ENDING:
        signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGRTMIN + number, lambda n, _: signal_tree(command_pid, n - signal.SIGRTMIN))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    while command_pid not in ended:
        pid, status = os.waitpid(-1, 0)
        ended[pid] = status
    return shell_status(ended[command_pid])


def shell_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def signal_tree(root: int, number: int) -> None:
    """Signals COMMAND and all processes that it started: a shell would wait for its child before it handles
    its own signal."""
    family = [root]
    for process in family:  # the loop itself appends to `family`
        for path in glob.glob(f"/proc/{process}/task/*/children"):
            with contextlib.suppress(OSError), open(path) as file:
                family += map(int, file.read().split())
    for process in reversed(family):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
