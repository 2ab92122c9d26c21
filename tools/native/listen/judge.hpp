// SPDX-License-Identifier: GPL-2.0-or-later
// What was heard, when, and how far from the beat. Everything here happens after a section has been recorded.
#pragma once
#include <string>

#include "clock.hpp"
#include "tap.hpp"
#include "wall.hpp"

namespace ear {

struct TapCycle {
  int64_t frame;     // unwrapped
  int64_t frames;
  double start;      // by JACK's clock, as Link's host time; NaN where JACK's pair is not sane
  double slope;      // microseconds per frame, by JACK
  double wake;
  BeatLine line;
  int32_t state;
  uint32_t songFrame;
  bool hasBBT;
  double bbtBeats, bbtTempo;
  bool isTorn;
};

// An onset or a MIDI event, in a cycle.
struct Event {
  size_t cycle;
  uint8_t port;
  uint32_t offset;
  float peak;
  uint8_t size;  // 0: an onset
  uint8_t bytes[3];
};

struct Judgement {
  Event event;
  int64_t frame;
  double jack, wall;            // when it is heard; NaN where unknown
  double beat;                  // of the reference peer, then
  double jackError, wallError;  // microseconds from the nearest grid point, positive: late
  // The same by the line of the cycle before, carried on: where two cycles meet JACK's clock gives two times.
  double beforeError;
  int64_t index;                // of the grid point
  int sinceStall;               // the number of this cycle after the latest lost one, from 1
  bool quiet;                   // no stall of the server for long: JACK's clock has settled
  bool steady;                  // no change of the session's tempo or phase close by
  bool settled;                 // nor for so long that every peer must have heard of it

  // By JACK's clock; its times are whole microseconds.
  bool isWithin(double micros) const {
    return std::fabs(jackError) <= micros + 1 || std::fabs(beforeError) <= micros + 1;
  }
  bool isSure() const { return steady && sinceStall >= 2; }
};

struct Continuity {
  std::vector<int64_t> missing, doubled;
  int excused = 0;  // not heard, but their time may have come in a lost cycle
  int moved = 0;    // the session's beat jumped between two events: nobody knows how many were due
};

struct Statistics {
  size_t count = 0;
  double median = 0, least = 0, most = 0, p99 = 0;

  static Statistics of(std::vector<double> values) {
    Statistics s;
    s.count = values.size();
    if (values.empty()) return s;
    std::sort(values.begin(), values.end());
    s.median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    s.least = values.front();
    s.most = values.back();
    std::vector<double> sizes;
    for (double v : values) sizes.push_back(std::fabs(v));
    std::sort(sizes.begin(), sizes.end());
    s.p99 = sizes[static_cast<size_t>(std::ceil(0.99 * sizes.size())) - 1];
    return s;
  }
};

class Judge {
 public:
  static constexpr double kSettled = 15e6;  // after a stall JACK's loop (1/8 Hz) is within 2 us of the truth by then
  static constexpr double kAgreed = 100;  // JACK's clock and the wall's, beside their usual distance
  static constexpr double kNearChange = 150e3;
  static constexpr double kSettledChange = 1.5e6;  // a change that got lost is told again four times a second
  static constexpr double kMoved = 0.02;  // beats: half the distance of two MIDI clocks

  // How often the session's tempo or phase changed.
  size_t changes() const { return mChanges.size(); }

  Judge(double rate, int period) : wall(rate, period), mRate(rate) {}
  double rate() const { return mRate; }

  // How long before our peer heard of a change somebody else may have heard of it and played by it.
  double newsTake = kNearChange;

  // The beat at a frame of a cycle, when it is heard. With a song tempo, the song's position by frames instead:
  // what a program that follows JACK transport's frames must be in time with.
  double songTempo = 0;

  Wall wall;
  std::vector<TapCycle> cycles;
  std::vector<Event> events;
  std::vector<WakePoint> wakes;
  std::vector<std::pair<double, double>> latencies[kMostPorts];  // (from this wake-up on, frames)
  double began = 0;                                              // when the server was last known to be disturbed

  void prepare() {
    wall.fit(wakes);
    mSince.assign(cycles.size(), 0);
    mQuiet.assign(cycles.size(), false);
    mSteady.assign(cycles.size(), true);
    mChanges.clear();
    mMoves.clear();
    int since = 0;
    for (size_t i = 0; i < cycles.size(); ++i) {
      const auto* here = wall.find(cycles[i].frame);
      const bool lost = i > 0 && cycles[i].frame != cycles[i - 1].frame + cycles[i - 1].frames;
      const bool stalled = i > 0 && here != wall.find(cycles[i - 1].frame);
      since = i == 0 || lost || stalled || !here ? 1 : since + 1;
      if (cycles[i].isTorn) since = 0;
      mSince[i] = here ? since : 0;
      if (here) mQuiet[i] = wallTime(*here, cycles[i], 0) - stretchBegan(*here) > kSettled;
    }
    requireAgreement();
    noteChanges();
  }

  // For those who listen for hours: what is before this cycle is not needed any more.
  void forget(size_t count) {
    if (wall.stretches.size() > 1) {
      began = wall.time(wall.stretches.back(), static_cast<double>(wall.stretches.back().firstFrame));
    }
    const auto first = cycles[count].frame;
    cycles.erase(cycles.begin(), cycles.begin() + static_cast<ptrdiff_t>(count));
    events.erase(std::remove_if(events.begin(), events.end(), [&](const Event& e) { return e.cycle < count; }),
      events.end());
    for (auto& event : events) event.cycle -= count;
    wakes.erase(std::remove_if(wakes.begin(), wakes.end(), [&](const WakePoint& w) { return w.frame < first; }),
      wakes.end());
  }

  std::vector<Judgement> judge(uint8_t port, int perBeat) const {
    std::vector<Judgement> all;
    for (const auto& event : events) {
      if (event.port != port) continue;
      if (event.size > 0 && !(event.size == 1 && event.bytes[0] == 0xF8)) continue;
      const auto judgement = judge(event, perBeat);
      if (std::isfinite(judgement.beat)) all.push_back(judgement);  // else nobody knows when it was heard
    }
    return all;
  }

  Judgement judge(const Event& event, int perBeat) const {
    const auto& cycle = cycles[event.cycle];
    const double latency = latencyOf(event.port, cycle.wake);
    Judgement j{};
    j.event = event;
    j.frame = cycle.frame + event.offset;
    j.jack = cycle.start + (event.offset + latency) * cycle.slope;
    const auto* stretch = wall.find(cycle.frame);
    j.wall = stretch ? wallTime(*stretch, cycle, event.offset + latency) : NAN;
    j.sinceStall = mSince[event.cycle];
    j.quiet = mQuiet[event.cycle];
    j.steady = mSteady[event.cycle];
    j.settled = j.steady && !hasIn(mChanges, cycle.line.micros - kSettledChange, cycle.line.micros);
    const double heard = std::isnan(j.wall) ? j.jack : j.wall;
    if (songTempo > 0) {
      j.beat = (cycle.songFrame + event.offset) * songTempo / 60 / mRate;
      j.index = std::llround(j.beat * perBeat);
      j.jackError = j.wallError = (j.beat - static_cast<double>(j.index) / perBeat) * 60e6 / songTempo;
      return j;
    }
    j.beat = cycle.line.at(heard);
    if (!std::isfinite(j.beat)) return j;
    j.index = std::llround(j.beat * perBeat);
    const double ideal = cycle.line.when(static_cast<double>(j.index) / perBeat);
    j.jackError = j.jack - ideal;
    j.wallError = j.wall - ideal;
    j.beforeError = NAN;
    if (event.cycle > 0) {
      const auto& before = cycles[event.cycle - 1];
      const auto passed = cycle.frame - before.frame;
      if (passed == before.frames) j.beforeError = before.start + (passed + event.offset + latency) * before.slope - ideal;
    }
    return j;
  }

  // From one sure event to the next, the grid says how many there must be between them, whatever their exact time.
  // Told is what ends in the frames after `from` and up to `to`.
  Continuity continuity(const std::vector<Judgement>& all, int64_t from = INT64_MIN, int64_t to = INT64_MAX) const {
    Continuity result;
    const Judgement* before = nullptr;
    int between = 0;
    for (const auto& j : all) {
      if (j.frame > to) break;
      if (!j.isSure()) {
        ++between;
        continue;
      }
      if (before && j.frame > from) compare(*before, j, between, result);
      before = &j;
      between = 0;
    }
    return result;
  }

  double latencyOf(uint8_t port, double wake) const {
    double frames = 0;
    for (const auto& [from, value] : latencies[port]) {
      if (from > wake && from != latencies[port].front().first) break;
      frames = value;
    }
    return frames;
  }

  double wallTime(const Stretch& stretch, const TapCycle& cycle, double frame) const {
    return wall.time(stretch, static_cast<double>(cycle.frame) + frame);
  }
  double frameMicros() const { return 1e6 / mRate; }
  bool isQuiet(size_t cycle) const { return mQuiet[cycle]; }
  int sinceStall(size_t cycle) const { return mSince[cycle]; }
  bool isSteady(size_t cycle) const { return mSteady[cycle]; }

 private:
  double stretchBegan(const Stretch& stretch) const {
    // Before the first stretch nothing is known but what the caller knows.
    if (&stretch == &wall.stretches.front()) return began;
    return wall.time(stretch, static_cast<double>(stretch.firstFrame));
  }

  // A wake-up that was very late, but no stall, shakes JACK's filter too.
  void requireAgreement() {
    std::vector<double> distances(cycles.size(), NAN), sane;
    for (size_t i = 0; i < cycles.size(); ++i) {
      const auto* stretch = wall.find(cycles[i].frame);
      if (!mQuiet[i] || !stretch) continue;
      distances[i] = cycles[i].start - wallTime(*stretch, cycles[i], 0);
      if (std::isfinite(distances[i])) sane.push_back(distances[i]);
    }
    if (sane.empty()) return;
    std::nth_element(sane.begin(), sane.begin() + static_cast<ptrdiff_t>(sane.size() / 2), sane.end());
    const double usual = sane[sane.size() / 2];
    for (size_t i = 0; i < cycles.size(); ++i) mQuiet[i] = mQuiet[i] && std::fabs(distances[i] - usual) < kAgreed;
  }

  static bool hasIn(const std::vector<double>& times, double from, double to) {
    const auto next = std::lower_bound(times.begin(), times.end(), from);
    return next != times.end() && *next <= to;
  }

  void noteChanges() {
    for (size_t i = 1; i < cycles.size(); ++i) {
      const auto &a = cycles[i - 1].line, &b = cycles[i].line;
      const double jump = (a.at(b.micros) - b.beat) * b.microsPerBeat;
      if (a.microsPerBeat != b.microsPerBeat || std::fabs(jump) > 3) mChanges.push_back(b.micros);
      if (std::fabs(jump) > kMoved * b.microsPerBeat) mMoves.push_back(b.micros);
    }
    for (size_t i = 0; i < cycles.size(); ++i) {
      const double now = cycles[i].line.micros;
      mSteady[i] = !hasIn(mChanges, now - kNearChange, now + newsTake);
    }
  }

  void compare(const Judgement& a, const Judgement& b, int between, Continuity& result) const {
    const int64_t due = b.index - a.index - 1 - between;
    if (due == 0 || stoppedBetween(a.event, b.event)) return;
    if (hasIn(mMoves, cycles[a.event.cycle].line.micros, cycles[b.event.cycle].line.micros)) {
      result.moved += 1;
      return;
    }
    bool lost = false;
    for (auto i = a.event.cycle; i <= b.event.cycle; ++i) lost = lost || mSince[i] < 2;
    if (due > 0 && lost) {
      result.excused += static_cast<int>(due);
    } else if (due > 0) {
      for (int64_t k = 1; k <= due; ++k) result.missing.push_back(a.index + k);
    } else if (!lost) {
      result.doubled.push_back(b.index);
    }
  }

  // MIDI: between a Stop and the next clock nothing is due.
  bool stoppedBetween(const Event& a, const Event& b) const {
    return std::any_of(events.begin(), events.end(), [&](const Event& e) {
      return e.port == a.port && e.size == 1 && e.bytes[0] == 0xFC && e.cycle >= a.cycle && e.cycle <= b.cycle;
    });
  }

  const double mRate;
  std::vector<int> mSince;
  std::vector<bool> mQuiet, mSteady;
  std::vector<double> mChanges, mMoves;  // when the session's tempo or beat changed; when its beat jumped
};

}  // namespace ear
