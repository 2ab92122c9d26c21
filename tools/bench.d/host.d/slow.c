// SPDX-License-Identifier: GPL-2.0-or-later
// A client that needs so many milliseconds to get ready for a start, as a DAW with a disk does.
#include <jack/jack.h>
#include <jack/transport.h>
#include <stdlib.h>
#include <unistd.h>

static double needed, held;

static int sync_with(jack_transport_state_t state, jack_position_t *position, void *client) {
    (void)position;
    if (state != JackTransportStarting) {
        held = 0;
        return 1;
    }
    held += 1000.0 * jack_get_buffer_size(client) / jack_get_sample_rate(client);
    if (held < needed) return 0;
    held = 0;
    return 1;
}

static int process(jack_nframes_t frames, void *unused) {
    (void)frames, (void)unused;
    return 0;
}

int main(int count, char **words) {
    needed = count > 1 ? atof(words[1]) : 200;
    jack_client_t *client = jack_client_open("slow", JackNoStartServer, NULL);
    if (!client) return 69;
    jack_set_process_callback(client, process, NULL);
    jack_set_sync_callback(client, sync_with, client);
    if (jack_activate(client) != 0) return 1;
    for (;;) pause();
}
