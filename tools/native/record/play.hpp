// SPDX-License-Identifier: GPL-2.0-or-later
// Sounds that the recorder plays itself.
#pragma once
#include <vector>

#include "record.hpp"

// A click at exactly known distances from the reference beat, which shows that the listener measures
// correctly. It uses one of two clocks. One is JACK's own, as in a well-made program. The other is the wall
// clock, taken from the earliest of the driver's wake-ups since the last stall (detected as in
// workshop/listening/wall.py).
class Exact : public Client {
 public:
  Exact(SharedLine& shared, double offsetMicros, double perBeat, bool isByWall)
    : mShared(shared), mOffset(offsetMicros), mPerBeat(perBeat), mIsByWall(isByWall) {}

  std::atomic<double> rawMinusJack{0};  // microseconds; the main thread updates it

 private:
  static constexpr int kClickFrames = 48;

  bool prepare() override { return (mOut = port("out", false, JackPortIsOutput)) != nullptr; }

  void process(jack_nframes_t frames) override {
    jack_position_t position{};
    jack_transport_query(client, &position);
    auto* out = static_cast<float*>(jack_port_get_buffer(mOut, frames));
    for (jack_nframes_t i = 0; i < frames; ++i) out[i] = mLeft > 0 ? static_cast<float>(mLeft--) / kClickFrames : 0;
    double slope = 1e6 / rate, start = 0;
    BeatLine line;
    if (!begin(static_cast<double>(position.usecs), frames, start, slope) || !mShared.read(line)) return;
    jack_latency_range_t range{0, 0};
    jack_port_get_latency_range(mOut, JackPlaybackLatency, &range);
    start += rawMinusJack + range.max * 1e6 / rate - mOffset;
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

  // The start of frame 0 of this cycle by JACK's clock, and the length of a frame.
  bool begin(double wake, jack_nframes_t frames, double& start, double& slope) {
    const auto now = cycle(Kind::cycle, frames);
    if (!mIsByWall) {
      start = now.current;
      slope = (now.next - now.current) / frames;
      return now.timesValid;
    }
    const double anchor = wake - (mUnwrapped += now.frame - mFrame) * slope;
    const bool isBroken = breaks(now);
    if (isBroken || mBroke || !mRunning || isNewLine(anchor, frames * slope)) mAnchor = anchor;
    mAnchor = std::min(mAnchor, anchor);
    mBroke = isBroken;
    mRunning = true;
    mFrame = now.frame;
    start = mAnchor + mUnwrapped * slope;
    return true;
  }

  // Whether JACK's times start anew with this cycle. Otherwise they continue the times of the last cycle,
  // exact to the microsecond on jackd.
  bool breaks(const Record& now) {
    const double missed = static_cast<int32_t>(now.frame - mEnd) * 1e6 / rate;
    const double jump = now.current - mNext - missed;
    const bool isFirst = mNext == 0;
    mEnd = now.frame + now.frames;
    mNext = now.next;
    // After missed cycles, JACK's times can be predicted only roughly.
    return !isFirst && (!now.timesValid || std::fabs(jump) > (missed == 0 ? 2 : 150));
  }

  // Detects a stall that JACK's times did not show: many late wake-ups in a row.
  bool isNewLine(double anchor, double period) {
    mLate = anchor > mAnchor + std::max(200.0, period / 4) ? mLate + 1 : 0;
    return mLate >= std::max(4.0, std::ceil(20'000 / period));
  }

  SharedLine& mShared;
  const double mOffset, mPerBeat;
  const bool mIsByWall;
  jack_port_t* mOut = nullptr;
  double mLast = 0, mAnchor = 0, mUnwrapped = 0, mNext = 0;
  uint32_t mFrame = 0, mEnd = 0, mLate = 0;
  int mLeft = 0;
  bool mStarted = false, mRunning = false, mBroke = false;
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
