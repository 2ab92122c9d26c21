// SPDX-License-Identifier: GPL-2.0-or-later
// The two JACK clients of the listener. `Tap` is connected to what is judged and so runs after it in every cycle: what
// a program wrote in cycle n is in our buffers in cycle n. `Wake` is connected to nothing, so the driver alone wakes
// it: its wake-up times, and the driver's own note of when it woke, are the wall clock's view of when cycles began.
#pragma once
#include <jack/jack.h>
#include <jack/midiport.h>

#include <ableton/Link.hpp>
#include <string>
#include <vector>

#include "ring.hpp"

namespace ear {

struct Source {
  std::string name;     // the port that is judged
  int perBeat = 1;      // onsets or clocks expected in a beat
  bool isMidi = false;
  bool isPlugged = true;
  jack_port_t* input = nullptr;
};

class Wake {
 public:
  explicit Wake(Ring& ring) : mRing(ring) {}

  bool open(const std::string& name) {
    mClient = jack_client_open(name.c_str(), JackNoStartServer, nullptr);
    if (!mClient) return false;
    jack_set_process_callback(mClient, &Wake::process, this);
    return jack_activate(mClient) == 0;
  }
  void close() {
    if (mClient) jack_client_close(mClient);
  }

 private:
  static int process(jack_nframes_t frames, void* self) {
    Record record;
    record.kind = Kind::wake;
    record.cycle.wake = rawNow();
    auto& wake = *static_cast<Wake*>(self);
    record.cycle.frame = jack_last_frame_time(wake.mClient);
    record.cycle.frames = frames;
    noteTimes(wake.mClient, record.cycle);
    jack_position_t position{};
    jack_transport_query(wake.mClient, &position);
    record.cycle.driver = position.usecs;
    // Else the next cycle began meanwhile, and all this may be its.
    if (jack_last_frame_time(wake.mClient) == record.cycle.frame) wake.mRing.push(record);
    return 0;
  }
  Ring& mRing;
  jack_client_t* mClient = nullptr;
};

class Tap {
 public:
  static constexpr float kThreshold = 1e-5f;    // -100 dB: the first frame that is not silence
  static constexpr double kQuietSeconds = 0.005;  // silence before an onset

  Tap(Ring& ring, ableton::Link& link, SharedLine& shared, double quantum)
    : mRing(ring), mLink(link), mShared(shared), mQuantum(quantum) {}

  jack_client_t* open(const std::string& name, std::vector<Source>& sources) {
    mClient = jack_client_open(name.c_str(), JackNoStartServer, nullptr);
    if (!mClient) return nullptr;
    int index = 0;
    for (auto& source : sources) {
      const auto own = "in_" + std::to_string(++index);
      source.input = jack_port_register(mClient, own.c_str(),
        source.isMidi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
      if (!source.input) return nullptr;
      mQuiet[index - 1] = 1u << 30;
    }
    mSources = &sources;
    jack_set_process_callback(mClient, [](jack_nframes_t frames, void* self) {
      static_cast<Tap*>(self)->process(frames);
      return 0;
    }, this);
    jack_set_xrun_callback(mClient, [](void* self) {
      static_cast<Tap*>(self)->xruns.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }, this);
    jack_set_latency_callback(mClient, &Tap::latency, this);
    jack_on_shutdown(mClient, [](void* self) { static_cast<Tap*>(self)->gone = true; }, this);
    return jack_activate(mClient) == 0 ? mClient : nullptr;
  }
  void close() {
    if (mClient) jack_client_close(mClient);
  }

  std::atomic<uint64_t> xruns{0};
  std::atomic<bool> gone{false};   // the server
  std::atomic<int> pretended{-1};  // playback latency of our inputs in frames; -1: that of the hardware

 private:
  // Our inputs are as late as the loudspeaker, or as told: so the ports that feed us have one latency, not a range.
  static void latency(jack_latency_callback_mode_t mode, void* self) {
    auto& tap = *static_cast<Tap*>(self);
    if (mode != JackPlaybackLatency) return;
    jack_latency_range_t range{0, 0};
    const int told = tap.pretended.load(std::memory_order_relaxed);
    if (told >= 0) {
      range.min = range.max = static_cast<jack_nframes_t>(told);
    } else if (auto* physical = jack_port_by_name(tap.mClient, "system:playback_1")) {
      jack_port_get_latency_range(physical, JackPlaybackLatency, &range);
    } else if (auto** ports = jack_get_ports(tap.mClient, nullptr, JACK_DEFAULT_AUDIO_TYPE,
                 JackPortIsInput | JackPortIsPhysical)) {
      jack_port_get_latency_range(jack_port_by_name(tap.mClient, ports[0]), JackPlaybackLatency, &range);
      jack_free(ports);
    }
    for (auto& source : *tap.mSources) {
      jack_port_set_latency_range(source.input, JackPlaybackLatency, &range);
    }
  }

  void process(jack_nframes_t frames) {
    Record record;
    record.kind = Kind::cycle;
    auto& cycle = record.cycle;
    cycle.wake = rawNow();
    cycle.frame = jack_last_frame_time(mClient);
    cycle.frames = frames;
    noteTimes(mClient, cycle);
    noteLine(cycle);
    noteTransport(cycle);
    mRing.push(record);
    for (size_t i = 0; i < mSources->size(); ++i) {
      auto* buffer = jack_port_get_buffer((*mSources)[i].input, frames);
      if ((*mSources)[i].isMidi) {
        noteMidi(static_cast<uint8_t>(i), buffer);
      } else {
        noteOnsets(static_cast<uint8_t>(i), static_cast<const float*>(buffer), frames);
      }
    }
    if (jack_last_frame_time(mClient) != cycle.frame) {
      Record torn;
      mRing.push(torn);
    }
  }

  void noteLine(Cycle& cycle) {
    const auto state = mLink.captureAudioSessionState();
    const auto micros = cycle.wake / 1000;
    cycle.line.micros = static_cast<double>(micros);
    cycle.line.beat = state.beatAtTime(std::chrono::microseconds{micros}, mQuantum);
    cycle.line.microsPerBeat = std::round(60e6 / state.tempo());
    mShared.publish(cycle.line);
  }

  void noteTransport(Cycle& cycle) {
    jack_position_t position;
    cycle.state = static_cast<int32_t>(jack_transport_query(mClient, &position));
    cycle.songFrame = position.frame;
    cycle.driver = position.usecs;
    cycle.hasBBT = (position.valid & JackPositionBBT) != 0 && position.ticks_per_beat > 0;
    if (cycle.hasBBT) {
      cycle.bbtBeats = (position.bar - 1) * static_cast<double>(position.beats_per_bar) + (position.beat - 1)
        + position.tick / position.ticks_per_beat;
      cycle.bbtTempo = position.beats_per_minute;
    }
  }

  void noteOnsets(uint8_t port, const float* samples, jack_nframes_t frames) {
    const auto enough = static_cast<uint32_t>(kQuietSeconds * jack_get_sample_rate(mClient));
    for (jack_nframes_t i = 0; i < frames; ++i) {
      if (std::fabs(samples[i]) <= kThreshold) {
        mQuiet[port] += mQuiet[port] < (1u << 30) ? 1 : 0;
        continue;
      }
      if (mQuiet[port] >= enough) {
        Record record;
        record.kind = Kind::onset;
        record.onset = {port, i, 0};
        for (auto j = i; j < frames && j < i + 64; ++j) {
          record.onset.peak = std::max(record.onset.peak, std::fabs(samples[j]));
        }
        mRing.push(record);
      }
      mQuiet[port] = 0;
    }
  }

  void noteMidi(uint8_t port, void* buffer) {
    const auto count = jack_midi_get_event_count(buffer);
    for (uint32_t i = 0; i < count; ++i) {
      jack_midi_event_t event;
      if (jack_midi_event_get(&event, buffer, i) != 0) continue;
      Record record;
      record.kind = Kind::midi;
      record.midi = {port, event.time, static_cast<uint8_t>(event.size), {0, 0, 0}};
      for (size_t b = 0; b < event.size && b < 3; ++b) record.midi.bytes[b] = event.buffer[b];
      mRing.push(record);
    }
  }

  Ring& mRing;
  ableton::Link& mLink;
  SharedLine& mShared;
  const double mQuantum;
  jack_client_t* mClient = nullptr;
  std::vector<Source>* mSources = nullptr;
  uint32_t mQuiet[kMostPorts] = {};
};

}  // namespace ear
