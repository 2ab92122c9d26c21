# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab needs from the machine: Debian packages, the built wire, a Python environment with the reference
library. Everything is made at first use, outside of the namespaces, in the user's cache directory."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

from main import fail

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REFERENCE = "LinkPython-extern==1.3.0"  # wraps the reference library; the version that the tests were made with


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


def packages(names):
    script = '. "$0/packages.sh"; need_packages "$@"'
    if subprocess.run(["bash", "-c", script, TOOLS, *names], stdout=sys.stderr).returncode != 0:
        fail("needs these packages: " + " ".join(names))


def programs(wanted):
    """WANTED: pairs of a program (or file) and the package that has it. dpkg is asked only if one is missing."""
    missing = [package for what, package in wanted
               if not (os.path.exists(what) if what.startswith("/") else shutil.which(what))]
    if missing:
        packages(missing)


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


def locked(name):
    file = open(os.path.join(cache(), name + ".lock"), "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def built(source, name):
    """A C program of the lab, compiled when its text changes."""
    with open(source, "rb") as file:
        version = hashlib.sha256(file.read()).hexdigest()[:16]
    path = os.path.join(cache(), f"{name}-{version}")
    if os.path.exists(path):
        return path
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        packages(["gcc", "libc6-dev"])
        compiler = "gcc"
    fresh = f"{path}.{os.getpid()}"
    done = subprocess.run([compiler, "-O2", "-o", fresh, source, "-lm"], stdout=sys.stderr)
    if done.returncode != 0:
        fail(f"{source} does not compile")
    os.rename(fresh, path)  # whoever builds at the same time builds the same
    return path


def environment_path():
    version = f"{REFERENCE}-{sys.version_info[0]}.{sys.version_info[1]}".replace("==", "-")
    return os.path.join(cache(), version)


def reference_python():
    """The Python that can import the reference library, or None."""
    path = os.path.join(environment_path(), "bin", "python")
    return path if os.path.exists(path) and os.path.exists(os.path.join(environment_path(), "complete")) else None


def peers():
    programs([("LinkHut", "ableton-link-utils")])
    if reference_python():
        return
    with locked("reference"):
        if reference_python():
            return
        path = environment_path()
        sys.stderr.write(f"lab: installing {REFERENCE} into {path}\n")
        if subprocess.run(["/usr/bin/python3", "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
            packages(["python3-venv"])
        for step in (["/usr/bin/python3", "-m", "venv", "--clear", path],
                     [os.path.join(path, "bin", "python"), "-m", "pip", "install", "--quiet",
                      "--disable-pip-version-check", REFERENCE]):
            done = subprocess.run(step, stdout=sys.stderr)
            if done.returncode != 0:
                fail(f"{' '.join(step)} failed; the reference peer needs PyPI once")
        open(os.path.join(path, "complete"), "w").close()


def everything():
    """tools/lab prepare"""
    programs([("ip", "iproute2"), ("jackd", "jackd2"), ("pipewire", "pipewire"), ("pw-cli", "pipewire-bin"),
              ("pw-jack", "pipewire-jack")])
    import wire
    wire.program()
    peers()
