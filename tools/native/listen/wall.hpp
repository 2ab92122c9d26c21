// SPDX-License-Identifier: GPL-2.0-or-later
// When cycles began, by the wall. After a stall JACK's own conversion from frames to time is wrong for seconds, so this
// judge does not ask it: every stretch without interruption is a line at the nominal rate under the wake-up times (its
// lower envelope: a wake-up can be late, never early). A shift of the line is a stall of the server.
//
// jackd itself says where time began anew: its times of a cycle go on from those of the one before, but for the cycle in
// which its driver was too late. The next one begins the new line, at once and on time.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ear {

struct WakePoint {
  int64_t frame;  // unwrapped
  double micros;  // CLOCK_MONOTONIC_RAW
  bool isReset = false;  // JACK's times do not go on from those of the cycle before
};

struct Stretch {
  int64_t firstFrame;
  int64_t endFrame;  // of the last cycle before the next stall: what lies between is inside of it
  double offset;     // micros at frame 0
};

class Wall {
 public:
  Wall(double rate, int period) : mMicrosPerFrame(1e6 / rate) {
    const double cycle = period * mMicrosPerFrame;
    mTolerance = tolerance(cycle);
    mAccident = accident(cycle);
  }

  // A wake-up that is later than so many microseconds is late; so many of them in a row are no accident.
  static double tolerance(double cycle) { return std::max(200.0, cycle / 4); }
  static size_t accident(double cycle) { return std::max<size_t>(4, static_cast<size_t>(std::ceil(20'000 / cycle))); }

  void fit(const std::vector<WakePoint>& points) {
    stretches.clear();
    if (points.empty()) return;
    std::vector<double> offsets(points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      offsets[i] = points[i].micros - points[i].frame * mMicrosPerFrame;
    }
    const auto resets = static_cast<size_t>(
      std::count_if(points.begin(), points.end(), [](const auto& p) { return p.isReset; }));
    mBelievesResets = resets * 10 < points.size();  // PipeWire has no such chain
    size_t begin = 0;
    while (begin < points.size()) begin = stretchFrom(begin, points, offsets);
  }

  // nullptr: the frame was lost in a stall.
  const Stretch* find(int64_t frame) const {
    auto after = std::upper_bound(stretches.begin(), stretches.end(), frame,
      [](int64_t f, const Stretch& s) { return f < s.firstFrame; });
    if (after == stretches.begin()) return nullptr;
    const auto& found = *std::prev(after);
    return frame < found.endFrame ? &found : nullptr;
  }

  double time(const Stretch& stretch, double frame) const { return stretch.offset + frame * mMicrosPerFrame; }

  std::vector<Stretch> stretches;

 private:
  // One late wake-up is an accident; so many in a row are a new line. Returns where the next stretch begins.
  size_t stretchFrom(size_t begin, const std::vector<WakePoint>& points, const std::vector<double>& offsets) {
    if (startsAnew(points[begin])) return begin + 1;
    double level = offsets[begin];
    size_t late = 0, end = begin, next = points.size();
    for (size_t i = begin; i < points.size(); ++i) {
      if (startsAnew(points[i])) {
        next = i;
        break;
      }
      if (offsets[i] < level - mTolerance && i - begin >= mAccident && jumped(points, i)) {
        next = i;  // the frame counter ran ahead of the time
        break;
      }
      level = std::min(level, offsets[i]);
      late = offsets[i] >= level + mTolerance ? late + 1 : 0;
      if (late == 0) end = i + 1;
      if (late >= mAccident) {
        next = settled(offsets, end, i + 1);
        break;
      }
    }
    const auto period = points.size() > 1 ? points[1].frame - points[0].frame : 0;
    stretches.push_back({points[begin].frame, points[end - 1].frame + period, lowest(offsets, begin, end)});
    return next;
  }

  // Of the late wake-ups in [from, to), the first that is on the line of the last ones.
  size_t settled(const std::vector<double>& offsets, size_t from, size_t to) const {
    const double level = lowest(offsets, to - (to - from + 1) / 2, to);
    while (from < to && (offsets[from] < level - kSame || offsets[from] > level + mTolerance)) ++from;
    return from;
  }

  bool startsAnew(const WakePoint& point) const { return mBelievesResets && point.isReset; }

  static bool jumped(const std::vector<WakePoint>& points, size_t i) {
    return i >= 2 && points[i].frame - points[i - 1].frame != points[i - 1].frame - points[i - 2].frame;
  }
  static double lowest(const std::vector<double>& offsets, size_t from, size_t to) {
    return *std::min_element(offsets.begin() + from, offsets.begin() + to);
  }

  static constexpr double kSame = 100;
  const double mMicrosPerFrame;
  double mTolerance;
  size_t mAccident;
  bool mBelievesResets = true;
};

}  // namespace ear
