// SPDX-License-Identifier: GPL-2.0-or-later
// A click at exactly known distances from the reference beat: what shows that the listener measures what it should.
// Two clocks: JACK's own, as a well-made program would use, or the wall: the earliest of the driver's wake-ups since
// the last stall (which is told as in wall.hpp).
#pragma once
#include <jack/jack.h>

#include "ring.hpp"
#include "wall.hpp"

namespace ear {

class Exact {
 public:
  enum class Clock { jack, wall };

  Exact(const SharedLine& shared, double offsetMicros, int perBeat, Clock clock)
    : mShared(shared), mOffset(offsetMicros), mPerBeat(perBeat), mClock(clock) {}

  bool open(const std::string& name) {
    mClient = jack_client_open(name.c_str(), JackNoStartServer, nullptr);
    if (!mClient) return false;
    mOut = jack_port_register(mClient, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
    mRate = jack_get_sample_rate(mClient);
    jack_set_process_callback(mClient, [](jack_nframes_t frames, void* self) {
      static_cast<Exact*>(self)->process(frames);
      return 0;
    }, this);
    return mOut && jack_activate(mClient) == 0;
  }
  void close() {
    if (mClient) jack_client_close(mClient);
  }

  std::atomic<double> rawMinusJack{0};  // microseconds; the main thread keeps it

 private:
  static constexpr int kClickFrames = 48;

  void process(jack_nframes_t frames) {
    jack_position_t position{};
    jack_transport_query(mClient, &position);
    const double wake = static_cast<double>(position.usecs) + rawMinusJack.load(std::memory_order_relaxed);
    auto* out = static_cast<float*>(jack_port_get_buffer(mOut, frames));
    for (jack_nframes_t i = 0; i < frames; ++i) {
      out[i] = mLeft > 0 ? static_cast<float>(mLeft--) / kClickFrames : 0;
    }
    double slope = 1e6 / mRate;
    double start = 0;
    BeatLine line;
    if (!begin(wake, frames, start, slope) || !mShared.read(line)) return;
    jack_latency_range_t range{0, 0};
    jack_port_get_latency_range(mOut, JackPlaybackLatency, &range);
    start += range.max * 1e6 / mRate - mOffset;
    if (!mStarted) {
      mStarted = true;
      mLast = std::floor(line.at(start) * mPerBeat);
    }
    while (true) {
      const double frame = std::round((line.when((mLast + 1) / mPerBeat) - start) / slope);
      if (!(frame < frames)) return;
      mLast += 1;
      const auto first = static_cast<jack_nframes_t>(std::max(frame, 0.0));
      mLeft = kClickFrames;
      for (auto i = first; i < frames && mLeft > 0; ++i) out[i] = static_cast<float>(mLeft--) / kClickFrames;
    }
  }

  // When frame 0 of this cycle begins, in Link's host time, and how long a frame lasts.
  bool begin(double wake, jack_nframes_t frames, double& start, double& slope) {
    Cycle cycle{};
    cycle.frame = jack_last_frame_time(mClient);
    cycle.frames = frames;
    noteTimes(mClient, cycle);
    if (mClock == Clock::wall) {
      const double anchor = wake - (mUnwrapped += cycle.frame - mFrame) * slope;
      const bool breaks = mChain.breaks(cycle, mRate);
      if (breaks || mBroke || !mRunning || isNewLine(anchor, frames * slope)) mAnchor = anchor;
      mAnchor = std::min(mAnchor, anchor);
      mBroke = breaks;
      mRunning = true;
      mFrame = cycle.frame;
      start = mAnchor + mUnwrapped * slope;
      return true;
    }
    if (!cycle.timesValid) return false;
    start = static_cast<double>(cycle.current) + rawMinusJack.load(std::memory_order_relaxed);
    slope = static_cast<double>(cycle.next - cycle.current) / frames;
    return true;
  }

  // A stall that JACK's times did not show.
  bool isNewLine(double anchor, double cycle) {
    mLate = anchor > mAnchor + Wall::tolerance(cycle) ? mLate + 1 : 0;
    return mLate >= Wall::accident(cycle);
  }

  const SharedLine& mShared;
  const double mOffset, mPerBeat;
  const Clock mClock;
  jack_client_t* mClient = nullptr;
  jack_port_t* mOut = nullptr;
  double mRate = 48000, mLast = 0, mAnchor = 0, mUnwrapped = 0;
  uint32_t mFrame = 0;
  int mLeft = 0;
  size_t mLate = 0;
  bool mStarted = false, mRunning = false, mBroke = false;
  Chain mChain;
};

}  // namespace ear
