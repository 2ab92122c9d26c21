// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle.h"

// Without Debian's ableton-link-dev this target is empty, so that a plain `swift build` needs nothing of it.
#if __has_include(<ableton/Link.hpp>)

#include <ableton/platforms/Config.hpp>
// A captured state can be made from chosen values only through its private constructor.
#define private public
#include <ableton/Link.hpp>
#undef private

namespace {
using namespace ableton;
using Micros = std::chrono::microseconds;
using State = Link::SessionState;

link::Timeline reference(OracleTimeline t) {
  return {link::Tempo{t.bpm}, link::Beats{t.beatOrigin}, Micros{t.timeOrigin}};
}
OracleTimeline oracle(const link::Timeline& t) {
  return {t.tempo.bpm(), t.beatOrigin.microBeats(), t.timeOrigin.count()};
}
link::GhostXForm reference(OracleGhostMap m) { return {m.slope, Micros{m.intercept}}; }

State reference(OracleState s) {
  return State{{reference(s.timeline), {s.isPlaying, Micros{s.time}}}, s.isConnected};
}
OracleState oracle(const State& s) {
  return {oracle(s.mState.timeline), s.mState.startStopState.isPlaying,
    s.mState.startStopState.time.count(), s.mbRespectQuantum};
}
}  // namespace

extern "C" {
int64_t oracle_beats(double value) { return link::Beats{value}.microBeats(); }
int64_t oracle_micros_per_beat(double bpm) { return link::Tempo{bpm}.microsPerBeat().count(); }
double oracle_bpm_of_micros_per_beat(int64_t micros) { return link::Tempo{Micros{micros}}.bpm(); }
int64_t oracle_micros_to_beats(double bpm, int64_t micros) {
  return link::Tempo{bpm}.microsToBeats(Micros{micros}).microBeats();
}
int64_t oracle_beats_to_micros(double bpm, int64_t beats) {
  return link::Tempo{bpm}.beatsToMicros(link::Beats{beats}).count();
}
int64_t oracle_to_beats(OracleTimeline t, int64_t time) { return reference(t).toBeats(Micros{time}).microBeats(); }
int64_t oracle_from_beats(OracleTimeline t, int64_t beats) {
  return reference(t).fromBeats(link::Beats{beats}).count();
}
int64_t oracle_phase(int64_t beats, int64_t quantum) {
  return link::phase(link::Beats{beats}, link::Beats{quantum}).microBeats();
}
int64_t oracle_next_phase_match(int64_t beats, int64_t target, int64_t quantum) {
  return link::nextPhaseMatch(link::Beats{beats}, link::Beats{target}, link::Beats{quantum}).microBeats();
}
int64_t oracle_closest_phase_match(int64_t beats, int64_t target, int64_t quantum) {
  return link::closestPhaseMatch(link::Beats{beats}, link::Beats{target}, link::Beats{quantum}).microBeats();
}
int64_t oracle_to_phase_encoded(OracleTimeline t, int64_t time, int64_t quantum) {
  return link::toPhaseEncodedBeats(reference(t), Micros{time}, link::Beats{quantum}).microBeats();
}
int64_t oracle_from_phase_encoded(OracleTimeline t, int64_t beats, int64_t quantum) {
  return link::fromPhaseEncodedBeats(reference(t), link::Beats{beats}, link::Beats{quantum}).count();
}
int64_t oracle_host_to_ghost(OracleGhostMap m, int64_t host) { return reference(m).hostToGhost(Micros{host}).count(); }
int64_t oracle_ghost_to_host(OracleGhostMap m, int64_t ghost) {
  return reference(m).ghostToHost(Micros{ghost}).count();
}
OracleTimeline oracle_client_from_session(
  OracleTimeline client, OracleTimeline session, int64_t now, OracleGhostMap m) {
  return oracle(link::updateClientTimelineFromSession(
    reference(client), reference(session), Micros{now}, reference(m)));
}
OracleTimeline oracle_session_from_client(
  OracleTimeline session, OracleTimeline client, int64_t now, OracleGhostMap m) {
  return oracle(link::updateSessionTimelineFromClient(
    reference(session), reference(client), Micros{now}, reference(m)));
}
OracleTimeline oracle_shift_client(OracleTimeline client, int64_t beats) {
  return oracle(link::shiftClientTimeline(reference(client), link::Beats{beats}));
}

double oracle_tempo(OracleState s) { return reference(s).tempo(); }
OracleState oracle_set_tempo(OracleState s, double bpm, int64_t time) {
  auto state = reference(s);
  state.setTempo(bpm, Micros{time});
  return oracle(state);
}
double oracle_beat_at_time(OracleState s, int64_t time, double quantum) {
  return reference(s).beatAtTime(Micros{time}, quantum);
}
double oracle_phase_at_time(OracleState s, int64_t time, double quantum) {
  return reference(s).phaseAtTime(Micros{time}, quantum);
}
int64_t oracle_time_at_beat(OracleState s, double beat, double quantum) {
  return reference(s).timeAtBeat(beat, quantum).count();
}
OracleState oracle_request_beat(OracleState s, double beat, int64_t time, double quantum) {
  auto state = reference(s);
  state.requestBeatAtTime(beat, Micros{time}, quantum);
  return oracle(state);
}
OracleState oracle_force_beat(OracleState s, double beat, int64_t time, double quantum) {
  auto state = reference(s);
  state.forceBeatAtTime(beat, Micros{time}, quantum);
  return oracle(state);
}
OracleState oracle_set_playing(OracleState s, bool isPlaying, int64_t time, double beat, double quantum) {
  auto state = reference(s);
  state.setIsPlayingAndRequestBeatAtTime(isPlaying, Micros{time}, beat, quantum);
  return oracle(state);
}

bool oracle_peer(const uint8_t *payload, size_t size, OraclePeer *peer) {
  try {
    const auto state = link::PeerState::fromPayload({}, payload, payload + size);
    *peer = {oracle(state.timeline()), 0, state.startStopState().isPlaying,
      state.startStopState().beats.microBeats(), state.startStopState().timestamp.count(),
      static_cast<uint32_t>(state.endpoint.address().to_v4().to_ulong()), state.endpoint.port()};
    for (const auto byte : state.sessionId()) { peer->session = peer->session << 8 | static_cast<uint8_t>(byte); }
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}
}

#endif
