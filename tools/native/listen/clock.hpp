// SPDX-License-Identifier: GPL-2.0-or-later
// From JACK's clock to Link's. One clock on jackd, two that drift apart on PipeWire: measured again and again by a normal
// thread, and read between two measurements.
#pragma once
#include <jack/jack.h>

#include <algorithm>
#include <vector>

#include "record.hpp"

namespace ear {

class ClockMap {
 public:
  // Only after a client is open: jack_get_time() crashes before.
  double sample() {
    double tightest = 1e9;
    Point best{};
    for (int attempt = 0; attempt < 5; ++attempt) {
      const double before = rawNow() / 1000.0;
      const double jack = static_cast<double>(jack_get_time());
      const double after = rawNow() / 1000.0;
      if (after - before >= tightest) continue;
      tightest = after - before;
      best = {jack + 0.5, (before + after) / 2 - (jack + 0.5)};  // jack_get_time() cuts the fraction off
    }
    mPoints.push_back(best);
    return best.rawMinusJack;
  }

  void forget(size_t keep) {
    if (mPoints.size() > 2 * keep) mPoints.erase(mPoints.begin(), mPoints.end() - static_cast<ptrdiff_t>(keep));
  }

  double raw(double jack) const {
    auto next = std::lower_bound(mPoints.begin(), mPoints.end(), jack,
      [](const Point& p, double t) { return p.jack < t; });
    if (next == mPoints.begin()) return jack + (mPoints.empty() ? 0 : next->rawMinusJack);
    const auto& a = *std::prev(next);
    if (next == mPoints.end()) return jack + a.rawMinusJack;
    const double part = (jack - a.jack) / (next->jack - a.jack);
    return jack + a.rawMinusJack + part * (next->rawMinusJack - a.rawMinusJack);
  }

 private:
  struct Point {
    double jack, rawMinusJack;
  };
  std::vector<Point> mPoints;
};

}  // namespace ear
