# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 tools/lib MODULE WORD...: what every command of tools/ that is written in Python begins with."""

import importlib
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's libraries, which -S leaves out
sys.exit(importlib.import_module(f"workshop.{sys.argv[1]}").main(sys.argv[2:]))
