# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers: programs that play along. Each is driven by lines (lines.py); driver.py drives them."""
