// SPDX-License-Identifier: GPL-2.0-or-later
//
// libjack as Swift sees it, and the allow-list: the only C functions that the audio thread may call.
//
// The compiler refuses every C function inside code marked @_noLocks @_noAllocation unless it is redeclared
// here as RT_SAFE. So this page lists everything that we trust. Before adding a line, read the function in
// jack2 and in PipeWire's libjack: it must have no lock, no allocation and no system call, and a bounded run
// time.
#ifndef CJACK_SHIM_H
#define CJACK_SHIM_H

#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/midiport.h>
#include <jack/statistics.h>
#include <jack/transport.h>
#include <jack/uuid.h>
#include <stdlib.h>

#define RT_SAFE __attribute__((swift_attr("@_noLocks"), swift_attr("@_noAllocation")))

// Buffers: the function returns an address inside memory that is shared with the server.
void *jack_port_get_buffer(jack_port_t *, jack_nframes_t) RT_SAFE;

// Times of this cycle: the function reads a double-buffered record. Do not add jack_get_time: it reads a
// clock, and in the callback a clock shows when we were woken, and not when the frames are due.
int jack_get_cycle_times(const jack_client_t *, jack_nframes_t *, jack_time_t *, jack_time_t *,
                         float *) RT_SAFE;
jack_nframes_t jack_last_frame_time(const jack_client_t *) RT_SAFE;

// Transport: a copy of the state that the server published for this cycle.
// Not here: jack_transport_start, _stop and _locate take a lock on PipeWire; they belong to the control thread.
jack_transport_state_t jack_transport_query(const jack_client_t *, jack_position_t *) RT_SAFE;

// MIDI: all within the port's own buffer.
void jack_midi_clear_buffer(void *) RT_SAFE;
jack_midi_data_t *jack_midi_event_reserve(void *, jack_nframes_t, size_t) RT_SAFE;
uint32_t jack_midi_get_event_count(void *) RT_SAFE;
int jack_midi_event_get(jack_midi_event_t *, void *, uint32_t) RT_SAFE;

// Shows the tick with its fraction, if JACK's header supports this. Older headers have neither the field nor
// the bit.
static inline void cjack_show_tick(jack_position_t *position, double tick) RT_SAFE;
static inline void cjack_show_tick(jack_position_t *position, double tick) {
#ifdef JACK_TICK_DOUBLE
    position->tick_double = tick;
    position->valid = (jack_position_bits_t)(position->valid | JackTickDouble);
#endif
}

// The tick with its fraction, as the position shows it; negative if the position does not show it.
static inline double cjack_shown_tick(const jack_position_t *position) RT_SAFE;
static inline double cjack_shown_tick(const jack_position_t *position) {
#ifdef JACK_TICK_DOUBLE
    if (position->valid & JackTickDouble) return position->tick_double;
#endif
    return -1;
}

// jack_client_open is variadic, so Swift does not import it.
static inline jack_client_t *cjack_client_open(const char *name, jack_options_t options,
                                               jack_status_t *status, const char *server) {
    return server ? jack_client_open(name, (jack_options_t)(options | JackServerName), status, server)
                  : jack_client_open(name, options, status);
}

#endif
