// SPDX-License-Identifier: GPL-2.0-or-later

// BeatMath: which beat is it at this time, and when is that beat.
//
// Value types and the arithmetic between them, to the bit what Ableton's library computes: `Beats` and `Micros`
// (whole millionths), `Tempo`, `Timeline` (a line between the two), phase within a quantum, `GhostMap` (host time
// to the session's clock), the mappings between a client's timeline and the session's, start/stop, and
// `SessionState`, which is what an application captures, asks and edits.
//
// It lacks, on purpose: a clock, threads, I/O, memory allocation, and any knowledge of who sent what.
//
// One invariant: no input traps. Sums wrap and conversions saturate, because the numbers come from the network
// and the audio thread must survive every one of them.
//
// Way in: `SessionState` for what users see, `Timeline` and `Phase` for how it is computed, `ClientSession` for
// how it is shared. All functions: thread-safe (plain values) and
// real-time-safe [any]; those that an audio thread calls are marked, and the compiler checks them.
