// SPDX-License-Identifier: GPL-2.0-or-later
// build: g++ -std=c++20 -DLINK_PLATFORM_LINUX=1 -ljack -lpthread
// The recorder of tools/listen: records the output of JACK ports with its times, and what a Link peer with
// the reference library and JACK's transport showed then. tools/lib/workshop/listening starts it
// (NAME=NUMBER..., port=NAME...), sends it lines, and judges. On standard output it first prints a line with
// rate, period, which ports are MIDI, and JACK's version, then the records.
#include <poll.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "play.hpp"
#include "tap.hpp"

class Recorder {
 public:
  Recorder(int count, char** words)
    : mOptions(read(count, words)), mLink(mOptions["tempo"]), mTap(mLink, mShared, mOptions["quantum"]) {
    for (int i = 1; i < count; ++i) {
      if (strncmp(words[i], "port=", 5) == 0) mTap.sources.emplace_back().name = words[i] + 5;
      if (strncmp(words[i], "name=", 5) == 0) mName = words[i] + 5;
    }
    if (mOptions.count("exact")) {
      mExact = std::make_unique<Exact>(mShared, mOptions["exact"], mOptions["per_beat"]);
    }
    if (mOptions["through"] >= 0) mThrough = std::make_unique<Through>(static_cast<int>(mOptions["through"]));
  }

  int run() {
    mLink.enableStartStopSync(mOptions["start_stop"] != 0);
    mLink.enable(mOptions["no_link"] == 0);
    if (mThrough && !mThrough->open("through")) return failed("no JACK server", 69);
    if (!waitForSources()) return failed("these ports do not all exist, or there is no JACK server", 69);
    if (!mTap.open(mName) || !mWake.open(mName + "-wake")) return failed("no JACK server", 69);
    if (mExact && !mExact->open("exact")) return failed("no JACK server", 69);
    if (mOptions["timebase"] > 0 || mOptions["naive"] != 0) {
      jack_set_timebase_callback(mTap.client, 0, &Recorder::timebase, this);
    }
    std::string midi;
    for (const auto& source : mTap.sources) midi += source.isMidi ? '1' : '0';
    printf("%.0f %u .%s %s\n", mTap.rate, jack_get_buffer_size(mTap.client), midi.c_str(), jack_get_version_string());
    for (int turn = 0; !mTap.gone && !mEnded; ++turn) {
      if (turn % 50 == 0) connectAll();
      pollfd input{0, POLLIN, 0};
      if (poll(&input, 1, 10) > 0) readCommands();
      writeAll();
      if (turn % 5 == 0) noteLatencies();
      commitTempo();
    }
    mark();
    for (auto* each : std::initializer_list<Client*>{mExact.get(), mThrough.get(), &mWake, &mTap}) {
      if (each) each->close();
    }
    return mTap.gone ? failed("the JACK server went away", 70) : 0;
  }

 private:
  static std::map<std::string, double> read(int count, char** words) {
    std::map<std::string, double> options{{"tempo", 120}, {"quantum", 4}, {"through", -1}, {"timebase", 0},
      {"naive", 0}};
    for (int i = 1; i < count; ++i) {
      const auto* value = strchr(words[i], '=');
      if (value) options[std::string(words[i], value - words[i])] = atof(value + 1);
    }
    return options;
  }

  static int failed(const char* why, int status) {
    fprintf(stderr, "listen: %s\n", why);
    return status;
  }

  // Waits up to 20 s for the ports to record, because our inputs must be audio or MIDI as these ports are.
  bool waitForSources() {
    jack_client_t* scout = nullptr;
    bool all = false;
    for (int tries = 0; tries < 200 && !all; ++tries) {
      if (tries > 0) usleep(100'000);
      if (!scout) scout = jack_client_open((mName + "-scout").c_str(), JackNoStartServer, nullptr);
      all = scout != nullptr;
      for (auto& source : mTap.sources) {
        if (!all || (source.name == "exact:out" && mExact)) continue;
        const auto* port = jack_port_by_name(scout, source.name.c_str());
        all = port != nullptr;
        if (port) source.isMidi = strcmp(jack_port_type(port), JACK_DEFAULT_MIDI_TYPE) == 0;
      }
    }
    if (scout) jack_client_close(scout);
    return all;
  }

  void connectAll() {
    for (auto& source : mTap.sources) {
      if (source.isPlugged && jack_port_connected(source.input) == 0) {
        jack_connect(mTap.client, source.name.c_str(), jack_port_name(source.input));
      }
    }
  }

  void readCommands() {
    char buffer[1024];
    const auto count = ::read(0, buffer, sizeof buffer);
    mEnded = count <= 0;
    mPending.append(buffer, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    size_t end;
    while ((end = mPending.find('\n')) != std::string::npos) {
      command(mPending.substr(0, end));
      mPending.erase(0, end + 1);
    }
  }

  void command(const std::string& line) {
    char word[32] = "", rest[256] = "";
    if (sscanf(line.c_str(), "%31s %255s", word, rest) < 1) return;
    const std::string verb = word;
    const double value = atof(rest);
    if (verb == "mark") {
      mark();
    } else if (verb == "plug" || verb == "unplug") {
      plug(rest, verb == "plug");
    } else if (verb == "link") {
      mLink.enable(strcmp(rest, "on") == 0);
    } else if (verb == "tempo" && value >= 20 && value <= 999) {
      mProposed = value;
      mHalfway = line.find("half") != std::string::npos;
    } else if (verb == "play" || verb == "stop") {
      auto state = mLink.captureAppSessionState();
      state.setIsPlaying(verb == "play", mLink.clock().micros());
      mLink.commitAppSessionState(state);
    } else if (verb == "roll") {
      jack_transport_start(mTap.client);
    } else if (verb == "halt") {
      jack_transport_stop(mTap.client);
    } else if (verb == "locate") {
      jack_transport_locate(mTap.client, static_cast<jack_nframes_t>(value));
    } else {
      fprintf(stderr, "listen: no such command: %s\n", line.c_str());
    }
  }

  void plug(const char* port, bool isPlugged) {
    for (auto& source : mTap.sources) {
      if (source.name != port) continue;
      source.isPlugged = isPlugged;
      if (!isPlugged) jack_disconnect(mTap.client, port, jack_port_name(source.input));
    }
    connectAll();
  }

  void commitTempo() {
    if (!mProposed) return;
    auto state = mLink.captureAppSessionState();
    const auto now = mLink.clock().micros();
    const double phase = state.phaseAtTime(now, 1);
    if (mHalfway && !(phase > 0.45 && phase < 0.6)) return;
    state.setTempo(*mProposed, now);
    mLink.commitAppSessionState(state);
    mProposed.reset();
  }

  void tell(Kind kind, double current, double value, uint32_t frames = 0, uint8_t port = 0) {
    write({.kind = kind, .port = port, .frames = frames, .wake = rawMicros(), .current = current, .value = value});
  }

  static void write(const Record& record) { fwrite(&record, sizeof record, 1, stdout); }

  // Reads JACK's clock and Link's. They are the same clock on jackd, but drift apart on PipeWire, so this is
  // repeated regularly. Of five tries, the one that took least time counts. Call it only after a client is
  // open: before that, jack_get_time() crashes.
  void sampleClock() {
    double tightest = 1e9, jack = 0, ahead = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const double before = rawMicros(), between = static_cast<double>(jack_get_time()), after = rawMicros();
      if (after - before >= tightest) continue;
      tightest = after - before;
      jack = between + 0.5;  // jack_get_time() cuts the fraction off
      ahead = (before + after) / 2 - jack;
    }
    tell(Kind::clock, jack, ahead);
    if (mExact) mExact->rawMinusJack = ahead;
  }

  void writeAll() {
    sampleClock();
    Record record;
    for (auto* ring : {&mWake.ring, &mTap.ring}) {
      while (ring->pop(record)) write(record);
    }
    fflush(stdout);
  }

  void mark() {
    noteLatencies();
    writeAll();
    tell(Kind::mark, static_cast<double>(mTap.ring.lost + mWake.ring.lost), static_cast<double>(mTap.xruns),
      static_cast<uint32_t>(mLink.numPeers()));
    fflush(stdout);
  }

  void noteLatencies() {
    for (size_t i = 0; i < mTap.sources.size(); ++i) {
      auto& source = mTap.sources[i];
      jack_latency_range_t range{0, 0};
      auto* port = jack_port_by_name(mTap.client, source.name.c_str());
      if (!port) continue;
      jack_port_get_latency_range(port, JackPlaybackLatency, &range);
      if (source.latency != range.max) tell(Kind::latency, 0, range.max, 0, static_cast<uint8_t>(i));
      source.latency = range.max;
    }
  }

  static void timebase(jack_transport_state_t, jack_nframes_t, jack_position_t* position, int, void* self) {
    auto& recorder = *static_cast<Recorder*>(self);
    double tempo = recorder.mOptions["timebase"];
    double beats = position->frame / recorder.mTap.rate * tempo / 60;
    if (recorder.mOptions["naive"] != 0) {
      // The naive way takes the session's beat "now", at the time of the present cycle. This is wrong,
      // because JACK shows the result for the next cycle, whose sound is heard later by the output latency.
      jack_nframes_t frames;
      jack_time_t now, next;
      float period;
      if (jack_get_cycle_times(recorder.mTap.client, &frames, &now, &next, &period) != 0) return;
      const auto state = recorder.mLink.captureAudioSessionState();
      tempo = state.tempo();
      beats = std::max(0.0, state.beatAtTime(std::chrono::microseconds(now), 4));
    }
    position->valid = JackPositionBBT;
    position->beats_per_bar = 4;
    position->beat_type = 4;
    position->ticks_per_beat = 1920;
    position->beats_per_minute = tempo;
    position->bar = static_cast<int32_t>(beats / 4) + 1;
    position->beat = static_cast<int32_t>(std::fmod(beats, 4)) + 1;
    position->tick = static_cast<int32_t>(std::fmod(beats, 1) * 1920);
    position->bar_start_tick = (position->bar - 1) * 4 * 1920.0;
  }

  std::map<std::string, double> mOptions;
  SharedLine mShared;
  ableton::Link mLink;
  Tap mTap;
  Wake mWake;
  std::unique_ptr<Exact> mExact;
  std::unique_ptr<Through> mThrough;
  std::optional<double> mProposed;
  std::string mName = "ear", mPending;
  bool mEnded = false, mHalfway = false;
};

int main(int count, char** words) { return Recorder(count, words).run(); }
