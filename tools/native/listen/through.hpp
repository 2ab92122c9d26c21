// SPDX-License-Identifier: GPL-2.0-or-later
// A route that really is longer by N frames and says so, as a converter or a plugin would: what enters through:in leaves
// through:out N frames later, and both ports' latencies are told that way.
#pragma once
#include <jack/jack.h>

#include <string>
#include <vector>

namespace ear {

class Through {
 public:
  bool open(const std::string& name, int frames) {
    mLine.assign(static_cast<size_t>(frames) + 1, 0);
    mFrames = static_cast<jack_nframes_t>(frames);
    mClient = jack_client_open(name.c_str(), JackNoStartServer, nullptr);
    if (!mClient) return false;
    mIn = jack_port_register(mClient, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    mOut = jack_port_register(mClient, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
    jack_set_process_callback(mClient, &Through::process, this);
    jack_set_latency_callback(mClient, &Through::latency, this);
    return mIn && mOut && jack_activate(mClient) == 0;
  }
  void close() {
    if (mClient) jack_client_close(mClient);
  }

 private:
  static int process(jack_nframes_t frames, void* self) {
    auto& through = *static_cast<Through*>(self);
    const auto* in = static_cast<const float*>(jack_port_get_buffer(through.mIn, frames));
    auto* out = static_cast<float*>(jack_port_get_buffer(through.mOut, frames));
    for (jack_nframes_t i = 0; i < frames; ++i) {
      through.mLine[through.mNext] = in[i];
      through.mNext = (through.mNext + 1) % through.mLine.size();
      out[i] = through.mLine[through.mNext];
    }
    return 0;
  }

  static void latency(jack_latency_callback_mode_t mode, void* self) {
    auto& through = *static_cast<Through*>(self);
    auto* from = mode == JackPlaybackLatency ? through.mOut : through.mIn;
    jack_latency_range_t range{0, 0};
    jack_port_get_latency_range(from, mode, &range);
    range.min += through.mFrames;
    range.max += through.mFrames;
    jack_port_set_latency_range(mode == JackPlaybackLatency ? through.mIn : through.mOut, mode, &range);
  }

  jack_client_t* mClient = nullptr;
  jack_port_t *mIn = nullptr, *mOut = nullptr;
  jack_nframes_t mFrames = 0;
  std::vector<float> mLine;
  size_t mNext = 0;
};

}  // namespace ear
