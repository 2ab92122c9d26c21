// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import LinkHandoff

// A channel of audio between an audio thread and the network's thread.
//
// Deliberately absent: sockets, names and JACK. The audio thread uses one end of a lane, and the network's
// thread uses the other end. The two threads never call each other. `LinkAudioPath` decides what is sent and
// how it is played.
//
// The invariant: a lane allocates all its memory in `init`, at fixed addresses, and frees it in `deinit`. The
// audio thread gets a plain handle (`SendEnd`, `ReceiveEnd`), never the object. The lane's owner keeps the
// lane until the audio thread no longer uses the handle.
//
// Start reading at `SendLane` for an input, `ReceiveLane` for an output.
