// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the thread sanitizer that one thread has handed a Mutex of Swift's Synchronization to another thread.
// The fast path of Mutex is compiled into our code, so the sanitizer sees it. If two threads want the Mutex
// at once, the kernel hands it over (FUTEX_LOCK_PI) inside libswiftSynchronization, which the sanitizer does
// not see. Linked into a build with the thread sanitizer (tools/test), this file reports the handover at the
// three functions below. mutex.swift proves that it works: without this file, the sanitizer reports a false
// race there, with this file only the real race.
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
