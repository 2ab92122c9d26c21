# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs what the lab needs on the machine: Debian packages, compiled helpers, and a Python environment
with the reference library (tools/.venv). All of it is made at first use, outside of the namespaces, because
there is no network inside."""

import glob
import importlib
import itertools
import os
import shutil

from .. import build
from ..common import LIB, TOOLS, module, package_list, shell
from .kernel import fail

LIBRARIES = ("aalink", "JACK-Client", "LinkPython", "pexpect", "playwright", "python-osc")  # of tools/lib/python.txt: what the peers are made of
SERVERS: dict[str | None, list[tuple[str, str]]] = {
    None: [], "jackd": [("jackd", "jackd2")],
    "pipewire": [("pipewire", "pipewire"), ("pw-jack", "pipewire-jack"), ("pw-cli", "pipewire-bin")]}
LINKHUT = ("LinkHut", "ableton-link-utils")
BROWSERS = {"browser": [("chromium", "chromium")], "firefox": [("firefox-esr", "firefox-esr")],
            "webkit": [("WebKitWebDriver", "webkit2gtk-driver"), ("Xvfb", "xvfb")]}
PEERS = ("linkhut", "reference", "aalink", "jack", "drums", "looper", "controller", *BROWSERS)


def programs(wanted: list[tuple[str, str]]) -> None:
    """Installs the missing ones of these programs. Each is a pair of a program and its package. dpkg is
    asked only if a program is missing."""
    missing = [package for program, package in wanted if not shutil.which(program)]
    if missing:
        shell("need_packages", *missing)


def needed(server: str | None, command: list[str]) -> None:
    """Installs what the lab needs, before the lab starts."""
    programs([("ip", "iproute2"), *SERVERS[server]])
    if "peer" in command:
        asked = [pair for name in command for pair in BROWSERS.get(name, [])]
        programs(asked or [LINKHUT])
        if reference_python() is None or ("browser" in command and not axe()):
            shell("need_venv")


def reference_python() -> str | None:
    """The path of the Python that can import the reference library and our other libraries in the wanted
    versions; None if there is none. Other entries of the list of libraries are ignored."""
    environment = os.path.join(TOOLS, ".venv")
    try:
        with open(os.path.join(LIB, "python.txt")) as want, open(os.path.join(environment, "installed.txt")) as have:
            ours, there = ({line for line in file if line.startswith(LIBRARIES)} for file in (want, have))
    except OSError:
        return None
    return os.path.join(environment, "bin", "python") if ours == there else None


def axe() -> str | None:
    """The path of the accessibility checker for pages; None if it is not installed."""
    found = glob.glob(os.path.join(TOOLS, ".venv/lib/*/site-packages/axe_playwright_python/axe.min.js"))
    return found[0] if found else None


def become_peer(words: list[str]) -> None:
    """Turns this process into a peer that is driven by lines: a Link peer, JACK's transport, a drum
    machine, an OSC controller or a browser."""
    if len(words) != 1 or words[0] not in PEERS:
        fail(f"usage: tools/lab peer {'|'.join(PEERS)}", 2)
    if words == ["drums"]:
        os.execv(build.native("drums"), words)
    elif words[0] in ("reference", "aalink"):
        python = reference_python()
        if python is None:
            fail(f"{words[0]} is not installed and a lab has no way to PyPI: run 'tools/lab prepare' outside")
        os.execv(python, module(f"peers.{words[0]}", python=[python, "-I"]))
    else:
        module_name = {"jack": "transport", "firefox": "other_browser", "webkit": "other_browser"}.get(words[0], words[0])
        importlib.import_module(f"workshop.peers.{module_name}").main(words)


def everything() -> None:
    """Installs everything: `tools/lab prepare`."""
    programs([("ip", "iproute2"), ("tmux", "tmux"), LINKHUT, *SERVERS["jackd"], *SERVERS["pipewire"],
              *itertools.chain(*BROWSERS.values())])
    shell("need_venv")
    shell("need_packages", *package_list("host_packages"))
    for name in ("at", "wire", "sequencer", "drums"):
        build.native(name)
    build.listener()
