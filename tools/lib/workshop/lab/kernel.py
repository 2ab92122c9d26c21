# SPDX-License-Identifier: GPL-2.0-or-later
"""The few Linux calls that Python 3.11 lacks, and the lab's error message."""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
from typing import NoReturn

from .. import common

NEWNS, NEWUSER, NEWPID, NEWNET, NEWIPC = 0x00020000, 0x10000000, 0x20000000, 0x40000000, 0x08000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_SIOCETHTOOL = 0x8946

_libc = ctypes.CDLL(None, use_errno=True)


def fail(message: str, status: int = 125) -> NoReturn:
    common.fail("lab", message, status)


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def enter(path: str) -> None:
    """Enters the namespace that the file at `path` stands for."""
    setns(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def setns(fd: int) -> None:
    _check(_libc.setns(fd, 0), "setns")


def die_with_parent(number: int = signal.SIGKILL) -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [x.encode() if x is not None else None for x in (source, target, kind, data)]
    _check(_libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount on {target}")


def mounts_private() -> None:
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)


def mount_proc() -> None:
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def mount_tmpfs(target: str) -> None:
    _mount("lab", target, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")


def bind(source: str, target: str) -> None:
    _mount(source, target, None, _MS_BIND)


def overlay(below: str, above: str, work: str, target: str) -> None:
    """Mounts an overlay: files that are written at the target go into `above`."""
    _mount("lab", target, "overlay", 0, f"lowerdir={below},upperdir={above},workdir={work}")


def change_root(path: str) -> None:
    """Makes this mount the root of the mount namespace, and removes the old root from it."""
    os.chdir(path)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")  # the old root now lies on the new one
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir("/")


def no_offload(interface: str) -> None:
    """Makes the interface write complete checksums and no merged frames, because the wire forwards frames
    unchanged."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for feature in (0x17, 0x15, 0x1F, 0x24, 0x2C):  # ETHTOOL_STXCSUM, SRXCSUM, STSO, SGSO, SGRO
            value = ctypes.create_string_buffer(struct.pack("II", feature, 0))
            request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):  # a feature that this device does not have is off already
                fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
