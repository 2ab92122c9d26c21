// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the thread sanitizer that a Mutex of Swift's Synchronization was handed over. Its fast path is
// compiled into our code and visible. If two threads want it at once, the kernel hands it over
// (FUTEX_LOCK_PI) inside libswiftSynchronization, which is not instrumented. Linked into a build with the
// thread sanitizer (tools/test), this reports the handover at these three places. mutex.swift is the proof:
// without this file it shows a false race, with it only the real one.
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
