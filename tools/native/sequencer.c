// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -shared -fPIC
// A dummy ALSA sequencer, loaded before libasound (LD_PRELOAD) if the kernel has none: Qtractor, for example,
// does not start its audio without a sequencer. Ports and queues can be created; sent events vanish, none
// arrives, and a queue's ticks pass at its tempo. Only calls that would reach the kernel are replaced here;
// all others are libasound's.
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { START = 30, CONTINUE = 31, STOP = 32, PLACE_IN_TIME = 34 };  // values of snd_seq_event_type

size_t snd_seq_queue_tempo_sizeof(void);
void snd_seq_port_info_set_port(void *port, int number);
unsigned snd_seq_queue_tempo_get_tempo(const void *tempo);
int snd_seq_queue_tempo_get_ppq(const void *tempo);

static int never = -1;  // the descriptor to poll, on which nothing arrives
static int ports;
static char tempo[256];
static double ticks, seconds, since;  // ticks and seconds up to the time `since`; 0: the queue is stopped

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double passed(void) {
  const double beat = snd_seq_queue_tempo_get_tempo(tempo) * 1e-6;
  if (since == 0 || beat <= 0) return ticks;
  return ticks + (now() - since) / beat * snd_seq_queue_tempo_get_ppq(tempo);
}

static double lasted(void) { return since == 0 ? seconds : seconds + now() - since; }

static void hold(void) {
  ticks = passed();
  seconds = lasted();
  if (since != 0) since = now();
}

int snd_seq_open(void **sequencer, const char *name, int streams, int mode) {
  (void)name, (void)streams, (void)mode;
  if (never < 0) never = eventfd(0, EFD_CLOEXEC);
  *sequencer = &never;
  return never < 0 ? -errno : 0;
}

int snd_seq_client_id(void *s) { return (void)s, 128; }
int snd_seq_create_simple_port(void *s, const char *name, unsigned caps, unsigned type) {
  return (void)s, (void)name, (void)caps, (void)type, ports++;
}
int snd_seq_poll_descriptors_count(void *s, short events) { return (void)s, (void)events, 1; }
int snd_seq_poll_descriptors(void *s, struct pollfd *fds, unsigned space, short events) {
  (void)s;
  if (space < 1) return 0;
  *fds = (struct pollfd){.fd = never, .events = events & POLLIN};
  return 1;
}
int snd_seq_event_input(void *s, void **event) { return (void)s, *event = NULL, -EAGAIN; }
int snd_seq_event_input_pending(void *s, int fetch) { return (void)s, (void)fetch, 0; }

int snd_seq_set_queue_tempo(void *s, int queue, void *wanted) {
  (void)s, (void)queue;
  hold();
  if (snd_seq_queue_tempo_sizeof() > sizeof tempo) return -EINVAL;
  memcpy(tempo, wanted, snd_seq_queue_tempo_sizeof());
  return 0;
}
int snd_seq_get_queue_tempo(void *s, int queue, void *answer) {
  (void)s, (void)queue;
  if (snd_seq_queue_tempo_sizeof() > sizeof tempo) return -EINVAL;
  memcpy(answer, tempo, snd_seq_queue_tempo_sizeof());
  return 0;
}
int snd_seq_control_queue(void *s, int queue, int type, int value, void *event) {
  (void)s, (void)queue, (void)value;
  hold();
  if (type == PLACE_IN_TIME && event) {  // the event's time: the seconds are its sixth word, then nanoseconds
    const unsigned *place = (const unsigned *)event + 5;
    seconds = place[0] + place[1] * 1e-9;
  }
  if (type == START) ticks = seconds = 0;
  if (type == START || type == CONTINUE) since = now();
  if (type == STOP) since = 0;
  return 0;
}
int snd_seq_get_queue_status(void *s, int queue, void *status) { return (void)s, (void)queue, (void)status, 0; }
unsigned snd_seq_queue_status_get_tick_time(const void *status) { return (void)status, (unsigned)passed(); }
const void *snd_seq_queue_status_get_real_time(const void *status) {
  static _Thread_local struct { unsigned whole, billionths; } time;
  const double there = lasted();
  (void)status;
  time.whole = (unsigned)there;
  time.billionths = (unsigned)((there - time.whole) * 1e9);
  return &time;
}
int snd_seq_create_port(void *s, void *port) { return (void)s, snd_seq_port_info_set_port(port, ports++), 0; }

// Reports that there are no other clients.
int snd_seq_query_next_client(void *s, void *i) { return (void)s, (void)i, -ENOENT; }
int snd_seq_query_next_port(void *s, void *i) { return (void)s, (void)i, -ENOENT; }
int snd_seq_query_port_subscribers(void *s, void *i) { return (void)s, (void)i, -ENOENT; }
int snd_seq_get_any_client_info(void *s, int c, void *i) { return (void)s, (void)c, (void)i, -ENOENT; }
int snd_seq_get_any_port_info(void *s, int c, int p, void *i) {
  return (void)s, (void)c, (void)p, (void)i, -ENOENT;
}

#define AGREES(NAME, ...) int NAME(__VA_ARGS__) { return 0; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
AGREES(snd_seq_close, void *s)
AGREES(snd_seq_set_client_name, void *s, const char *name)
AGREES(snd_seq_delete_simple_port, void *s, int port)
AGREES(snd_seq_delete_port, void *s, int port)
AGREES(snd_seq_connect_from, void *s, int port, int client, int their)
AGREES(snd_seq_connect_to, void *s, int port, int client, int their)
AGREES(snd_seq_disconnect_to, void *s, int port, int client, int their)
AGREES(snd_seq_system_info, void *s, void *info)
AGREES(snd_seq_set_client_pool_input, void *s, size_t size)
AGREES(snd_seq_set_client_pool_output, void *s, size_t size)
AGREES(snd_seq_set_client_pool_output_room, void *s, size_t size)
AGREES(snd_seq_alloc_queue, void *s)
AGREES(snd_seq_alloc_named_queue, void *s, const char *name)
AGREES(snd_seq_get_queue_timer, void *s, int queue, void *timer)
AGREES(snd_seq_free_queue, void *s, int queue)
AGREES(snd_seq_set_queue_timer, void *s, int queue, void *timer)
AGREES(snd_seq_get_port_info, void *s, int port, void *info)
AGREES(snd_seq_set_port_info, void *s, int port, void *info)
AGREES(snd_seq_subscribe_port, void *s, void *subscription)
AGREES(snd_seq_unsubscribe_port, void *s, void *subscription)
AGREES(snd_seq_event_output, void *s, void *event)
AGREES(snd_seq_event_output_direct, void *s, void *event)
AGREES(snd_seq_free_event, void *event)
AGREES(snd_seq_drain_output, void *s)
AGREES(snd_seq_drop_output, void *s)
AGREES(snd_seq_drop_output_buffer, void *s)
AGREES(snd_seq_drop_input, void *s)
AGREES(snd_seq_remove_events, void *s, void *what)
