// SPDX-License-Identifier: GPL-2.0-or-later
// A timebase master as a script has it: leader TICKS, then on its input "tempo BPM" or "ramp BPM SECONDS", a line each.
#include <jack/jack.h>
#include <jack/transport.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static double ticks, beats, tempo = 131;
static jack_nframes_t last;
// What was asked for last; the number says that it is new.
static _Atomic double wanted = 131, seconds;
static atomic_int asked;

static double step(double length) {
    static int seen;
    static double from, length_of_ramp, passed;
    int number = atomic_load(&asked);
    if (number != seen) {
        seen = number;
        from = tempo;
        length_of_ramp = atomic_load(&seconds);
        passed = 0;
    }
    passed += length;
    double to = atomic_load(&wanted);
    return passed >= length_of_ramp ? to : from + (to - from) * passed / length_of_ramp;
}

static void timebase(jack_transport_state_t state, jack_nframes_t frames, jack_position_t *position, int is_new,
                     void *client) {
    (void)state, (void)frames;
    double rate = jack_get_sample_rate(client);
    jack_nframes_t passed = position->frame - last;
    last = position->frame;
    if (is_new || passed > rate) {
        beats = position->frame / rate * tempo / 60;
    } else {
        double before = tempo;
        tempo = step(passed / rate);
        beats += passed / rate * (before + tempo) / 120;
    }
    int bar = (int)(beats / 4), beat = (int)beats;
    position->valid = JackPositionBBT;
    position->beats_per_bar = 4;
    position->beat_type = 4;
    position->ticks_per_beat = ticks;
    position->beats_per_minute = tempo;
    position->bar = bar + 1;
    position->beat = beat - bar * 4 + 1;
    position->tick = (int)((beats - beat) * ticks);
    position->bar_start_tick = bar * 4 * ticks;
}

static int process(jack_nframes_t frames, void *unused) {
    (void)frames, (void)unused;
    return 0;
}

int main(int count, char **words) {
    ticks = count > 1 ? atof(words[1]) : 1920;
    jack_client_t *client = jack_client_open("leader", JackNoStartServer, NULL);
    if (!client) return 69;
    jack_set_process_callback(client, process, NULL);
    if (jack_activate(client) != 0 || jack_set_timebase_callback(client, 0, timebase, client) != 0) return 1;
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        double to = 0, length = 0;
        if (sscanf(line, "ramp %lf %lf", &to, &length) < 1 && sscanf(line, "tempo %lf", &to) < 1) continue;
        atomic_store(&wanted, to);
        atomic_store(&seconds, length);
        atomic_fetch_add(&asked, 1);
    }
    jack_client_close(client);
}
