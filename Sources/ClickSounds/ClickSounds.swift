// SPDX-License-Identifier: GPL-2.0-or-later

// ClickSounds: what a click sounds like, as samples at the server's rate, in memory that the audio thread may read.
//
// It lacks any idea of when something sounds: that is HostSync's. It runs on the control thread, allocates, and is
// done before the audio thread hears of it.
//
// One invariant: a sound begins with its first frame. Nothing is faded in, so the frame at which HostSync starts a
// sound is the frame at which it is heard.
//
// Way in: `RenderedBank`, made from a `ClickSound` and, in the place of any of its three sounds, a `SoundFile`.
