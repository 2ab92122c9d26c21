// SPDX-License-Identifier: GPL-2.0-or-later
// One JSON object a line on standard output.
#pragma once
#include <cstdio>

#include "judge.hpp"

namespace ear {

inline std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + "\"";
}

inline std::string number(double value, int digits = 1) {
  if (!std::isfinite(value)) return "null";
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

inline std::string list(const std::vector<int64_t>& values, int perBeat) {
  std::string result = "[";
  for (auto v : values) result += (result.size() > 1 ? "," : "") + number(static_cast<double>(v) / perBeat, 4);
  return result + "]";
}

inline std::string object(const Statistics& s) {
  if (s.count == 0) return "{\"n\":0}";
  return "{\"n\":" + std::to_string(s.count) + ",\"median\":" + number(s.median) + ",\"min\":" + number(s.least)
    + ",\"max\":" + number(s.most) + ",\"range\":" + number(s.most - s.least) + ",\"p99\":" + number(s.p99) + "}";
}

class Report {
 public:
  Report(const Judge& judge, std::string section, bool everyEvent)
    : mJudge(judge), mSection(std::move(section)), mEveryEvent(everyEvent) {}

  void source(const Source& source, uint8_t port) const {
    const auto all = mJudge.judge(port, source.perBeat);
    std::vector<double> jack, wall;
    size_t beyond = 0;
    for (const auto& j : all) {
      if (mEveryEvent) event(source, j);
      if (!j.isSure()) continue;
      if (j.quiet && std::isfinite(j.jackError)) {
        jack.push_back(j.jackError);
        beyond += j.isWithin(mJudge.frameMicros()) ? 0 : 1;
      }
      if (std::isfinite(j.wallError)) wall.push_back(j.wallError);
    }
    const auto continuity = mJudge.continuity(all);
    printf("{\"type\":\"summary\",\"section\":%s,\"port\":%s,\"per_beat\":%d,\"heard\":%zu,\"missing\":%s,"
           "\"doubled\":%s,\"lost_in_stalls\":%d,\"latency\":%s,\"by_jack\":%s,\"by_wall\":%s,\"wall_over_500us\":%zu,"
           "\"beyond_a_frame\":%zu}\n",
      quoted(mSection).c_str(), quoted(source.name).c_str(), source.perBeat, all.size(),
      list(continuity.missing, source.perBeat).c_str(), list(continuity.doubled, source.perBeat).c_str(),
      continuity.excused,
      number(mJudge.latencyOf(port, 1e18), 0).c_str(), object(Statistics::of(jack)).c_str(),
      object(Statistics::of(wall)).c_str(),
      static_cast<size_t>(std::count_if(wall.begin(), wall.end(), [](double e) { return std::fabs(e) > 500; })), beyond);
    if (source.isMidi) messages(source, port);
  }

  // What was heard of a port in the frames after `from` and up to `to`.
  void look(const Source& source, uint8_t port, int64_t from, int64_t to) const {
    const auto all = mJudge.judge(port, source.perBeat);
    std::vector<double> jack, wall;
    size_t heard = 0;
    double latest = NAN, beat = NAN;
    for (const auto& j : all) {
      if (j.frame > to) break;
      latest = j.wall;
      beat = j.beat;
      if (j.frame <= from) continue;
      ++heard;
      if (mEveryEvent) event(source, j);
      if (!j.isSure() || !j.settled) continue;
      // A server that was disturbed before we came is known by its distance from the wall alone.
      if (j.quiet && std::fabs(j.jackError - j.wallError) < kClose) jack.push_back(j.jackError);
      if (std::isfinite(j.wallError)) wall.push_back(j.wallError);
    }
    const auto continuity = mJudge.continuity(all, from, to);
    printf("{\"type\":\"heard\",\"port\":%s,\"count\":%zu,\"missing\":%s,\"doubled\":%s,\"lost_in_stalls\":%d,"
           "\"moved\":%d,\"by_jack\":%s,\"by_wall\":%s,\"latest\":%s,\"latest_beat\":%s}\n",
      quoted(source.name).c_str(), heard, list(continuity.missing, source.perBeat).c_str(),
      list(continuity.doubled, source.perBeat).c_str(), continuity.excused, continuity.moved,
      object(Statistics::of(jack)).c_str(), object(Statistics::of(wall)).c_str(), number(latest).c_str(),
      number(beat, 6).c_str());
  }

  // JACK transport's bar, beat and tick against the beat that is heard when the frame that they name is.
  void bbt(double hardwareLatency) const {
    if (mJudge.songTempo > 0) return;
    std::vector<double> errors;
    int rolling = 0;
    for (size_t i = 0; i < mJudge.cycles.size(); ++i) {
      const auto& c = mJudge.cycles[i];
      rolling = c.state == JackTransportRolling ? rolling + 1 : 0;
      // jack2 shows in the first rolling cycle what was written before the start was known.
      if (!c.hasBBT || rolling < 3 || !mJudge.isSteady(i) || !mJudge.isQuiet(i)) continue;
      const double beat = c.line.at(c.start + hardwareLatency * c.slope);
      const double late = beat - c.bbtBeats;
      errors.push_back((late - std::round(late)) * c.line.microsPerBeat);
    }
    if (errors.empty()) return;
    printf("{\"type\":\"bbt\",\"section\":%s,\"error\":%s}\n", quoted(mSection).c_str(),
      object(Statistics::of(errors)).c_str());
  }

  // A host that counts the transport's frames, each its beat at the session's tempo, against the beat that is heard.
  void host(double hardwareLatency) const {
    std::vector<double> errors, wholeBeats;
    for (size_t i = 0; i < mJudge.cycles.size(); ++i) {
      const auto& c = mJudge.cycles[i];
      if (c.state != JackTransportRolling || !mJudge.isSteady(i) || !mJudge.isQuiet(i)) continue;
      const double played = c.songFrame * 1e6 / mJudge.rate() / c.line.microsPerBeat;
      const double late = c.line.at(c.start + hardwareLatency * c.slope) - played;
      errors.push_back((late - std::round(late)) * c.line.microsPerBeat);
      wholeBeats.push_back(std::round(late));
    }
    if (errors.empty()) return;
    printf("{\"type\":\"host\",\"section\":%s,\"error\":%s,\"beats\":%s}\n", quoted(mSection).c_str(),
      object(Statistics::of(errors)).c_str(), number(Statistics::of(wholeBeats).median, 0).c_str());
  }

  // How good the ears themselves were.
  void method(uint64_t xruns, uint64_t overflow) const {
    std::vector<double> difference, wakes;
    size_t lost = 0;
    for (size_t i = 0; i < mJudge.cycles.size(); ++i) {
      const auto& c = mJudge.cycles[i];
      if (i > 0 && c.frame != mJudge.cycles[i - 1].frame + mJudge.cycles[i - 1].frames) ++lost;
      const auto* stretch = mJudge.wall.find(c.frame);
      if (!stretch || !mJudge.isQuiet(i)) continue;
      difference.push_back(c.start - mJudge.wallTime(*stretch, c, 0));
    }
    for (const auto& w : mJudge.wakes) {
      const auto* stretch = mJudge.wall.find(w.frame);
      if (stretch) wakes.push_back(w.micros - mJudge.wall.time(*stretch, static_cast<double>(w.frame)));
    }
    printf("{\"type\":\"method\",\"section\":%s,\"cycles\":%zu,\"interruptions\":%zu,\"server_stalls\":%zu,"
           "\"xruns\":%llu,\"overflow\":%llu,\"jack_minus_wall\":%s,\"wake_lateness\":%s}\n",
      quoted(mSection).c_str(), mJudge.cycles.size(), lost,
      mJudge.wall.stretches.empty() ? 0 : mJudge.wall.stretches.size() - 1, static_cast<unsigned long long>(xruns),
      static_cast<unsigned long long>(overflow), object(Statistics::of(difference)).c_str(),
      object(Statistics::of(wakes)).c_str());
  }

 private:
  static constexpr double kClose = 500;

  void event(const Source& source, const Judgement& j) const {
    printf("{\"type\":\"%s\",\"section\":%s,\"port\":%s,\"frame\":%lld,\"heard\":%s,\"heard_by_wall\":%s,\"beat\":%s,\"error\":%s,"
           "\"wall_error\":%s,\"since_stall\":%d,\"quiet\":%s,\"steady\":%s",
      j.event.size == 0 ? "onset" : "clock", quoted(mSection).c_str(), quoted(source.name).c_str(),
      static_cast<long long>(j.frame), number(j.jack).c_str(), number(j.wall).c_str(), number(j.beat, 6).c_str(),
      number(j.jackError).c_str(), number(j.wallError).c_str(), j.sinceStall, j.quiet ? "true" : "false",
      j.steady ? "true" : "false");
    if (j.event.size == 0) printf(",\"peak\":%s", number(j.event.peak, 3).c_str());
    puts("}");
  }

  // Start, Continue, Stop and Song Position, each with the beat of its moment and what the next clock was.
  void messages(const Source& source, uint8_t port) const {
    for (size_t i = 0; i < mJudge.events.size(); ++i) {
      const auto& e = mJudge.events[i];
      if (e.port != port || e.size == 0 || e.bytes[0] == 0xF8) continue;
      const auto here = mJudge.judge(e, source.perBeat);
      std::string text;
      for (int b = 0; b < e.size && b < 3; ++b) {
        char hex[4];
        snprintf(hex, sizeof hex, "%02x", e.bytes[b]);
        text += hex;
      }
      printf("{\"type\":\"midi\",\"section\":%s,\"port\":%s,\"bytes\":\"%s\",\"frame\":%lld,\"song_frame\":%u,"
             "\"heard\":%s,\"beat\":%s",
        quoted(mSection).c_str(), quoted(source.name).c_str(), text.c_str(), static_cast<long long>(here.frame),
        mJudge.cycles[e.cycle].songFrame + e.offset, number(here.jack).c_str(), number(here.beat, 6).c_str());
      for (size_t k = i + 1; k < mJudge.events.size(); ++k) {
        const auto& next = mJudge.events[k];
        if (next.port != port || next.size == 0 || next.bytes[0] != 0xF8) continue;
        const auto clock = mJudge.judge(next, source.perBeat);
        printf(",\"next_clock_beat\":%s,\"next_clock_after\":%s", number(clock.beat, 6).c_str(),
          number(clock.jack - here.jack).c_str());
        break;
      }
      puts("}");
    }
  }

  const Judge& mJudge;
  const std::string mSection;
  const bool mEveryEvent;
};

}  // namespace ear
