// SPDX-License-Identifier: GPL-2.0-or-later
import Handoff
import LinkAudioPath

// AudioLanes: a channel of audio between an audio thread and the thread that has the network.
//
// It lacks, on purpose: sockets, names and JACK. Anyone who has an audio thread uses one end of a lane, anyone who has a socket
// the other, and neither knows the other. What is sent and how it is played is LinkAudioPath's.
//
// The invariant: all memory of a lane is taken in `init`, at addresses that stay, and given back in `deinit`. The audio
// thread gets a plain handle to it (`SendEnd`, `ReceiveEnd`), never the object: who made the lane keeps it until that
// thread has let go.
//
// The way in: `SendLane` for an input, `ReceiveLane` for an output.
