// SPDX-License-Identifier: GPL-2.0-or-later

/// A module of another package with a name that a module of tactus once had: both must work in one program.
public enum OwnLinux {}
