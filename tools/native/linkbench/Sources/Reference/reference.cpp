// SPDX-License-Identifier: GPL-2.0-or-later
#include "reference.h"
#include <ableton/Link.hpp>

struct Reference {
  ableton::Link link;
};

extern "C" {
Reference *reference_new(double tempo) { return new Reference{ableton::Link{tempo}}; }
void reference_delete(Reference *link) { delete link; }
void reference_enable(Reference *link, int on) { link->link.enable(on != 0); }
int reference_peers(Reference *link) { return static_cast<int>(link->link.numPeers()); }

double reference_audio_turns(Reference *link, int turns, int64_t time) {
  double sum = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const auto state = link->link.captureAudioSessionState();
    sum += state.beatAtTime(std::chrono::microseconds{time + turn}, 4);
  }
  return sum;
}
}
