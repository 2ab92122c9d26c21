// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

// Audio that travels with its beats: from the frames of an input to datagrams, and from received chunks to
// the frames that a speaker plays at their beat plus a delay.
//
// Sending: the audio thread stamps each period (`SessionGrid.stamp`); the network thread's `Chunker` makes
// `AudioDatagram`s of it. Receiving: each channel's `Playout` takes `AudioChunk`s in any order and fills the
// frames of an output.
//
// Deliberately absent: sockets, a clock, threads, randomness, the bytes of the wire, and memory of its own.
// The owner of a `Playout` gives it memory; the dither of a `Chunker` starts from a seed.
//
// The invariant: a sample has a place (its frame number) in its stream, found from the numbers of the chunks,
// and the stream has one line from places to time, found from their stamps. Each output frame is computed
// from these two, never by counting frames, so that a lost, late or doubled chunk moves nothing else.
//
// Start reading at `OutputPeriod` (one period of an output), then `Playout`: `insert` in
// Playout+Insert.swift, `render` in Playout+Render.swift. Sending is [network] except for the stamp;
// receiving is [audio].
