# SPDX-License-Identifier: GPL-2.0-or-later
"""`tools/lab --root SUITE`: another Debian below the lab. Its root stays in the user's cache (tools/package.d/roots.sh makes it); what the
lab writes there is gone with the lab. Of the machine it sees this repository, the compiled helpers and /tmp, at their own paths."""

import os

from .. import build
from ..common import ROOT, TOOLS, succeeds
from . import kernel
from .kernel import fail

SUITES = {"trixie": ("trixie-studio", "debian13"), "sid": ("sid", "sid")}  # the root's name, and the script that makes it
LAYERS = "/dev/shm"  # already the lab's own


def choose(suite: str) -> None:
    if suite not in SUITES:
        fail(f"--root {suite}: there are {' and '.join(SUITES)}", 2)


def needed(suite: str) -> None:
    """Makes the root, before a lab starts: a lab has no connection to a Debian mirror."""
    if os.geteuid() != 0:
        fail("--root needs root")
    if not succeeds([os.path.join(TOOLS, "package.d", SUITES[suite][1]), "--prepare"]):
        fail(f"there is no root for {suite}; the lines above say why")


def enter(suite: str) -> None:
    """Makes the other Debian the root of this mount namespace. Hosts of the lab that are entered later have
    this root, too."""
    here, helpers = os.getcwd(), build.cache()
    below = os.path.join(os.path.dirname(helpers), SUITES[suite][0])
    for name in ("upper", "work", "root"):
        os.mkdir(f"{LAYERS}/{name}")
    root = f"{LAYERS}/root"
    kernel.overlay(below, f"{LAYERS}/upper", f"{LAYERS}/work", root)
    for path in ("/dev", "/dev/pts", "/sys", "/tmp", ROOT, helpers):
        os.makedirs(root + path, exist_ok=True)
        kernel.bind(path, root + path)
    kernel.change_root(root)
    kernel.mount_proc()
    kernel.mount_tmpfs("/run")
    kernel.mount_tmpfs("/dev/shm")
    os.chdir(here if os.path.isdir(here) else "/")
