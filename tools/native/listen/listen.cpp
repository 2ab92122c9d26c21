// SPDX-License-Identifier: GPL-2.0-or-later
// build: g++ -std=c++17 -DLINK_PLATFORM_LINUX=1 -ljack -lpthread
// tools/listen: an independent judge of what comes out of JACK ports. docs/benchmarks.md says how it measures.
// The way in: main() -> Listener::run(). The audio thread (tap.hpp) only writes records; all judging is judge.hpp's.
#include <poll.h>
#include <unistd.h>

#include <optional>

#include "options.hpp"
#include "report.hpp"
#include "through.hpp"

namespace ear {

class Listener {
 public:
  explicit Listener(Options options)
    : mOptions(std::move(options)), mRing(1 << 15), mWakeRing(1 << 15), mLink(mOptions.tempo),
      mTap(mRing, mLink, mShared, mOptions.quantum), mWake(mWakeRing),
      mExact(mShared, mOptions.exact, mOptions.exactPerBeat(), mOptions.clock) {}

  int run() {
    mLink.enableStartStopSync(mOptions.startStop);
    mLink.enable(mOptions.isPeer);
    if (mOptions.through >= 0 && !mThrough.open("through", mOptions.through)) return 69;
    mTap.pretended = mOptions.latency;
    if (!waitForSources()) return 69;
    mClient = mTap.open(mOptions.name, mOptions.sources);
    if (!mClient || !mWake.open(mOptions.name + "-wake")) {
      fprintf(stderr, "listen: no JACK server\n");
      return 69;
    }
    if (mOptions.plays && !mExact.open("exact")) return 69;
    if (mOptions.timebase > 0) jack_set_timebase_callback(mClient, 0, &Listener::timebase, this);
    connectAll();
    newSection("");
    mBegan = rawNow() / 1000.0;
    printf("{\"type\":\"ready\",\"rate\":%u,\"period\":%u,\"version\":%s}\n", jack_get_sample_rate(mClient),
      jack_get_buffer_size(mClient), quoted(jack_get_version_string()).c_str());
    listen();
    if (mTap.gone) fprintf(stderr, "listen: the JACK server went away\n");
    if (!mReported) report();
    mExact.close();
    mThrough.close();
    mWake.close();
    mTap.close();
    return mTap.gone ? 70 : 0;
  }

 private:
  // The kind of our input is that of the port, so the ports come first: up to 20 s.
  bool waitForSources() {
    jack_client_t* scout = nullptr;
    for (int tries = 0; tries < 200; ++tries) {
      if (!scout) scout = jack_client_open((mOptions.name + "-scout").c_str(), JackNoStartServer, nullptr);
      bool all = scout != nullptr;
      for (auto& source : mOptions.sources) {
        if (!all) break;
        if (source.name == "exact:out" && mOptions.plays) continue;
        const auto* port = jack_port_by_name(scout, source.name.c_str());
        all = port != nullptr;
        if (port) source.isMidi = strcmp(jack_port_type(port), JACK_DEFAULT_MIDI_TYPE) == 0;
      }
      if (all) break;
      usleep(100'000);
      if (tries == 199) {
        fprintf(stderr, "listen: these ports do not all exist, or there is no JACK server\n");
        if (scout) jack_client_close(scout);
        return false;
      }
    }
    for (auto& source : mOptions.sources) {
      if (source.perBeat == 0) source.perBeat = source.isMidi ? 24 : 1;
    }
    jack_client_close(scout);
    return true;
  }

  void connectAll() {
    for (auto& source : mOptions.sources) {
      if (source.isPlugged && jack_port_connected(source.input) == 0) {
        jack_connect(mClient, source.name.c_str(), jack_port_name(source.input));
      }
    }
  }

  void listen() {
    const double end = mOptions.seconds > 0 ? mBegan + mOptions.seconds * 1e6 : INFINITY;
    for (int turn = 0; !mTap.gone && !mEnded && rawNow() / 1000.0 < end; ++turn) {
      pollfd input{mOptions.seconds > 0 ? -1 : 0, POLLIN, 0};
      if (poll(&input, 1, 10) > 0) readCommands();
      mExact.rawMinusJack = mClocks.sample();
      drain();
      if (turn % 5 == 0) noteLatencies();
      if (turn % 50 == 0) connectAll();
      commitTempo();
    }
    usleep(30'000);
    mClocks.sample();
    drain();
  }

  void readCommands() {
    char buffer[1024];
    const auto count = read(0, buffer, sizeof buffer);
    if (count <= 0) {
      mEnded = true;
      return;
    }
    mPending.append(buffer, static_cast<size_t>(count));
    size_t end;
    while ((end = mPending.find('\n')) != std::string::npos) {
      command(mPending.substr(0, end));
      mPending.erase(0, end + 1);
    }
  }

  void command(const std::string& line) {
    char word[32] = "", rest[64] = "";
    double value = 0;
    if (sscanf(line.c_str(), "%31s %63s", word, rest) < 1) return;
    sscanf(rest, "%lf", &value);
    const std::string verb = word;
    if (verb == "section") {
      drain();
      newSection(rest);
    } else if (verb == "report") {
      usleep(30'000);
      mClocks.sample();
      drain();
      report();
    } else if (verb == "look") {
      mClocks.sample();
      drain();
      look();
    } else if (verb == "plug" || verb == "unplug") {
      plug(rest, verb == "plug");
    } else if (verb == "link") {
      mLink.enable(std::string(rest) == "on");
    } else if (verb == "tempo" && value >= 20 && value <= 999) {
      mProposed = value;
      mHalfway = line.find("half") != std::string::npos;
    } else if (verb == "play" || verb == "stop") {
      auto state = mLink.captureAppSessionState();
      state.setIsPlaying(verb == "play", mLink.clock().micros());
      mLink.commitAppSessionState(state);
    } else if (verb == "roll") {
      jack_transport_start(mClient);
    } else if (verb == "halt") {
      jack_transport_stop(mClient);
    } else if (verb == "locate") {
      jack_transport_locate(mClient, static_cast<jack_nframes_t>(value));
    } else if (verb == "peers") {
      printf("{\"type\":\"peers\",\"count\":%zu}\n", mLink.numPeers());
    } else if (verb == "end") {
      mEnded = true;
    } else {
      fprintf(stderr, "listen: no such command: %s\n", line.c_str());
    }
  }

  void plug(const std::string& port, bool isPlugged) {
    for (auto& source : mOptions.sources) {
      if (source.name != port) continue;
      source.isPlugged = isPlugged;
      if (!isPlugged) jack_disconnect(mClient, port.c_str(), jack_port_name(source.input));
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

  void newSection(const std::string& name) {
    // What the server went through in earlier sections is not forgotten: its clock is not settled yet.
    if (mJudge && !mJudge->cycles.empty()) {
      mJudge->prepare();
      const auto& stretches = mJudge->wall.stretches;
      if (stretches.size() > 1) {
        mSectionBegan = mJudge->wall.time(stretches.back(), static_cast<double>(stretches.back().firstFrame));
      }
    }
    mName = name;
    mReported = false;
    mJudge.emplace(jack_get_sample_rate(mClient), static_cast<int>(jack_get_buffer_size(mClient)));
    mJudge->began = mSectionBegan;
    mJudge->songTempo = mOptions.song;
    mXrunsBefore = mTap.xruns;
    mRaw.clear();
    noteLatencies();
  }

  void noteLatencies() {
    for (size_t i = 0; i < mOptions.sources.size(); ++i) {
      jack_latency_range_t range{0, 0};
      auto* port = jack_port_by_name(mClient, mOptions.sources[i].name.c_str());
      if (!port) continue;
      jack_port_get_latency_range(port, JackPlaybackLatency, &range);
      auto& known = mJudge->latencies[i];
      if (known.empty() || known.back().second != double(range.max)) known.emplace_back(rawNow() / 1000.0, double(range.max));
    }
  }

  void drain() {
    Record record;
    while (mWakeRing.pop(record)) {
      mJudge->wakes.push_back({unwrapped(record.cycle.frame), earliest(record.cycle), mChain.breaks(record.cycle, jack_get_sample_rate(mClient))});
    }
    while (mRing.pop(record)) {
      if (record.kind == Kind::cycle) {
        const auto& c = record.cycle;
        mRaw.push_back({c.current, c.next, c.timesValid});
        mJudge->cycles.push_back({unwrapped(c.frame), c.frames, NAN, NAN, c.wake / 1000.0, c.line, c.state,
          c.songFrame, c.hasBBT, c.bbtBeats, c.bbtTempo, false});
      } else if (mJudge->cycles.empty()) {
        continue;
      } else if (record.kind == Kind::torn) {
        mJudge->cycles.back().isTorn = true;
      } else {
        Event event{mJudge->cycles.size() - 1, 0, 0, 0, 0, {0, 0, 0}};
        if (record.kind == Kind::onset) {
          event.port = record.onset.port;
          event.offset = record.onset.offset;
          event.peak = record.onset.peak;
        } else {
          event.port = record.midi.port;
          event.offset = record.midi.offset;
          event.size = record.midi.size;
          memcpy(event.bytes, record.midi.bytes, 3);
        }
        mJudge->events.push_back(event);
      }
    }
  }

  // The driver's note only where it is sane: PipeWire's is of another cycle.
  double earliest(const Cycle& wake) const {
    const double own = wake.wake / 1000.0, driver = mClocks.raw(static_cast<double>(wake.driver));
    const double period = wake.frames * 1e6 / jack_get_sample_rate(mClient);
    return driver < own && own - driver < 0.8 * period ? driver : own;
  }

  int64_t unwrapped(uint32_t frame) {
    if (mNoFrameYet) mFrame = frame;
    mNoFrameYet = false;
    mFrame += static_cast<int32_t>(frame - static_cast<uint32_t>(mFrame));
    return mFrame;
  }

  // What was heard since the last look, but for the latest moments: whether they were steady is not known yet.
  void look() {
    mReported = true;
    const double rate = jack_get_sample_rate(mClient);
    auto& judge = *mJudge;
    if (judge.cycles.empty()) return;
    convertTimes();
    judge.newsTake = kNewsTake;
    judge.prepare();
    const auto to = judge.cycles.back().frame - static_cast<int64_t>(kUnripe * rate);
    const Report report(judge, mName, mOptions.events);
    for (size_t i = 0; i < mOptions.sources.size(); ++i) {
      report.look(mOptions.sources[i], static_cast<uint8_t>(i), mLookedTo, to);
    }
    report.method(mTap.xruns - mXrunsBefore, mRing.lost() + mWakeRing.lost());
    int lost = 0;
    for (size_t i = 1; i < judge.cycles.size(); ++i) {
      lost += judge.cycles[i].frame > mLookedTo && judge.sinceStall(i) < 2 ? 1 : 0;
    }
    const auto& last = judge.cycles.back();
    printf("{\"type\":\"looked\",\"peers\":%zu,\"now\":%s,\"beat\":%s,\"tempo\":%s,\"state\":%d,\"lost\":%d}\n",
      mLink.numPeers(), number(last.wake, 0).c_str(), number(last.line.beat, 4).c_str(),
      number(60e6 / last.line.microsPerBeat, 3).c_str(), last.state, lost);
    mLookedTo = std::max(mLookedTo, to);
    mXrunsBefore = mTap.xruns;
    size_t old = 0;
    while (judge.cycles[old].frame < judge.cycles.back().frame - static_cast<int64_t>(kRemembered * rate)) ++old;
    judge.forget(old);
    mRaw.erase(mRaw.begin(), mRaw.begin() + static_cast<ptrdiff_t>(old));
    mClocks.forget(static_cast<size_t>(kRemembered * 120));
  }

  static constexpr double kUnripe = 1.0, kRemembered = 15;  // seconds
  static constexpr double kNewsTake = 900e3;  // three Alives that come late or not at all, on a busy machine

  void convertTimes() {
    for (size_t i = 0; i < mRaw.size(); ++i) {  // JACK's clock becomes Link's
      auto& cycle = mJudge->cycles[i];
      if (!mRaw[i].valid) continue;
      cycle.start = mClocks.raw(static_cast<double>(mRaw[i].current));
      cycle.slope = static_cast<double>(mRaw[i].next - mRaw[i].current) / static_cast<double>(cycle.frames);
    }
  }

  void report() {
    mReported = true;
    convertTimes();
    mJudge->prepare();
    const Report report(*mJudge, mName, mOptions.events);
    for (size_t i = 0; i < mOptions.sources.size(); ++i) report.source(mOptions.sources[i], static_cast<uint8_t>(i));
    report.bbt(mOptions.sources.empty() ? 0 : mJudge->latencyOf(0, 1e18));
    report.host(mOptions.sources.empty() ? 0 : mJudge->latencyOf(0, 1e18));
    report.method(mTap.xruns - mXrunsBefore, mRing.lost() + mWakeRing.lost());
    printf("{\"type\":\"end\",\"section\":%s,\"peers\":%zu,\"changes\":%zu}\n", quoted(mName).c_str(),
      mLink.numPeers(), mJudge->changes());
  }

  static void timebase(jack_transport_state_t, jack_nframes_t, jack_position_t* position, int, void* self) {
    const double tempo = static_cast<Listener*>(self)->mOptions.timebase;
    const double rate = jack_get_sample_rate(static_cast<Listener*>(self)->mClient);
    const double beats = position->frame / rate * tempo / 60;
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

  struct RawPair {
    uint64_t current, next;
    bool valid;
  };

  Options mOptions;
  Ring mRing, mWakeRing;  // one for each audio thread: a ring has one producer
  SharedLine mShared;
  ableton::Link mLink;
  Tap mTap;
  Wake mWake;
  Exact mExact;
  Through mThrough;
  ClockMap mClocks;
  jack_client_t* mClient = nullptr;
  std::optional<Judge> mJudge;
  std::vector<RawPair> mRaw;  // of mJudge->cycles
  std::optional<double> mProposed;
  std::string mPending, mName;
  bool mEnded = false, mReported = false, mHalfway = false, mNoFrameYet = true;
  Chain mChain;
  int64_t mFrame = 0, mLookedTo = INT64_MIN;
  double mBegan = 0, mSectionBegan = 0;
  uint64_t mXrunsBefore = 0;
};

}  // namespace ear

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  return ear::Listener(ear::parse(count, arguments)).run();
}
