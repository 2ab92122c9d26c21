// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -ljack
// first_sound PORT: connects itself to PORT as soon as the port exists, and prints the time of its first
// sound, in seconds of CLOCK_MONOTONIC, exact to a period. It is ready when it has printed "ready".
#include <jack/jack.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static jack_port_t *ear;
static _Atomic double heard;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static int process(jack_nframes_t frames, void *unused) {
  (void)unused;
  const float *samples = jack_port_get_buffer(ear, frames);
  if (atomic_load(&heard) > 0) return 0;
  for (jack_nframes_t i = 0; i < frames; i++) {
    if (fabsf(samples[i]) > 0.01f) {
      atomic_store(&heard, now());
      break;
    }
  }
  return 0;
}

int main(int count, char **words) {
  if (count != 2) return 2;
  jack_client_t *client = jack_client_open("first_sound", JackNoStartServer, NULL);
  if (!client) return 1;
  ear = jack_port_register(client, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  if (!ear || jack_set_process_callback(client, process, NULL) || jack_activate(client)) return 1;
  puts("ready");
  fflush(stdout);
  const struct timespec pause = {0, 2000000};
  int plugged = 0;
  for (double end = now() + 120; now() < end; nanosleep(&pause, NULL)) {
    if (!plugged) plugged = jack_port_by_name(client, words[1]) && !jack_connect(client, words[1], jack_port_name(ear));
    if (atomic_load(&heard) > 0) {
      printf("%.3f\n", atomic_load(&heard));
      jack_client_close(client);
      return 0;
    }
  }
  return 1;
}
