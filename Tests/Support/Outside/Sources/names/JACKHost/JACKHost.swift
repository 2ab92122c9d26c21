// SPDX-License-Identifier: GPL-2.0-or-later

/// A module of this package with a name that a module of tactus once had.
public enum OwnJACKHost {}
