// SPDX-License-Identifier: GPL-2.0-or-later
// The arithmetic of Ableton's Link library as C functions, for differential tests only.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  double bpm;
  int64_t beatOrigin;  // microbeats
  int64_t timeOrigin;  // microseconds
} OracleTimeline;

typedef struct {
  double slope;
  int64_t intercept;
} OracleGhostMap;

typedef struct {
  OracleTimeline timeline;
  bool isPlaying;
  int64_t time;
  bool isConnected;
} OracleState;

int64_t oracle_beats(double value);
int64_t oracle_micros_per_beat(double bpm);
double oracle_bpm_of_micros_per_beat(int64_t micros);
int64_t oracle_micros_to_beats(double bpm, int64_t micros);
int64_t oracle_beats_to_micros(double bpm, int64_t beats);
int64_t oracle_to_beats(OracleTimeline timeline, int64_t time);
int64_t oracle_from_beats(OracleTimeline timeline, int64_t beats);
int64_t oracle_phase(int64_t beats, int64_t quantum);
int64_t oracle_next_phase_match(int64_t beats, int64_t target, int64_t quantum);
int64_t oracle_closest_phase_match(int64_t beats, int64_t target, int64_t quantum);
int64_t oracle_to_phase_encoded(OracleTimeline timeline, int64_t time, int64_t quantum);
int64_t oracle_from_phase_encoded(OracleTimeline timeline, int64_t beats, int64_t quantum);
int64_t oracle_host_to_ghost(OracleGhostMap map, int64_t host);
int64_t oracle_ghost_to_host(OracleGhostMap map, int64_t ghost);
OracleTimeline oracle_client_from_session(
  OracleTimeline client, OracleTimeline session, int64_t now, OracleGhostMap map);
OracleTimeline oracle_session_from_client(
  OracleTimeline session, OracleTimeline client, int64_t now, OracleGhostMap map);
OracleTimeline oracle_shift_client(OracleTimeline client, int64_t beats);

// The public API on a captured state.
double oracle_tempo(OracleState state);
OracleState oracle_set_tempo(OracleState state, double bpm, int64_t time);
double oracle_beat_at_time(OracleState state, int64_t time, double quantum);
double oracle_phase_at_time(OracleState state, int64_t time, double quantum);
int64_t oracle_time_at_beat(OracleState state, double beat, double quantum);
OracleState oracle_request_beat(OracleState state, double beat, int64_t time, double quantum);
OracleState oracle_force_beat(OracleState state, double beat, int64_t time, double quantum);
OracleState oracle_set_playing(
  OracleState state, bool isPlaying, int64_t time, double beat, double quantum);

// The state of another peer.
typedef struct {
  OracleTimeline timeline;
  uint64_t session;  // the first byte is the most significant
  bool isPlaying;
  int64_t startBeats;
  int64_t startTime;
  uint32_t address;
  uint16_t port;
} OraclePeer;

// Parses the payload of an Alive. Returns false if Ableton's library refuses the payload.
bool oracle_peer(const uint8_t *payload, size_t size, OraclePeer *peer);

#ifdef __cplusplus
}
#endif
