// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

// LinkAudioPath: audio that travels with the beats it belongs to, from an input's frames to datagrams, and from what
// arrives to the frames that a speaker plays at that beat plus a delay.
//
// Sending: the audio thread stamps each period (`SessionGrid.stamp`); off it a `Chunker` makes `AudioDatagram`s.
// Receiving: a `Playout` per channel takes `AudioChunk`s in whatever order they come and fills an output's frames.
//
// It lacks, on purpose: sockets, a clock, threads, chance, the bytes of the wire, and memory of its own. Who makes a
// `Playout` gives it its memory; the generator of a `Chunker`'s dither starts from a seed.
//
// One invariant: a sample has a place in its stream, by the numbers of the chunks, and the stream has one line from
// places to time, by their stamps. What is played at a frame is always computed from these two. Nothing counts frames
// along, so whatever is lost, late or doubled moves nothing else.
//
// The way in: `Hearing` (one period of an output), then `Playout`: `take` in Playout+Take.swift, `render` in
// Playout+Render.swift. Sending is [network] apart from the stamp; receiving is [audio].
