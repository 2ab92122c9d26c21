// SPDX-License-Identifier: GPL-2.0-or-later
// build: clang -Werror -fPIC -shared -ldl
//
// Plants one violation in the audio thread of an unmodified program: preloaded after the interposer, it
// replaces a function that the callback calls in every cycle, and does something forbidden there. The proof
// (tools/prove-realtime) must fail then, otherwise it proves nothing. Compiled once for each PLANT, which
// names the violation.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MALLOC 1
#define FREE 2
#define LOCK 3
#define CLOCK 4
#define WRITE 5
#define FUTEX 6

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;

uint32_t jack_last_frame_time(const void *client) {
    static uint32_t (*real)(const void *);
    if (!real) real = dlsym(RTLD_NEXT, "jack_last_frame_time");
    static int calls;
    if (++calls == 100) {  // only in one cycle, as in a rare branch
        if (PLANT == MALLOC) kept = malloc(100);
        if (PLANT == FREE) free(kept);
        if (PLANT == LOCK) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
        if (PLANT == CLOCK) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); }
        if (PLANT == WRITE) (void)!write(-1, "", 1);
        if (PLANT == FUTEX) syscall(SYS_futex, &calls, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
    }
    return real(client);
}

__attribute__((constructor)) static void begin(void) { kept = malloc(10); }
