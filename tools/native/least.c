// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -ljack
// least [NAME MICROSECONDS [PORTS]]
//
// The least that a JACK client can do: one port, or PORTS of which every other one is MIDI, cleared in every
// cycle, and with MICROSECONDS an addition in a register for that long. The duration of its process callback
// is due to JACK and the machine, not to a client.
#include <jack/jack.h>
#include <jack/midiport.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 64 };

static jack_port_t *ports[kMost];
static int used = 1;
static uint64_t turns;

static void add(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) __asm__ volatile("" : "+r"(i));
}

static int process(jack_nframes_t frames, void *unused) {
  (void)unused;
  for (int i = 0; i < used; ++i) {
    void *buffer = jack_port_get_buffer(ports[i], frames);
    if (i % 2) {
      jack_midi_clear_buffer(buffer);
    } else {
      memset(buffer, 0, frames * sizeof(float));
    }
  }
  add(turns);
  return 0;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

// The fastest of many tries was not interrupted.
static uint64_t turns_in(double micros) {
  double quickest = 1e9;
  for (int i = 0; i < 1000; ++i) {
    const double began = now();
    add(10000);
    const double took = now() - began;
    if (took < quickest) quickest = took;
  }
  return (uint64_t)(10000 * micros / quickest);
}

int main(int count, char **words) {
  if (count > 2) turns = turns_in(atof(words[2]));
  jack_client_t *client = jack_client_open(count > 1 ? words[1] : "least", JackNoStartServer, NULL);
  if (count > 3) used = atoi(words[3]);
  if (!client || used > kMost) return 1;
  for (int i = 0; i < used; ++i) {
    char name[16];
    snprintf(name, sizeof name, "out%d", i + 1);
    ports[i] = jack_port_register(client, name, i % 2 ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
    if (!ports[i]) return 1;
  }
  jack_set_process_callback(client, process, NULL);
  if (jack_activate(client) != 0) return 1;
  while (1) pause();
}
