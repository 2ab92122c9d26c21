// SPDX-License-Identifier: GPL-2.0-or-later

// Link without I/O under one name: the machine, its packets and values, and a network to try it on.
@_exported public import BeatMath
@_exported public import LinkSession
@_exported public import LinkWire
@_exported public import LinkWorld
