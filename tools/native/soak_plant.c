// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -Wno-unused-parameter -shared -fPIC -ldl
// Preloaded into tactus by tools/soak --plant: causes a fault that the soak must find. $PLANT names the
// fault, which begins after eight seconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <jack/jack.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kPatience = 8 };

static double seconds(void) {
  static double began;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double now = t.tv_sec + t.tv_nsec / 1e9;
  if (began == 0) began = now;
  return now - began;
}

static bool planted(const char *name) {
  static const char *plant;
  if (!plant) plant = getenv("PLANT") ? getenv("PLANT") : "";
  return strcmp(plant, name) == 0 && seconds() > kPatience;
}

__attribute__((constructor)) static void begin(void) { seconds(); }

// Faults of the audio thread. Either a click is silenced every three seconds, or all clicks are 1.5 ms late.
// One silent click would not be enough, because the soak ignores a missing click near a change of tempo.
static jack_port_t *click;
static JackProcessCallback callback;
static void *argument;

static void silence_a_click(float *samples, jack_nframes_t frames) {
  enum { kEvery = 3 * 48000 };
  static int quiet = 0, passed = 0;
  static int state = 0;  // 0: wait for silence, 1: silence, 2: in the click to remove, 3: pause
  for (jack_nframes_t i = 0; i < frames; ++i) {
    quiet = samples[i] == 0 ? quiet + 1 : 0;
    if (state == 0 && quiet > 480) state = 1;
    if (state == 1 && quiet == 0) state = 2;
    if (state == 2 && quiet > 480) {
      state = 3;
      passed = 0;
    }
    if (state == 3 && ++passed > kEvery) state = 0;
    if (state == 2) samples[i] = 0;
  }
}

static void delay(float *samples, jack_nframes_t frames) {
  enum { kLate = 72 };
  static float line[kLate];
  static int next = 0;
  for (jack_nframes_t i = 0; i < frames; ++i, next = (next + 1) % kLate) {
    const float now = samples[i];
    samples[i] = line[next];
    line[next] = now;
  }
}

static int process(jack_nframes_t frames, void *unused) {
  const int result = callback(frames, argument);
  float *samples = click ? jack_port_get_buffer(click, frames) : NULL;
  if (samples && planted("click")) silence_a_click(samples, frames);
  if (samples && planted("late")) delay(samples, frames);
  return result;
}

int jack_set_process_callback(jack_client_t *client, JackProcessCallback theirs, void *theirArgument) {
  int (*real)(jack_client_t *, JackProcessCallback, void *) = dlsym(RTLD_NEXT, "jack_set_process_callback");
  callback = theirs;
  argument = theirArgument;
  return real(client, process, NULL);
}

jack_port_t *jack_port_register(jack_client_t *client, const char *name, const char *type, unsigned long flags,
                                unsigned long size) {
  jack_port_t *(*real)(jack_client_t *, const char *, const char *, unsigned long, unsigned long) =
      dlsym(RTLD_NEXT, "jack_port_register");
  jack_port_t *port = real(client, name, type, flags, size);
  if (strcmp(name, "click_1") == 0) click = port;
  return port;
}

// Faults of other threads: memory leaks with each datagram, or the thread that reads from Link's port stops
// for ever.
static void keep_something(void) {
  static char *volatile kept;  // volatile, otherwise the compiler removes this
  if (planted("leak") && (kept = malloc(100000))) memset(kept, 1, 100000);
}

static bool listens_at(int descriptor, in_port_t port) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return false;
  in_port_t mine;
  memcpy(&mine, (char *)&address + 2, sizeof mine);
  return mine == (in_port_t)(port >> 8 | port << 8);
}

static void before_poll(const struct pollfd *all, nfds_t count) {
  keep_something();
  const bool link = planted("network"), osc = planted("osc");
  for (nfds_t i = 0; (link || osc) && i < count; ++i) {
    if (listens_at(all[i].fd, link ? 20808 : 20809)) sleep(1000);
  }
}

int poll(struct pollfd *all, nfds_t count, int timeout) {
  int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
  before_poll(all, count);
  return real(all, count, timeout);
}

int ppoll(struct pollfd *all, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
  int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) = dlsym(RTLD_NEXT, "ppoll");
  before_poll(all, count);
  return real(all, count, timeout, mask);
}
