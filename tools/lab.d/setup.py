# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab needs from the machine: Debian packages, the built wire, a Python environment with the reference
library (tools/.venv). All is made at first use, outside of the namespaces; the wire in the user's cache."""

import hashlib
import os
import shutil
import subprocess
import sys

from main import fail

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, "tactus", "lab")
    try:
        os.makedirs(path, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    path = f"/var/tmp/tactus-lab-{os.geteuid()}"  # a user without a home
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid != os.geteuid():
        fail(f"{path} belongs to somebody else; set XDG_CACHE_HOME")
    return path


def shell(function, *arguments):
    """A function of tools/lib/packages.sh: it says what it does and why it could not."""
    script = '. "$0/lib/packages.sh"; "$@"'
    if subprocess.run(["bash", "-c", script, TOOLS, function, *arguments], stdout=sys.stderr).returncode != 0:
        sys.exit(125)


def packages(array):
    """What an array of tools/lib/packages.sh names."""
    script = '. "$0/lib/packages.sh"; declare -n list=$1; printf "%s\\n" "${list[@]}"'
    return subprocess.run(["bash", "-c", script, TOOLS, array], capture_output=True, text=True, check=True).stdout.split()


def programs(wanted):
    """WANTED: pairs of a program (or file) and the package that has it. dpkg is asked only if one is missing."""
    missing = [package for what, package in wanted
               if not (os.path.exists(what) if what.startswith("/") else shutil.which(what))]
    if missing:
        shell("need_packages", *missing)


def needed(options, command):
    """Before a lab starts: inside there is no way to the network any more."""
    wanted = [("ip", "iproute2")]
    if options.server == "jackd":
        wanted.append(("jackd", "jackd2"))
    elif options.server == "pipewire":
        wanted += [("pipewire", "pipewire"), ("pw-jack", "pipewire-jack"), ("pw-cli", "pipewire-bin")]
    programs(wanted)
    if "peer" in command:
        peers()


def built(source, name, *flags):
    """A C program or library of the lab, compiled when its text changes."""
    with open(source, "rb") as file:
        version = hashlib.sha256(file.read()).hexdigest()[:16]
    path = os.path.join(cache(), f"{name}-{version}")
    if os.path.exists(path):
        return path
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        shell("need_packages", "gcc", "libc6-dev")
        compiler = "gcc"
    fresh = f"{path}.{os.getpid()}"
    done = subprocess.run([compiler, "-O2", "-o", fresh, source, *flags, "-lm"], stdout=sys.stderr)
    if done.returncode != 0:
        fail(f"{source} does not compile")
    os.rename(fresh, path)  # whoever builds at the same time builds the same
    return path


def sequencer():
    """The library that stands in for the kernel's MIDI sequencer."""
    return built(os.path.join(TOOLS, "lab.d", "sequencer.c"), "sequencer", "-shared", "-fPIC")


def drums():
    """The drum machine."""
    if not os.path.exists("/usr/include/jack/midiport.h"):
        shell("need_packages", "libjack-jackd2-dev")
    return built(os.path.join(TOOLS, "lab.d", "drums.c"), "drums", "-Wall", "-ljack")


def reference_python():
    """The Python that can import the reference library in the wanted version, or None. The list has more on it; the
    rest is not ours to miss."""
    environment, wanted = os.path.join(TOOLS, ".venv"), os.path.join(TOOLS, "lib", "python.txt")
    try:
        with open(wanted) as want, open(os.path.join(environment, "installed.txt")) as have:
            ours, there = ({line for line in file if line.startswith("LinkPython")} for file in (want, have))
    except OSError:
        return None
    return os.path.join(environment, "bin", "python") if ours == there else None


def peers():
    programs([("LinkHut", "ableton-link-utils")])
    if reference_python() is None:
        shell("need_venv")


def everything():
    """tools/lab prepare"""
    programs([("ip", "iproute2"), ("jackd", "jackd2"), ("pipewire", "pipewire"), ("pw-cli", "pipewire-bin"),
              ("pw-jack", "pipewire-jack"), ("tmux", "tmux")])
    import wire
    wire.program()
    sequencer()
    drums()
    peers()
    shell("need_packages", *packages("host_packages"))
    subprocess.run([os.path.join(TOOLS, "listen"), "--build"], stdout=subprocess.DEVNULL, check=True)
