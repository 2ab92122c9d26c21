// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -ljack
// What leaves tactus:pulse, cycle by cycle, with JACK's time for it (CLOCK_MONOTONIC_RAW on jackd).
//
//   watch toggles N PORT   switches the pulses on and off N times by OSC; for each: microseconds from the packet to the
//                          cycle boundary after it, and from that boundary to the cycle that shows the change
//   watch onsets SECONDS   the time of each pulse's first frame
#include <arpa/inet.h>
#include <jack/jack.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ring = 1 << 16 };
struct Cycle {
    double start, next;
    int onset;
};
static struct Cycle cycles[ring];
static atomic_uint written;
static jack_port_t *input;
static jack_client_t *client;
static float last;

static int process(jack_nframes_t frames, void *unused) {
    (void)unused;
    const float *samples = jack_port_get_buffer(input, frames);
    unsigned place = atomic_load(&written) % ring;
    struct Cycle *cycle = &cycles[place];
    jack_nframes_t frame;
    jack_time_t start, next;
    float period;
    if (jack_get_cycle_times(client, &frame, &start, &next, &period)) return 0;
    cycle->start = start;
    cycle->next = next;
    cycle->onset = -1;
    for (jack_nframes_t i = 0; i < frames; i++) {
        if (samples[i] > 0 && !(last > 0)) cycle->onset = cycle->onset < 0 ? (int)i : cycle->onset;
        last = samples[i];
    }
    atomic_fetch_add(&written, 1);
    return 0;
}

static struct Cycle await(unsigned place) {
    while (atomic_load(&written) <= place) usleep(200);
    return cycles[place % ring];
}

static void say(int sock, const struct sockaddr_in *target, int on) {
    unsigned char packet[24] = "/tactus/pulse\0\0\0,i\0\0";
    packet[23] = on;
    sendto(sock, packet, 24, 0, (const struct sockaddr *)target, sizeof *target);
}

static void toggles(int count, int port) {
    int sock = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in target = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &target.sin_addr);
    for (int round = 0; round < count; round++) {
        int on = round % 2;
        usleep(15000 + rand() % 20000);
        unsigned place = atomic_load(&written);
        double sent = jack_get_time();
        say(sock, &target, on);
        // The cycle that runs while it was sent began before; the boundary is the first that comes after.
        double boundary = 0;
        for (int waited = 0; waited < 400; waited++) {
            struct Cycle cycle = await(place + waited);
            if (!boundary && cycle.start > sent) boundary = cycle.start;
            if (boundary && (cycle.onset >= 0) == on) {
                printf("%.0f %.0f\n", boundary - sent, cycle.start - boundary);
                break;
            }
        }
    }
}

static void onsets(double seconds) {
    unsigned place = atomic_load(&written);
    double end = jack_get_time() + seconds * 1e6;
    while (jack_get_time() < end) {
        struct Cycle cycle = await(place++);
        if (cycle.onset < 0) continue;
        double frames = jack_get_buffer_size(client);
        printf("%.1f\n", cycle.start + cycle.onset / frames * (cycle.next - cycle.start));
        fflush(stdout);
    }
}

int main(int count, char **words) {
    if (count < 3) return 2;
    client = jack_client_open("watch", JackNoStartServer, NULL);
    if (!client) return 1;
    input = jack_port_register(client, "pulse", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    jack_set_process_callback(client, process, NULL);
    if (jack_activate(client) || jack_connect(client, "tactus:pulse", "watch:pulse")) return 1;
    usleep(300000);
    if (!strcmp(words[1], "toggles")) toggles(atoi(words[2]), count > 3 ? atoi(words[3]) : 20809);
    if (!strcmp(words[1], "onsets")) onsets(atof(words[2]));
    jack_client_close(client);
    return 0;
}
