# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 tools/lib MODULE WORD...: what every command of tools/ that is written in Python begins with."""

import glob
import importlib
import os
import sys

# Debian's Python libraries, which the option -S leaves out, and the libraries of tools/lib/python.txt.
sys.path += ["/usr/lib/python3/dist-packages",
             *glob.glob(os.path.join(os.path.dirname(os.path.dirname(__file__)), ".venv/lib/*/site-packages"))]
sys.exit(importlib.import_module(f"workshop.{sys.argv[1]}").main(sys.argv[2:]))
