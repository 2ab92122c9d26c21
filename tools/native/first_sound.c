// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -ljack
// first_sound PORT: connects itself to PORT as soon as another port is connected to PORT, and prints the time
// of the first sound there, in seconds of CLOCK_MONOTONIC, exact to a period. Prints "ready" first.
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

static int is_connected(jack_client_t *client, const char *name) {
  jack_port_t *port = jack_port_by_name(client, name);
  const char **others = port ? jack_port_get_all_connections(client, port) : NULL;
  if (others) jack_free(others);
  return others != NULL;
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
    if (!plugged) plugged = is_connected(client, words[1]) && !jack_connect(client, words[1], jack_port_name(ear));
    if (atomic_load(&heard) > 0) {
      printf("%.3f\n", atomic_load(&heard));
      jack_client_close(client);
      return 0;
    }
  }
  return 1;
}
