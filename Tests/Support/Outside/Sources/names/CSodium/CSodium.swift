// SPDX-License-Identifier: GPL-2.0-or-later

/// A module of this package that has a name which tactus once used for a module.
public enum OwnCSodium {}
