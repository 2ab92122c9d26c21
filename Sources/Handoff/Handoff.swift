// SPDX-License-Identifier: GPL-2.0-or-later

// One value, or a queue of values or of blocks of memory, from one thread to one other: the only ways in which state
// crosses threads here.
//
// What it lacks: locks, waiting, waking. Nothing tells the other side that something has arrived; each side
// looks when its own time comes. Two writers need two queues, two readers two `Latest`s.
//
// The invariant: each end belongs to one thread at a time. The types can't check that, which is why they are
// `@unchecked Sendable`; whatever else is in the product says beside it which one thread owns it.
//
// The way in: `Latest` for "how it stands", where only the newest value counts; `SPSCQueue` for "do this",
// where every value counts; `SlotQueue` for audio, which is written and read in place. Elements are `BitwiseCopyable`:
// that keeps reference counting off the audio thread. Memory is taken in `init` and given back in `deinit`, never between.
