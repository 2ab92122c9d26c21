// SPDX-License-Identifier: GPL-2.0-or-later
// What the thread sanitizer is not told: that a Mutex of Swift's Synchronization was handed over. Its quick path is compiled
// into us and seen; when two threads want it at once the kernel hands it over (FUTEX_LOCK_PI) inside of libswiftSynchronization,
// which is not instrumented. Linked into a build with the thread sanitizer (tools/test), this says so at these three places.
// mutex.swift is the proof: without this file a race is reported there, with it only the one that is real.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *);
void __tsan_release(void *);

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_lock(SELF) __asm__(TRY);
SWIFT void unlock(SELF) __asm__(UNLOCK);

static void *real(const char *name, void **found) {
  if (!*found) *found = dlsym(RTLD_NEXT, name);
  return *found;
}

SWIFT void lock(uint32_t thread, SELF) {
  static void *found;
  ((SWIFT void (*)(uint32_t, SELF))real(LOCK, &found))(thread, self);
  __tsan_acquire(self);
}

SWIFT bool try_lock(SELF) {
  static void *found;
  const bool got = ((SWIFT bool (*)(SELF))real(TRY, &found))(self);
  if (got) __tsan_acquire(self);
  return got;
}

SWIFT void unlock(SELF) {
  static void *found;
  __tsan_release(self);
  ((SWIFT void (*)(SELF))real(UNLOCK, &found))(self);
}
