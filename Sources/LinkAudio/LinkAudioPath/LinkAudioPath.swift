// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

// Audio that travels with its beats: from the frames of an input to datagrams, and from received chunks to
// the frames that a speaker plays at their beat plus a delay.
//
// Sending: the audio thread stamps each period (`SessionGrid.stamp`); the network thread's `Chunker` makes
// `AudioDatagram`s of the stamped periods. Receiving: each channel's `Playout` takes `AudioChunk`s in any
// order and fills the frames of an output.
//
// Deliberately absent: sockets, a clock, threads, randomness, the bytes of the wire, and memory of its own.
// The owner of a `Playout` gives it memory; the dither of a `Chunker` starts from a seed.
//
// The invariant: a sample has a place in its stream, which is its frame number. The place is found from the
// numbers of the chunks. The stream also has a line that gives each place its time; the line is found from
// the chunks' stamps. Each output frame is computed from places and this line, and never by counting played
// frames. So a lost, late or doubled chunk does not move the sound of other chunks.
//
// Start reading at `OutputPeriod` (one period of an output), then `Playout`: `insert` in
// Playout+Insert.swift, `render` in Playout+Render.swift. Sending is [network] except for the stamp;
// receiving is [audio].
