# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles the native helpers (tools/native) into the user's cache, each once per version, and tactus."""

import contextlib
import functools
import glob
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

from . import common

NATIVE = os.path.join(common.TOOLS, "native")
PACKAGES = {"jack/jack.h": "libjack-jackd2-dev", "ableton/Link.hpp": "ableton-link-dev"}


def cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, "tactus", "native")
    with contextlib.suppress(OSError):
        os.makedirs(path, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    path = f"/var/tmp/tactus-native-{os.geteuid()}"  # for a user without a home folder
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid != os.geteuid():
        common.fail("tools", f"{path} belongs to another user; set XDG_CACHE_HOME", 125)
    return path


@functools.cache
def native(name: str, *defines: str) -> str:
    """The path of the native program or library NAME, which is compiled if necessary. The line "build:" in
    its source says how. If the source has a folder of its own, its headers are there."""
    folder = os.path.join(NATIVE, name)
    source = glob.glob(f"{glob.escape(folder if os.path.isdir(folder) else NATIVE)}/{name}.c*")[0]
    texts = {path: pathlib.Path(path).read_text() for path in sorted({source, *glob.glob(f"{glob.escape(folder)}/*")})}
    how = re.search(r"^// build: (.*)", texts[source], re.MULTILINE)
    compiler, *flags = how.group(1).split() if how else ["cc"]
    version = hashlib.sha256("".join([*texts.values(), *defines]).encode()).hexdigest()[:16]
    product = os.path.join(cache(), f"{name}-{version}" + (".so" if "-shared" in flags else ""))
    if not os.path.exists(product):
        need_for("".join(texts.values()), compiler)
        fresh = f"{product}.{os.getpid()}"
        command = [compiler, "-O2", "-Wall", *defines, "-o", fresh, source, *flags]
        if not common.succeeds(command):
            common.fail("tools", f"{source} does not compile", 125)
        os.rename(fresh, product)  # if another process builds at the same time, its file is the same
    return product


def listener() -> None:
    """Builds the programs that tools/listen needs."""
    if not common.succeeds([os.path.join(common.TOOLS, "listen"), "--build"]):
        sys.exit(125)


def need_for(text: str, compiler: str) -> None:
    wanted = [package for header, package in PACKAGES.items()
              if f"<{header}>" in text and not os.path.exists(f"/usr/include/{header}")]
    if not shutil.which(compiler):
        wanted += {"cc": ["gcc", "libc6-dev"], "g++": ["g++"]}.get(compiler, [])
    if wanted:
        common.shell("need_packages", *wanted)


def swift_files(module: str) -> list[str]:
    return sorted(glob.glob(f"{common.ROOT}/Sources/*/{module}/**/*.swift", recursive=True))


def swift_module(name: str, files: Sequence[str], folder: str, *flags: str) -> str:
    """Compiles a module of its own beside the modules that it imports, once for each folder. Returns the
    object file."""
    made = f"{folder}/{name}.o"
    command = ["swiftc", "-swift-version", "6", "-O", "-wmo", "-parse-as-library", "-package-name", "tactus", *flags, "-I", folder,
               "-module-name", name, "-emit-module", "-emit-module-path", f"{folder}/{name}.swiftmodule", "-c", "-o", made, *files]
    if not os.path.exists(made) and not common.succeeds(command):
        common.fail("tools", f"{name} does not compile", 1)
    return made


@functools.cache
def product(name: str, *options: str, folder: str = "release", package: str = common.ROOT) -> str:
    """The path of a product of a Swift package, built for release. In a lab there is no network, so the
    product must have been built outside."""
    if folder == "release" and (built := os.environ.get("TACTUS_PRODUCTS")):
        return os.path.join(built, name)  # tools/test has built all of them
    scratch = os.path.join(common.ROOT, ".build" if folder == "release" else folder)
    program = os.path.join(scratch, "release", name)
    if not common.is_in_lab():
        common.shell("need_swift")
        command = ["swift", "build", "--package-path", package, "--scratch-path", scratch, "-c", "release", "--product", name,
                   "--quiet", "--no-color-diagnostics", *options]
        if not common.succeeds(command):
            common.fail("tools", f"{name} does not build", 1)
    if not os.access(program, os.X_OK):
        common.fail("tools", f"{program}: not there; build it with: swift build -c release --product {name}", 1)
    return program


def tactus(given: str | None = None) -> str:
    """The path of the release build, or of the program that the user names."""
    if not given:
        common.shell("need_packages", *common.package_list("build_packages"))
        return product("tactus")
    if not os.access(given, os.X_OK):
        common.fail("tools", f"{os.path.abspath(given)}: not there", 1)
    return os.path.abspath(given)


def enter_lab(name: str, words: Sequence[str], *options: str) -> None:
    """Continues only in a lab. Outside of a lab, runs the module in a new lab, and ends with its status."""
    if not common.is_in_lab():
        lab()
        sys.exit(subprocess.run([common.LAB, *options, "--", *common.module(name, *words)], check=False).returncode)


def lab() -> None:
    """Outside of a lab, installs everything that a lab would install at its first use."""
    if not common.is_in_lab() and not common.succeeds([common.LAB, "prepare"]):
        sys.exit(1)
