# SPDX-License-Identifier: GPL-2.0-or-later
"""`$LAB peer NAME`: a real Link peer, JACK's transport, a drum machine or an OSC controller, driven by lines. This process becomes
the driver, so its id is the peer's."""

import os
import sys

import setup
from main import fail

HERE = os.path.dirname(os.path.abspath(__file__))


def run(arguments):
    if arguments == ["linkhut"]:
        driver = ["/usr/bin/python3", "-I", "-S", os.path.join(HERE, "linkhut.py")]
    elif arguments == ["reference"]:
        python = setup.reference_python()
        if python is None:
            fail("the reference library is not installed and a lab has no way to PyPI: run 'tools/lab prepare' outside")
        driver = [python, "-I", os.path.join(HERE, "reference.py")]
    elif arguments == ["jack"]:
        driver = ["/usr/bin/python3", "-I", "-S", os.path.join(HERE, "transport.py")]
    elif arguments == ["drums"]:
        driver = [setup.drums()]
    elif arguments[:1] == ["controller"]:
        driver = ["/usr/bin/python3", "-I", "-S", os.path.join(HERE, "controller.py"), *arguments[1:]]
    else:
        fail("usage: tools/lab peer linkhut|reference|jack|drums|controller", 2)
    sys.stdout.flush()
    os.execv(driver[0], driver)
