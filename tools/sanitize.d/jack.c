// SPDX-License-Identifier: GPL-2.0-or-later
// libjack cancels its threads anywhere, also in the middle of the thread sanitizer's own bookkeeping, which
// then ends the program ("thread finished with ignores enabled"). Linked into a build with the thread
// sanitizer (tools/test), this file allows the cancellation of libjack's threads only while they wait in the
// kernel for the server (syscall(SYS_futex)) or for its messages (read).
//
// It also tells the sanitizer in which order the clients of a server run. A client that has finished its
// cycle wakes the next client with a futex in the server's memory, which each client maps at another address.
// In the tests several clients share one process, so without this, a write into a port's buffer would look
// like a race with the next client's read. Only such threads are synchronized here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local bool isAnytime;

ssize_t __interceptor_read(int, void *, size_t);
void __tsan_acquire(void *);
void __tsan_release(void *);

static char graph;

// Call libc's own versions of these two functions: in the sanitizer's versions, a pending cancellation would
// take effect.
static void allow(bool may) {
  static int (*type)(int, int *), (*state)(int, int *);
  if (!type) type = dlsym(RTLD_NEXT, "pthread_setcanceltype");
  if (!state) state = dlsym(RTLD_NEXT, "pthread_setcancelstate");
  state(may ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, NULL);
  type(may ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL);
}

int pthread_setcanceltype(int type, int *old) {
  if (old) *old = isAnytime ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
  isAnytime = type == PTHREAD_CANCEL_ASYNCHRONOUS;
  if (isAnytime) allow(false);
  return 0;
}

ssize_t read(int file, void *bytes, size_t size) {
  if (!isAnytime) return __interceptor_read(file, bytes, size);
  static ssize_t (*real)(int, void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "read");
  allow(true);
  const ssize_t result = real(file, bytes, size);
  allow(false);
  return result;
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (!real) real = dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  const bool waits = isAnytime;
  // Treat only these two futex operations, because Swift's Mutex uses others.
  const int what = number == SYS_futex ? (int)a[1] & FUTEX_CMD_MASK : -1;
  const bool passesOn = waits && (what == FUTEX_WAIT || what == FUTEX_WAKE);
  if (passesOn) __tsan_release(&graph);
  if (waits) allow(true);
  const long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (waits) allow(false);
  if (passesOn) __tsan_acquire(&graph);
  return result;
}

// A thread that was woken early has not waited in syscall(), so synchronize it here, too.
void *jack_port_get_buffer(void *port, uint32_t frames) {
  static void *(*real)(void *, uint32_t);
  if (!real) real = dlsym(RTLD_NEXT, "jack_port_get_buffer");
  if (isAnytime) __tsan_acquire(&graph);
  return real(port, frames);
}
