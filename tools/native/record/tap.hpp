// SPDX-License-Identifier: GPL-2.0-or-later
// The two JACK clients that listen. `Tap` is connected to the judged ports and so runs after their programs
// in every cycle: the output of cycle n is in our buffers in cycle n. `Wake` is connected to nothing, so only
// the driver wakes it. Its wake-up times, and the time that the driver notes for its own wake-up, show by the
// wall clock when cycles began.
#pragma once
#include <jack/midiport.h>

#include <ableton/Link.hpp>
#include <algorithm>
#include <vector>

#include "record.hpp"

struct Source {
  std::string name;  // the port that is judged
  bool isMidi = false, isPlugged = true;
  jack_port_t* input = nullptr;
  uint32_t quiet = 1u << 30;  // the number of frames since the last sound
  double latency = -1;
};

class Wake : public Client {
 public:
  Ring ring;

 private:
  void process(jack_nframes_t frames) override {
    auto record = cycle(Kind::wake, frames);
    jack_position_t position{};
    jack_transport_query(client, &position);
    record.driver = static_cast<double>(position.usecs);
    // If the frame differs, the next cycle has begun in between, and the record may mix both cycles.
    if (jack_last_frame_time(client) == record.frame) ring.push(record);
  }
};

class Tap : public Client {
 public:
  static constexpr float kThreshold = 1e-5f;  // -100 dB: a louder frame is not silence
  static constexpr double kSilence = 0.005;   // the seconds of silence that an onset needs before it

  Tap(ableton::Link& link, SharedLine& shared, double quantum) : mLink(link), mShared(shared), mQuantum(quantum) {}

  Ring ring;
  std::vector<Source> sources;
  std::atomic<uint64_t> xruns{0};
  std::atomic<bool> gone{false};  // whether the server has ended

 private:
  bool prepare() override {
    int index = 0;
    for (auto& source : sources) {
      source.input = port("in_" + std::to_string(++index), source.isMidi, JackPortIsInput);
      if (!source.input) return false;
    }
    const auto count = [](void* self) { return static_cast<Tap*>(self)->xruns += 1, 0; };
    jack_set_xrun_callback(client, count, this);
    jack_set_latency_callback(client, &Tap::latency, this);
    jack_on_shutdown(client, [](void* self) { static_cast<Tap*>(self)->gone = true; }, this);
    return true;
  }

  // Our inputs report the loudspeaker's latency, so that the ports that feed them get one latency and not a
  // range.
  static void latency(jack_latency_callback_mode_t mode, void* self) {
    auto& tap = *static_cast<Tap*>(self);
    if (mode != JackPlaybackLatency) return;
    jack_latency_range_t range{0, 0};
    if (auto* physical = jack_port_by_name(tap.client, "system:playback_1")) {
      jack_port_get_latency_range(physical, JackPlaybackLatency, &range);
    } else if (auto** ports = jack_get_ports(tap.client, nullptr, JACK_DEFAULT_AUDIO_TYPE,
                 JackPortIsInput | JackPortIsPhysical)) {
      jack_port_get_latency_range(jack_port_by_name(tap.client, ports[0]), JackPlaybackLatency, &range);
      jack_free(ports);
    }
    for (auto& source : tap.sources) jack_port_set_latency_range(source.input, JackPlaybackLatency, &range);
  }

  void process(jack_nframes_t frames) override {
    auto record = cycle(Kind::cycle, frames);
    noteLine(record);
    noteTransport(record);
    ring.push(record);
    for (size_t i = 0; i < sources.size(); ++i) {
      auto* buffer = jack_port_get_buffer(sources[i].input, frames);
      if (sources[i].isMidi) {
        noteMidi(static_cast<uint8_t>(i), buffer);
      } else {
        noteOnsets(static_cast<uint8_t>(i), static_cast<const float*>(buffer), frames);
      }
    }
    if (jack_last_frame_time(client) != record.frame) event(Kind::torn, 0, 0);
  }

  void noteLine(Record& record) {
    const auto state = mLink.captureAudioSessionState();
    const auto micros = static_cast<int64_t>(record.wake);
    record.line.micros = static_cast<double>(micros);
    record.line.beat = state.beatAtTime(std::chrono::microseconds{micros}, mQuantum);
    record.line.microsPerBeat = std::round(60e6 / state.tempo());
    mShared.publish(record.line);
  }

  void noteTransport(Record& record) {
    jack_position_t position;
    record.state = static_cast<int32_t>(jack_transport_query(client, &position));
    record.songFrame = position.frame;
    record.hasBBT = (position.valid & JackPositionBBT) != 0 && position.ticks_per_beat > 0;
    if (!record.hasBBT) return;
    record.bbtBeats = (position.bar - 1) * static_cast<double>(position.beats_per_bar) + (position.beat - 1)
      + position.tick / position.ticks_per_beat;
  }

  void noteOnsets(uint8_t port, const float* samples, jack_nframes_t frames) {
    auto& quiet = sources[port].quiet;
    for (jack_nframes_t i = 0; i < frames; ++i) {
      if (std::fabs(samples[i]) <= kThreshold) {
        quiet += quiet < (1u << 30) ? 1 : 0;
        continue;
      }
      float peak = 0;
      for (auto j = i; j < frames && j < i + 64; ++j) peak = std::max(peak, std::fabs(samples[j]));
      if (quiet >= static_cast<uint32_t>(kSilence * rate)) onset(port, i, peak, samples, frames);
      quiet = 0;
    }
  }

  void onset(uint8_t port, uint32_t offset, float peak, const float* samples, jack_nframes_t frames) {
    const auto at = [&](uint32_t frame) { return frame < frames ? samples[frame] : std::nan(""); };
    ring.push({.kind = Kind::onset, .port = port, .frame = offset, .current = at(offset), .next = at(offset + 1),
      .driver = at(offset + 2), .value = peak});
  }

  void noteMidi(uint8_t port, void* buffer) {
    jack_midi_event_t heard;
    for (uint32_t i = 0; i < jack_midi_get_event_count(buffer); ++i) {
      if (jack_midi_event_get(&heard, buffer, i) == 0) event(Kind::midi, port, heard.time, &heard);
    }
  }

  void event(Kind kind, uint8_t port, uint32_t offset, const jack_midi_event_t* midi = nullptr) {
    Record record{.kind = kind, .port = port, .frame = offset};
    if (midi) {
      record.size = static_cast<uint8_t>(midi->size);
      std::copy_n(midi->buffer, std::min<size_t>(midi->size, 3), record.bytes);
    }
    ring.push(record);
  }

  ableton::Link& mLink;
  SharedLine& mShared;
  const double mQuantum;
};
