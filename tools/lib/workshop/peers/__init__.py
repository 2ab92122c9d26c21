# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that play along, each driven by lines (lines.py), and how they are driven (driver.py)."""
