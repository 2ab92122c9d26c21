// SPDX-License-Identifier: GPL-2.0-or-later
#include "reference.h"

#include <dlfcn.h>
#include <pthread.h>

#include <ableton/Link.hpp>

struct Reference {
  ableton::Link link;
};

Reference *reference_new(double tempo) { return new Reference{ableton::Link{tempo}}; }
void reference_delete(Reference *link) { delete link; }
void reference_enable(Reference *link, int on) { link->link.enable(on != 0); }
int reference_peers(Reference *link) { return static_cast<int>(link->link.numPeers()); }

double reference_audio_turns(Reference *link, int turns, int64_t time) {
  double sum = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const auto state = link->link.captureAudioSessionState();
    sum += state.beatAtTime(std::chrono::microseconds{time + turn}, 4);
  }
  return sum;
}

// Counts violations of real time: the program's own definitions precede those of the C library.
static thread_local uint64_t watching, allocations, locks;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

void *malloc(size_t size) noexcept { return allocations += watching, __libc_malloc(size); }
void *calloc(size_t count, size_t size) noexcept { return allocations += watching, __libc_calloc(count, size); }
void *realloc(void *old, size_t size) noexcept { return allocations += watching, __libc_realloc(old, size); }
void free(void *memory) noexcept { allocations += watching, __libc_free(memory); }

int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept {
  static decltype(&pthread_mutex_lock) real;
  locks += watching;
  if (!real) real = reinterpret_cast<decltype(real)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return real(mutex);
}
}

void watch_begin() { allocations = locks = 0, watching = 1; }
uint64_t watch_end() { return watching = 0, allocations << 32 | locks; }
