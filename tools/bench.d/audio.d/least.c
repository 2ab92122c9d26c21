// SPDX-License-Identifier: GPL-2.0-or-later
// The least that a JACK client can do: one port, cleared in every cycle. How long its process callback takes is what the
// machine takes, and no client's doing.
#include <jack/jack.h>
#include <string.h>
#include <unistd.h>

static jack_port_t *port;

static int process(jack_nframes_t frames, void *unused) {
  (void)unused;
  memset(jack_port_get_buffer(port, frames), 0, frames * sizeof(float));
  return 0;
}

int main(void) {
  jack_client_t *client = jack_client_open("least", JackNoStartServer, NULL);
  if (!client) return 1;
  port = jack_port_register(client, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  jack_set_process_callback(client, process, NULL);
  if (!port || jack_activate(client) != 0) return 1;
  while (1) pause();
}
