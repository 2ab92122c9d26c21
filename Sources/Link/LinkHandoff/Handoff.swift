// SPDX-License-Identifier: GPL-2.0-or-later

// Hands one value, or a queue of values or of memory blocks, from one thread to another. Values larger than
// an atomic reach the audio thread, and leave it, only in these ways.
//
// This module has no locks, no waiting and no waking. A thread is not notified of a new value: it checks when
// it has time. Two writers need two queues; two readers need two `Latest` values.
//
// The invariant: each end belongs to one thread at a time. The types can't check that, so they are
// `@unchecked Sendable`. Any other type with this attribute has a comment that says which thread owns it.
//
// Start reading at `Latest` for a state, where only the newest value counts; at `SPSCQueue` for commands,
// where every command counts; at `SlotQueue` for audio, which is written and read in place. Elements are
// `BitwiseCopyable`: that keeps reference counting off the audio thread. Memory is allocated in `init` and
// freed in `deinit`, never between.
