// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "exact.hpp"
#include "tap.hpp"

namespace ear {

constexpr const char* kUsage = R"(usage: tools/listen [options] PORT[@N]...

Listens to JACK output ports (audio: onsets; MIDI: clock) and compares each onset with the beat that the reference Link
library, running in this program as a peer of its own, computes for the moment it is heard. N onsets are expected in a
beat (audio 1, MIDI 24). JSON lines on standard output.

  --for S          listen S seconds, then report and end (without it: commands, see below)
  --events         a line for every onset and clock, not only the summaries
  --tempo BPM      of our Link peer when it is alone (120)
  --quantum N      (4)
  --latency N      pretend that our inputs are heard N frames later (default: as late as the hardware)
  --song BPM       judge MIDI clock against the transport's frames at BPM, not against the session
  --timebase BPM   be JACK's timebase master: a plain one that counts bars of four from frame 0
  --exact US       play a click of our own, US microseconds after each beat, on exact:out[@N] ...
  --clock wall     ... timed by the wake-up times instead of JACK's clock
  --through N      a route that is N frames longer, and says so: through:in to through:out
  --no-link        only listen: our Link peer stays out of the session until told
  --name NAME      of our JACK client (ear)
  --start-stop     follow and send start and stop in the session

Commands on standard input, a line each:
  section NAME     forget what was heard until now and listen anew
  report           print what was heard in this section
  look             print what was heard since the last look, again and again for hours: no section is needed
  tempo BPM        propose a tempo to the session now;    tempo BPM half   ... halfway between two beats
  play, stop       in the session (with --start-stop);    roll, halt, locate FRAME: JACK's transport
  peers            print the number of peers;             link on, link off    enter or leave the session
  unplug PORT      listen there no longer;                plug PORT            listen there again
  end              report, unless that was just done, and end
)";

struct Options {
  std::vector<Source> sources;
  std::string name = "ear";
  double seconds = 0, tempo = 120, quantum = 4, song = 0, timebase = 0, exact = 0;
  int latency = -1, through = -1;
  bool events = false, plays = false, startStop = false, isPeer = true;
  Exact::Clock clock = Exact::Clock::jack;

  int exactPerBeat() const {
    for (const auto& source : sources) {
      if (source.name == "exact:out" && source.perBeat > 0) return source.perBeat;
    }
    return 1;
  }
};

inline void misused(const std::string& why) {
  fprintf(stderr, "listen: %s. Try 'tools/listen --help'\n", why.c_str());
  exit(2);
}

inline double numeric(const char* flag, const char* text, double low, double high) {
  char* end = nullptr;
  const double value = text ? strtod(text, &end) : 0;
  if (!text || end == text || *end || !(value >= low && value <= high)) {
    misused(std::string(flag) + " needs a number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

inline Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string flag = arguments[i];
    const auto value = [&](double low, double high) {
      return numeric(flag.c_str(), i + 1 < count ? arguments[++i] : nullptr, low, high);
    };
    if (flag == "--help" || flag == "-h") {
      fputs(kUsage, stdout);
      exit(0);
    } else if (flag == "--for") {
      options.seconds = value(0.1, 1e5);
    } else if (flag == "--events") {
      options.events = true;
    } else if (flag == "--start-stop") {
      options.startStop = true;
    } else if (flag == "--tempo") {
      options.tempo = value(20, 999);
    } else if (flag == "--quantum") {
      options.quantum = value(1, 64);
    } else if (flag == "--latency") {
      options.latency = static_cast<int>(value(0, 1e6));
    } else if (flag == "--through") {
      options.through = static_cast<int>(value(0, 1e6));
    } else if (flag == "--no-link") {
      options.isPeer = false;
    } else if (flag == "--song") {
      options.song = value(1, 2000);
    } else if (flag == "--timebase") {
      options.timebase = value(1, 2000);
    } else if (flag == "--exact") {
      options.exact = value(-1e6, 1e6);
      options.plays = true;
    } else if (flag == "--clock") {
      const std::string name = i + 1 < count ? arguments[++i] : "";
      if (name != "wall" && name != "jack") misused("--clock needs jack or wall");
      options.clock = name == "wall" ? Exact::Clock::wall : Exact::Clock::jack;
    } else if (flag == "--name") {
      if (i + 1 >= count) misused("--name needs a name");
      options.name = arguments[++i];
    } else if (flag[0] == '-') {
      misused(flag + ": no such option");
    } else {
      Source source;
      const auto at = flag.rfind('@');
      source.name = flag.substr(0, at);
      source.perBeat = at == std::string::npos
        ? 0 : static_cast<int>(numeric("@", flag.c_str() + at + 1, 1, 96));
      options.sources.push_back(source);
    }
  }
  if (options.sources.size() > kMostPorts) misused("at most 16 ports");
  if (options.sources.empty() && !options.plays && options.timebase == 0) misused("no port to listen to");
  return options;
}

}  // namespace ear
