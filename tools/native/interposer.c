// SPDX-License-Identifier: GPL-2.0-or-later
// build: clang -Werror -fPIC -shared -ldl -pthread
//
// Watches the audio thread of an unmodified program. Preloaded, it stands between the
// program and libjack: JACK calls the program's process, sync and timebase callbacks
// through it, so it knows when the audio thread is inside one of them. In there, each
// of these is a violation, counted by its kind and recorded with its stack:
//   - a call to the allocator, a lock, a condition, a semaphore, a clock, or a Swift retain or release;
//   - any system call, from any code: the kernel returns it as SIGSYS (Syscall User Dispatch), so this also
//     sees the futex under a Swift Mutex and the calls inside libjack.
// An uncontended inlined lock (a Swift Mutex) makes no system call: only the compiler's check sees it.
//
// Counts go to the file named by REALTIME_REPORT, which is mapped, so that they outlive a crash.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

#define KINDS 48
#define STACKS_PER_KIND 3

// The layout of the report file, which tools/lib/workshop/proofs reads.
struct report {
    uint64_t magic, cycles, syncs, timebases, audible, midi_events, syscalls_watched, violations;
    struct { char name[24]; uint64_t count; } kinds[KINDS];
};

static struct report fallback, *report = &fallback;
static int stacks = -1;
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread volatile char dispatch __attribute__((tls_model("initial-exec")));
static __thread int dispatching __attribute__((tls_model("initial-exec")));

static void violation(const char *name) {
    int was = inside;
    inside = 0;
    dispatch = 0;
    __atomic_add_fetch(&report->violations, 1, __ATOMIC_RELAXED);
    int kind = 0;
    while (kind < KINDS - 1 && report->kinds[kind].name[0] && strcmp(report->kinds[kind].name, name)) kind++;
    if (!report->kinds[kind].name[0]) strncpy(report->kinds[kind].name, name, sizeof report->kinds[kind].name - 1);
    if (report->kinds[kind].count++ < STACKS_PER_KIND && stacks >= 0) {
        void *frames[24];
        dprintf(stacks, "--- %s\n", name);
        backtrace_symbols_fd(frames, backtrace(frames, 24), stacks);
    }
    inside = was;
    dispatch = was && dispatching;
}

// ---- system calls

static void caught(int signal, siginfo_t *info, void *context) {
    (void)signal;
    char name[24];
    snprintf(name, sizeof name, "system call %d", info->si_syscall);
    violation(name);
    // Do the system call after all: go back to its instruction, with its number in the register. From now on,
    // the kernel lets all calls pass until the end of this callback, because one report a cycle is enough.
    dispatch = 0;
#if defined(__x86_64__)
    ucontext_t *machine = context;
    machine->uc_mcontext.gregs[REG_RIP] -= 2;
    machine->uc_mcontext.gregs[REG_RAX] = info->si_syscall;
#endif
}

static void watch_this_thread(void) {
#if defined(__x86_64__)
    dispatching = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch) == 0 ? 1 : -1;
#else
    dispatching = -1;
#endif
    if (dispatching == 1) report->syscalls_watched = 1; else dispatching = -1;
}

// ---- JACK's callbacks

typedef int (*process_fn)(uint32_t, void *);
typedef int (*sync_fn)(int, void *, void *);
typedef void (*timebase_fn)(int, uint32_t, void *, int, void *);

// The program's callback and its argument. This memory is never freed, because JACK may still call a callback
// that has been replaced.
struct given { void *callback, *argument, *handle; };

static struct given *given(void *handle, void *callback, void *argument) {
    struct given *place = malloc(sizeof *place);
    if (place) *place = (struct given){callback, argument, handle};
    return place;
}

static void *click_port, *click_client;

static inline void enter(void) {
    if (!dispatching) watch_this_thread();
    inside = 1;
    dispatch = dispatching == 1;
}

static inline void leave(void) {
    dispatch = 0;
    inside = 0;
}

static void *(*real_port_get_buffer)(void *, uint32_t);

static int guarded_process(uint32_t frames, void *arg) {
    struct given *theirs = arg;
    enter();
    int result = ((process_fn)theirs->callback)(frames, theirs->argument);
    leave();
    report->cycles++;
    float *samples = click_port && theirs->handle == click_client ? real_port_get_buffer(click_port, frames) : NULL;
    for (uint32_t i = 0; samples && i < frames; i++)
        if (samples[i] != 0) { report->audible++; break; }
    return result;
}

static int guarded_sync(int state, void *position, void *arg) {
    struct given *theirs = arg;
    enter();
    int result = ((sync_fn)theirs->callback)(state, position, theirs->argument);
    leave();
    report->syncs++;
    return result;
}

static void guarded_timebase(int state, uint32_t frames, void *position, int is_new, void *arg) {
    struct given *theirs = arg;
    enter();
    ((timebase_fn)theirs->callback)(state, frames, position, is_new, theirs->argument);
    leave();
    report->timebases++;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

int jack_set_process_callback(void *handle, void *process, void *arg) {
    int (*real)(void *, void *, void *) = next("jack_set_process_callback");
    return real(handle, process ? guarded_process : NULL, given(handle, process, arg));
}

int jack_set_sync_callback(void *handle, void *sync, void *arg) {
    int (*real)(void *, void *, void *) = next("jack_set_sync_callback");
    return real(handle, sync ? guarded_sync : NULL, given(handle, sync, arg));
}

int jack_set_timebase_callback(void *handle, int conditional, void *timebase, void *arg) {
    int (*real)(void *, int, void *, void *) = next("jack_set_timebase_callback");
    return real(handle, conditional, timebase ? guarded_timebase : NULL, given(handle, timebase, arg));
}

void *jack_port_register(void *handle, const char *name, const char *type, unsigned long flags, unsigned long size) {
    void *(*real)(void *, const char *, const char *, unsigned long, unsigned long) = next("jack_port_register");
    void *port = real(handle, name, type, flags, size);
    if (!strcmp(name, "click_1")) { click_port = port; click_client = handle; }
    return port;
}

int jack_client_close(void *handle) {
    int (*real)(void *) = next("jack_client_close");
    if (handle == click_client) click_port = NULL;
    return real(handle);
}

static unsigned char *(*real_midi_event_reserve)(void *, uint32_t, size_t);

unsigned char *jack_midi_event_reserve(void *buffer, uint32_t time, size_t size) {
    unsigned char *place = real_midi_event_reserve(buffer, time, size);
    if (inside && place) report->midi_events++;
    return place;
}

// ---- the allocator: glibc's own names, because dlsym itself allocates

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
#define NOTE(name) do { if (__builtin_expect(inside, 0)) violation(name); } while (0)

void *malloc(size_t n) { NOTE("malloc"); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { NOTE("calloc"); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { NOTE("realloc"); return __libc_realloc(p, n); }
void free(void *p) { NOTE("free"); __libc_free(p); }
void *memalign(size_t a, size_t n) { NOTE("memalign"); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { NOTE("aligned_alloc"); return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    NOTE("posix_memalign");
    return (*p = __libc_memalign(a, n)) ? 0 : 12;
}

// ---- locks, waiting, clocks, reference counts

#define WRAP(result, name, version, parameters, arguments)                       \
    static result (*real_##name) parameters;                                      \
    static void *find_##name(void) {                                              \
        void *found = version[0] ? dlvsym(RTLD_NEXT, #name, version) : NULL;       \
        return found ? found : next(#name);                                       \
    }                                                                             \
    result name parameters {                                                      \
        NOTE(#name);                                                              \
        if (!real_##name) real_##name = find_##name();                            \
        return real_##name arguments;                                             \
    }

WRAP(int, pthread_mutex_lock, "", (pthread_mutex_t * m), (m))
WRAP(int, pthread_mutex_trylock, "", (pthread_mutex_t * m), (m))
WRAP(int, pthread_mutex_unlock, "", (pthread_mutex_t * m), (m))
WRAP(int, pthread_rwlock_rdlock, "", (pthread_rwlock_t * l), (l))
WRAP(int, pthread_rwlock_wrlock, "", (pthread_rwlock_t * l), (l))
WRAP(int, pthread_rwlock_unlock, "", (pthread_rwlock_t * l), (l))
WRAP(int, pthread_spin_lock, "", (pthread_spinlock_t * l), (l))
WRAP(int, pthread_once, "", (pthread_once_t * o, void (*f)(void)), (o, f))
WRAP(int, pthread_cond_signal, "GLIBC_2.3.2", (pthread_cond_t * c), (c))
WRAP(int, pthread_cond_broadcast, "GLIBC_2.3.2", (pthread_cond_t * c), (c))
WRAP(int, pthread_cond_wait, "GLIBC_2.3.2", (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WRAP(int, sem_wait, "", (sem_t * s), (s))
WRAP(int, sem_trywait, "", (sem_t * s), (s))
WRAP(int, sem_post, "", (sem_t * s), (s))
WRAP(int, clock_gettime, "", (clockid_t c, struct timespec *t), (c, t))

// These two may be called while more registers are in use than a C function preserves.
#define WRAP_COUNT(name, result)                                                  \
    static result (*real_##name)(void *);                                         \
    __attribute__((preserve_most)) result name(void *object) {                    \
        NOTE(#name);                                                              \
        if (!real_##name) real_##name = next(#name);                              \
        return real_##name(object);                                               \
    }
WRAP_COUNT(swift_retain, void *)
WRAP_COUNT(swift_release, void)

// ---- before main

__attribute__((constructor)) static void begin(void) {
    real_port_get_buffer = next("jack_port_get_buffer");
    real_midi_event_reserve = next("jack_midi_event_reserve");
    const char *path = getenv("REALTIME_REPORT");
    if (!path) return;
    int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0 || ftruncate(file, sizeof *report) != 0) { perror(path); _exit(125); }
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (report == MAP_FAILED) { perror(path); _exit(125); }
    close(file);
    report->magic = 0x52544d45;
    char name[4096];
    snprintf(name, sizeof name, "%s.stacks", path);
    stacks = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    void *frames[4];
    backtrace(frames, 4);  // its first call allocates, so make it here
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
}
