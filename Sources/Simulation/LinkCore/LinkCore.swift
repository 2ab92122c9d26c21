// SPDX-License-Identifier: GPL-2.0-or-later

// All of Link without I/O under one name: the protocol machine, its packets and values, and a network for
// trials.
@_exported public import LinkBeatMath
@_exported public import LinkSession
@_exported public import LinkWire
@_exported public import LinkWorld
