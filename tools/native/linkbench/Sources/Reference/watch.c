// SPDX-License-Identifier: GPL-2.0-or-later
// Counts what a real-time thread must not do. The program's own definitions come before the C library's.
#define _GNU_SOURCE
#include "include/reference.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static __thread int watching;
static __thread uint32_t allocations, locks;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

void *malloc(size_t size) { allocations += watching; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { allocations += watching; return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { allocations += watching; return __libc_realloc(old, size); }
void free(void *memory) { allocations += watching; __libc_free(memory); }

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*real)(pthread_mutex_t *);
  locks += watching;
  if (!real) real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  return real(mutex);
}

void watch_begin(void) { allocations = locks = 0; watching = 1; }
uint64_t watch_end(void) { watching = 0; return (uint64_t)allocations << 32 | locks; }
