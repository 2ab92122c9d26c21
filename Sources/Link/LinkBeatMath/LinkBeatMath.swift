// SPDX-License-Identifier: GPL-2.0-or-later

// LinkBeatMath: the beat at a time, and the time of a beat.
//
// Value types and the arithmetic between them, which gives the same bits as Ableton's library: `Beats` and
// `Micros` (whole millionths), `Tempo`, `Timeline` (a line between the two), phase within a quantum,
// `GhostMap` (host time to the session's clock), the mappings between a client's timeline and the session's,
// start/stop, and `SessionState`, which an application captures, queries and edits.
//
// The module has, on purpose, no clock, no threads, no I/O, no memory allocation, and no knowledge of peers.
//
// One invariant: no input traps. Sums wrap and conversions saturate, because the numbers come from the
// network and the audio thread must survive every one of them.
//
// Start reading at `SessionState` for the user's view, at `Timeline` and `Phase` for the computation, at
// `ClientSession` for the sharing. All functions are thread-safe (plain values) and real-time-safe [any].
// Functions for audio threads are marked, and the compiler checks them.
