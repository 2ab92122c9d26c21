// SPDX-License-Identifier: GPL-2.0-or-later
// build: g++ -std=c++17 -DLINK_PLATFORM_LINUX=1 -ljack -lpthread
// The bridge that everybody writes first: timebase master that shows the session's beat of "now", that is of the cycle
// that is being computed, though what it writes is shown for the next one, and heard another latency later.
#include <jack/jack.h>
#include <unistd.h>

#include <ableton/Link.hpp>
#include <cmath>

static ableton::Link session(120);
static jack_client_t* client;

static void timebase(jack_transport_state_t, jack_nframes_t, jack_position_t* position, int, void*) {
  jack_nframes_t frames;
  jack_time_t current, next;
  float period;
  if (jack_get_cycle_times(client, &frames, &current, &next, &period) != 0) return;
  const auto state = session.captureAudioSessionState();
  const double beat = std::max(0.0, state.beatAtTime(std::chrono::microseconds(current), 4));
  position->valid = JackPositionBBT;
  position->beats_per_bar = 4;
  position->beat_type = 4;
  position->ticks_per_beat = 1920;
  position->beats_per_minute = state.tempo();
  position->bar = static_cast<int32_t>(beat / 4) + 1;
  position->beat = static_cast<int32_t>(std::fmod(beat, 4)) + 1;
  position->tick = static_cast<int32_t>(std::fmod(beat, 1) * 1920);
  position->bar_start_tick = (position->bar - 1) * 4 * 1920.0;
}

static int process(jack_nframes_t, void*) { return 0; }

int main() {
  session.enable(true);
  client = jack_client_open("naive", JackNoStartServer, nullptr);
  if (!client) return 69;
  jack_set_process_callback(client, process, nullptr);
  if (jack_activate(client) != 0 || jack_set_timebase_callback(client, 0, timebase, nullptr) != 0) return 1;
  for (;;) pause();
}
