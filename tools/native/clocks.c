// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -shared -fPIC -ldl
// Preloaded into the programs of one host by tools/soak --fault, to set that host's
// clocks. The file $CLOCKS has two offsets in nanoseconds: one for the wall clock, which
// may be set back, and one for the monotonic clocks, which stand still while a machine
// sleeps (CLOCK_BOOTTIME does not). The kernel's own clocks are the same for all hosts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile struct {
  int64_t wall, monotonic;
} nothing, *offsets = &nothing;

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
  if (real_gettime) return;
  real_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  const int file = getenv("CLOCKS") ? open(getenv("CLOCKS"), O_RDONLY | O_CLOEXEC) : -1;
  void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offsets, PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (memory != MAP_FAILED) offsets = memory;
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

static int64_t nanoseconds(const struct timespec *t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

static struct timespec timespec_of(int64_t all) {
  const int64_t rest = (all % 1000000000 + 1000000000) % 1000000000;
  return (struct timespec){(all - rest) / 1000000000, rest};
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!real_gettime) begin();
  const int result = real_gettime(clock, t);
  int64_t offset = 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) offset = offsets->wall;
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE) offset = offsets->monotonic;
  if (result == 0 && offset != 0) *t = timespec_of(nanoseconds(t) + offset);
  return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}

// libjack waits until a time of the wall clock. If the wall clock is set back by an hour during the wait,
// libjack waits an hour longer. So wait in short steps here.
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  for (;;) {
    struct timespec mine, wall;
    clock_gettime(CLOCK_REALTIME, &mine);
    real_gettime(CLOCK_REALTIME, &wall);
    int64_t left = nanoseconds(until) - nanoseconds(&mine);
    if (left <= 0) left = 0;
    const int64_t slice = left < 50000000 ? left : 50000000;
    const struct timespec end = timespec_of(nanoseconds(&wall) + slice);
    const int result = real_wait(condition, mutex, &end);
    if (result != ETIMEDOUT || left == 0) return result;
  }
}
