// SPDX-License-Identifier: GPL-2.0-or-later
// What the audio thread writes down, one record after another, for the main thread to judge later.
#pragma once
#include <jack/jack.h>

#include <cmath>
#include <cstdint>
#include <ctime>

namespace ear {

constexpr int kMostPorts = 16;

// Link's host clock. Nanoseconds.
inline int64_t rawNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The reference peer's beat as a line: beat(t) = beat + (t - micros) / microsPerBeat, t in Link's host time.
struct BeatLine {
  double micros = 0;
  double beat = 0;
  double microsPerBeat = 500'000;  // whole: two Link peers agree on no finer tempo

  double at(double t) const { return beat + (t - micros) / microsPerBeat; }
  double when(double b) const { return micros + (b - beat) * microsPerBeat; }
};

struct Cycle {
  uint32_t frame;      // jack_last_frame_time
  uint32_t frames;     // in this cycle
  int64_t wake;        // CLOCK_MONOTONIC_RAW at the callback's entry, nanoseconds
  uint64_t current, next;  // jack_get_cycle_times, in JACK's clock
  bool timesValid;
  uint64_t driver;  // its note of its wake-up (jack_position_t.usecs), in JACK's clock
  BeatLine line;
  // What JACK's transport shows in this cycle.
  int32_t state;
  uint32_t songFrame;
  bool hasBBT;
  double bbtBeats;  // (bar - 1) * beats per bar + (beat - 1) + tick / ticks per beat
  double bbtTempo;
};

inline void noteTimes(jack_client_t* client, Cycle& cycle) {
  jack_nframes_t at;
  float period;
  cycle.timesValid = jack_get_cycle_times(client, &at, &cycle.current, &cycle.next, &period) == 0
    && cycle.next > cycle.current;
}

// jackd's times of a cycle go on from those of the one before, to the microsecond, unless its driver was too late.
class Chain {
 public:
  bool breaks(const Cycle& cycle, double rate) {
    const double missed = static_cast<int32_t>(cycle.frame - mEnd) * 1e6 / rate;
    const double jump = static_cast<double>(cycle.current) - mNext - missed;
    const bool isFirst = mNext == 0;
    mEnd = cycle.frame + cycle.frames;
    mNext = static_cast<double>(cycle.next);
    // Across cycles that were missed JACK's loop is only followed roughly.
    return !isFirst && (!cycle.timesValid || std::fabs(jump) > (missed == 0 ? 2 : 150));
  }

 private:
  uint32_t mEnd = 0;
  double mNext = 0;
};

struct Onset {
  uint8_t port;
  uint32_t offset;  // within the cycle
  float peak;       // loudest of the first 64 frames that are in this cycle
};

struct Midi {
  uint8_t port;
  uint32_t offset;
  uint8_t size;
  uint8_t bytes[3];
};

enum class Kind : uint8_t { cycle, wake, onset, midi, torn };

struct Record {
  Kind kind;  // torn: while the latest cycle was read, the next one began, and may have overwritten what was read
  union {
    Cycle cycle;  // Kind::cycle: the tap's. Kind::wake: the unconnected client's; its times alone
    Onset onset;  // belongs to the latest cycle record before it
    Midi midi;    // likewise
  };
  Record() : kind(Kind::torn), cycle() {}
};

}  // namespace ear
