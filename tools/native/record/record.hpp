// SPDX-License-Identifier: GPL-2.0-or-later
// The records, which tools/lib/workshop/listening judges later.
#pragma once
#include <jack/jack.h>
#include <jack/ringbuffer.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>

// The reference peer's beat as a line: beat(t) = beat + (t - micros) / microsPerBeat, t in Link's host time.
struct BeatLine {
  double micros = 0;
  double beat = 0;
  double microsPerBeat = 500'000;  // a whole number: Link peers agree on no finer tempo

  double at(double t) const { return beat + (t - micros) / microsPerBeat; }
  double when(double b) const { return micros + (b - beat) * microsPerBeat; }
};

enum class Kind : uint8_t {
  cycle,    // a cycle of the client `Tap`
  torn,     // the next cycle began while this one was read, and may have overwritten it
  onset,    // in the latest cycle: frame is the offset within it, value the loudest of the next 64 frames there; current, next
            // and driver are its first three samples, not numbers if the cycle ends before
  midi,     // a MIDI message in the latest cycle: frame as in onset, and its bytes
  wake,     // a cycle of the client `Wake`: only its times
  clock,    // JACK's clock (current) and how far Link's is ahead of it (value)
  latency,  // a port's latency from the time `wake` on: value, in frames
  mark,     // all earlier records are complete: frames is the number of peers, value the xruns, current the lost records
};

// Times are in microseconds. `wake` (when the callback began) and the times of `line` are by Link's clock,
// all other times by JACK's clock.
struct Record {
  Kind kind = Kind::mark;
  uint8_t port = 0;
  bool timesValid = false, hasBBT = false;
  uint8_t size = 0, bytes[3] = {};
  uint32_t frame = 0, frames = 0, songFrame = 0;
  int32_t state = 0;
  double wake = 0, current = 0, next = 0;
  double driver = 0;  // when JACK's driver noted its wake-up (jack_position_t.usecs)
  BeatLine line;
  double bbtBeats = 0;  // (bar - 1) * beats per bar + (beat - 1) + tick / ticks per beat
  double value = 0;
};

// Link's host clock.
inline double rawMicros() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// A queue from one audio thread to the main thread. Records for a full queue are counted and dropped.
class Ring {
 public:
  void push(const Record& record) {
    if (jack_ringbuffer_write_space(mBytes) < sizeof record) {
      lost += 1;
    } else {
      jack_ringbuffer_write(mBytes, reinterpret_cast<const char*>(&record), sizeof record);
    }
  }
  bool pop(Record& record) {
    if (jack_ringbuffer_read_space(mBytes) < sizeof record) return false;
    return jack_ringbuffer_read(mBytes, reinterpret_cast<char*>(&record), sizeof record) > 0;
  }
  std::atomic<uint64_t> lost{0};

 private:
  jack_ringbuffer_t* mBytes = jack_ringbuffer_create(sizeof(Record) << 15);
};

// The latest beat line, which the thread of `Tap` gives to the thread of the exact click without waiting.
struct SharedLine {
  void publish(const BeatLine& line) {
    if (std::unique_lock<std::mutex> lock(mMutex, std::try_to_lock); lock) mLine = line;
  }
  bool read(BeatLine& line) {
    std::unique_lock<std::mutex> lock(mMutex, std::try_to_lock);
    if (lock) line = mLine;
    return lock && line.micros > 0;
  }

 private:
  std::mutex mMutex;
  BeatLine mLine;
};

class Client {
 public:
  bool open(const std::string& name) {
    // libjack gives up if a busy jackd does not answer in time ("Cannot start channel"), so try again.
    for (int tries = 0; !client && tries < 10; ++tries) {
      if (tries > 0) usleep(200'000);
      client = jack_client_open(name.c_str(), JackNoStartServer, nullptr);
    }
    if (!client) return false;
    rate = jack_get_sample_rate(client);
    const auto call = [](jack_nframes_t frames, void* self) {
      static_cast<Client*>(self)->process(frames);
      return 0;
    };
    jack_set_process_callback(client, call, this);
    return prepare() && jack_activate(client) == 0;
  }
  virtual ~Client() = default;
  void close() {  // before the object is freed: until then the audio thread uses it
    if (client) jack_client_close(client);
    client = nullptr;
  }
  jack_client_t* client = nullptr;
  double rate = 48000;

 protected:
  virtual bool prepare() { return true; }
  virtual void process(jack_nframes_t frames) = 0;

  jack_port_t* port(const std::string& name, bool isMidi, unsigned long flags) {
    return jack_port_register(client, name.c_str(), isMidi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE, flags, 0);
  }
  Record cycle(Kind kind, jack_nframes_t frames) {
    Record record{.kind = kind, .frame = jack_last_frame_time(client), .frames = frames, .wake = rawMicros()};
    jack_nframes_t at;
    jack_time_t current, next;
    float period;
    record.timesValid = jack_get_cycle_times(client, &at, &current, &next, &period) == 0 && next > current;
    record.current = static_cast<double>(current);
    record.next = static_cast<double>(next);
    return record;
  }
};
