# SPDX-License-Identifier: GPL-2.0-or-later
"""The workshop: what tests tactus, listens to it, measures it and proves it. docs/lab.md has a map."""
