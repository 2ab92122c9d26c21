# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tools in Python build before they play: tools/listen, small C programs beside it, tactus itself."""

import os
import subprocess
import sys

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TOOLS)


class Failed(Exception):
    """One line that says what could not be built."""


def listen():
    done = subprocess.run([os.path.join(TOOLS, "listen"), "--build"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed("tools/listen does not build")
    return done.stdout.strip()


def beside(listen, name, source, *compiler, libraries=()):
    """The product `name` in the folder of `listen`, compiled if `source` is newer. Who reads the old one keeps it."""
    product = os.path.join(os.path.dirname(listen), name)
    if not os.path.exists(product) or os.path.getmtime(product) < os.path.getmtime(source):
        fresh = f"{product}.{os.getpid()}"
        if subprocess.run([*compiler, "-O2", "-Wall", "-o", fresh, source, *libraries]).returncode != 0:
            raise Failed(f"{os.path.basename(source)} does not compile")
        os.rename(fresh, product)
    return product


def tactus(given=None):
    """The release build, or the one that the user names. In a lab there is no network: it was built outside."""
    if given:
        program = os.path.abspath(given)
    else:
        program = os.path.join(ROOT, ".build", "release", "tactus")
        build = ["swift", "build", "--package-path", ROOT, "-c", "release", "--product", "tactus", "--quiet"]
        if not inside() and subprocess.run(build, stdout=sys.stderr).returncode != 0:
            raise Failed("tactus does not build")
    if not os.access(program, os.X_OK):
        raise Failed(f"{program}: not there; build it with: swift build -c release --product tactus")
    return program


def lab():
    """Outside of a lab: whatever a lab would install at its first use."""
    if not inside() and subprocess.run([os.path.join(TOOLS, "lab"), "prepare"], stdout=sys.stderr).returncode != 0:
        raise Failed("the lab cannot be prepared")


def inside():
    return "LAB_DIR" in os.environ
