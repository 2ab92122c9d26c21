// SPDX-License-Identifier: GPL-2.0-or-later
// Sounds that the recorder plays itself.
#pragma once
#include <vector>

#include "record.hpp"

// A click at exactly known distances from the reference beat, which shows that the listener measures
// correctly. It uses JACK's own clock, as a well-made program does.
class Exact : public Client {
 public:
  Exact(SharedLine& shared, double offsetMicros, double perBeat)
    : mShared(shared), mOffset(offsetMicros), mPerBeat(perBeat) {}

  std::atomic<double> rawMinusJack{0};  // microseconds; the main thread updates it

 private:
  static constexpr int kClickFrames = 48;

  bool prepare() override { return (mOut = port("out", false, JackPortIsOutput)) != nullptr; }

  void process(jack_nframes_t frames) override {
    auto* out = static_cast<float*>(jack_port_get_buffer(mOut, frames));
    for (jack_nframes_t i = 0; i < frames; ++i) out[i] = mLeft > 0 ? static_cast<float>(mLeft--) / kClickFrames : 0;
    const auto now = cycle(Kind::cycle, frames);
    BeatLine line;
    if (!now.timesValid || !mShared.read(line)) return;
    const double slope = (now.next - now.current) / frames;
    jack_latency_range_t range{0, 0};
    jack_port_get_latency_range(mOut, JackPlaybackLatency, &range);
    const double start = now.current + rawMinusJack + range.max * 1e6 / rate - mOffset;
    if (!mStarted) mLast = std::floor(line.at(start) * mPerBeat);
    mStarted = true;
    while (true) {
      const double frame = std::round((line.when((mLast + 1) / mPerBeat) - start) / slope);
      if (!(frame < frames)) return;
      mLast += 1;
      mLeft = kClickFrames;
      for (auto i = static_cast<jack_nframes_t>(std::max(frame, 0.0)); i < frames && mLeft > 0; ++i) {
        out[i] = static_cast<float>(mLeft--) / kClickFrames;
      }
    }
  }

  SharedLine& mShared;
  const double mOffset, mPerBeat;
  jack_port_t* mOut = nullptr;
  double mLast = 0;
  int mLeft = 0;
  bool mStarted = false;
};

// A route that delays sound by N frames and reports this to JACK, as a converter or plugin does: audio from
// through:in leaves through:out N frames later, and the latencies of both ports include the N frames.
class Through : public Client {
 public:
  explicit Through(int frames) : mFrames(static_cast<jack_nframes_t>(frames)), mLine(mFrames + 1, 0) {}

 private:
  bool prepare() override {
    mIn = port("in", false, JackPortIsInput);
    mOut = port("out", false, JackPortIsOutput);
    jack_set_latency_callback(client, &Through::latency, this);
    return mIn && mOut;
  }

  void process(jack_nframes_t frames) override {
    const auto* in = static_cast<const float*>(jack_port_get_buffer(mIn, frames));
    auto* out = static_cast<float*>(jack_port_get_buffer(mOut, frames));
    for (jack_nframes_t i = 0; i < frames; ++i) {
      mLine[mNext] = in[i];
      mNext = (mNext + 1) % mLine.size();
      out[i] = mLine[mNext];
    }
  }

  static void latency(jack_latency_callback_mode_t mode, void* self) {
    auto& through = *static_cast<Through*>(self);
    const bool isPlayback = mode == JackPlaybackLatency;
    jack_latency_range_t range{0, 0};
    jack_port_get_latency_range(isPlayback ? through.mOut : through.mIn, mode, &range);
    range.min += through.mFrames;
    range.max += through.mFrames;
    jack_port_set_latency_range(isPlayback ? through.mIn : through.mOut, mode, &range);
  }

  jack_port_t *mIn = nullptr, *mOut = nullptr;
  const jack_nframes_t mFrames;
  std::vector<float> mLine;
  size_t mNext = 0;
};
