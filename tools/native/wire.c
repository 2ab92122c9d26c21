// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc
// The lab's wire: an Ethernet switch in user space that can be as bad as a real network, reproducibly.
//
// usage: wire LISTENER STATE. LISTENER is the descriptor of a SOCK_SEQPACKET socket. A request is "HOST" with
// a packet socket (SCM_RIGHTS) that is bound to the switch's end of that host's cable; the answer is "ok" or
// an error. STATE is a file in memory with the wire's settings, which tools/lib/workshop/lab/wire.py writes,
// and its counters, which that program shows.
//
// Every decision about the n-th datagram of a kind (UDP over IPv4, UDP over IPv6, the rest) from one host to
// another is a hash of (seed, from, to, kind, n), independent of time and of other traffic.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 33, PORTS = 128, QUEUE = 16384, FRAME = 2048, BURST = 64 };
enum { UDP4, UDP6, OTHER, KINDS };
enum { LOSS, DUPLICATE, REORDER, JITTER, LANES };
static const int64_t REORDER_GAP = 3000000;  // ns by which a reordered frame is late, so that others overtake

typedef struct { double loss, duplicate, reorder; int64_t delay, jitter, cut; } Quality;
typedef struct { uint64_t frames, lost, duplicated, reordered, cut, overflow, unsent, seen[KINDS]; } Count;
typedef struct { int fd, host; uint8_t address[6]; } Port;  // the hardware address at the cable's other end
typedef struct Late { struct Late *next; int64_t due; int port, from, size; uint8_t bytes[]; } Late;

// The shared state, in the same layout as in wire.py.
static struct {
  uint64_t seed, waiting, cables[HOSTS];
  Quality quality[HOSTS][HOSTS];
  Count counts[HOSTS][HOSTS];
} *state;
static Port ports[PORTS];
static int port_count;
static Late *queue;  // delayed frames, by due time; frames with equal delays keep their order
static int queued;
static int epoll, timer;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static uint64_t mixed(uint64_t x) {  // the last step of the generator splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A number in [0, 1), uniform, which depends on the hosts, the kind, the datagram's number, and the decision
/// to make (`lane`: loss, duplicate and so on).
static double chance(int from, int to, int kind, uint64_t n, int lane) {
  uint64_t place = ((uint64_t)(from * HOSTS + to) * KINDS + kind) * LANES + lane;
  return (mixed(mixed(mixed(state->seed + 0x9e3779b97f4a7c15ULL) + place) + n) >> 11) * 0x1p-53;
}

static void arm(void) {
  static int64_t armed;
  int64_t due = queue ? queue->due : 0;
  if (due == armed) return;
  armed = due;
  struct itimerspec at = {.it_value = {due / 1000000000, due % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void deliver(int from, int port, const uint8_t *frame, int size) {
  int to = ports[port].host;
  if (from != to && state->quality[from][to].cut) state->counts[from][to].cut++;
  else if (send(ports[port].fd, frame, size, MSG_DONTWAIT) < 0) state->counts[from][to].unsent++;
}

static void later(int64_t due, int from, int port, const uint8_t *frame, int size) {
  Late *late = queued < QUEUE ? malloc(sizeof *late + size) : NULL, **place = &queue;
  if (!late) {
    state->counts[from][ports[port].host].overflow++;
    return;
  }
  while (*place && (*place)->due <= due) place = &(*place)->next;
  *late = (Late){*place, due, port, from, size};
  memcpy(late->bytes, frame, size);
  *place = late;
  queued++;
}

static void pass(int from, int port, int kind, const uint8_t *frame, int size) {
  int to = ports[port].host;
  if (from == to) return deliver(from, port, frame, size);  // both cables belong to one host: no delay
  Count *count = &state->counts[from][to];
  const Quality *q = &state->quality[from][to];
  uint64_t n = count->seen[kind]++;
  count->frames++;
  if (chance(from, to, kind, n, LOSS) < q->loss) {
    count->lost++;
    return;
  }
  int64_t wait = q->delay + (int64_t)(chance(from, to, kind, n, JITTER) * q->jitter);
  if (chance(from, to, kind, n, REORDER) < q->reorder) {
    count->reordered++;
    wait += REORDER_GAP;
  }
  int copies = 1;
  if (chance(from, to, kind, n, DUPLICATE) < q->duplicate) {
    count->duplicated++;
    copies = 2;
  }
  for (; copies > 0; copies--) {
    if (wait == 0) deliver(from, port, frame, size);
    else later(now() + wait, from, port, frame, size);
  }
}

static int port_of(const uint8_t *address) {
  for (int port = 0; port < port_count; port++)
    if (ports[port].fd >= 0 && memcmp(ports[port].address, address, 6) == 0) return port;
  return -1;
}

static int kind_of(const uint8_t *frame, int size) {
  if (size > 23 && frame[12] == 0x08 && frame[13] == 0x00 && frame[23] == 17) return UDP4;
  if (size > 20 && frame[12] == 0x86 && frame[13] == 0xdd && frame[20] == 17) return UDP6;
  return OTHER;
}

static void forward(int in, const uint8_t *frame, int size) {
  int kind = kind_of(frame, size), known = frame[0] & 1 ? -1 : port_of(frame);
  memcpy(ports[in].address, frame + 6, 6);
  for (int out = 0; out < port_count; out++)
    if (out != in && ports[out].fd >= 0 && (known < 0 || known == out))
      pass(ports[in].host, out, kind, frame, size);
}

static void close_port(int port) {
  epoll_ctl(epoll, EPOLL_CTL_DEL, ports[port].fd, NULL);
  close(ports[port].fd);
  ports[port].fd = -1;
  state->cables[ports[port].host]--;
  for (Late *late = queue; late; late = late->next)
    if (late->port == port) late->port = -1;  // another host may get this slot before the frames are due
}

static void drain(int port) {
  static uint8_t frame[FRAME];
  for (int i = 0; i < BURST; i++) {
    ssize_t size = recv(ports[port].fd, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == ENXIO || errno == ENODEV)) return close_port(port);  // the cable was pulled out
    if (size < 0) return;  // no frame waits, or the interface is down at present
    if (size >= 14 && size <= FRAME) forward(port, frame, (int)size);
  }
}

static const char *plug(int number, int fd) {
  int slot = 0;
  if (number < 1 || number >= HOSTS) return "no: port";
  if (fd < 0) return "no: no socket";
  while (slot < port_count && ports[slot].fd >= 0) slot++;
  if (slot == PORTS) return "no: too many ports";
  if (slot == port_count) port_count++;
  ports[slot] = (Port){.fd = fd, .host = number};
  state->cables[number]++;
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)slot};
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  return "ok";
}

static void serve(int connection) {
  char text[16];
  union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
  struct iovec place = {text, sizeof text - 1};
  struct msghdr message = {
    .msg_iov = &place, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct timeval patience = {1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ssize_t size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return;
  text[size] = 0;
  int fd = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  const char *answer = plug(atoi(text), fd);
  send(connection, answer, strlen(answer), MSG_NOSIGNAL);
}

int main(int count, char *arguments[]) {
  if (count != 3) return 2;
  int file = open(arguments[2], O_RDWR | O_CLOEXEC);
  state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (state == MAP_FAILED) return 2;
  const int listener = atoi(arguments[1]);
  // Ask for real-time scheduling, because the wire would be slow if it had to wait for a processor. Without
  // permission for that, its delays depend on the machine's load.
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 5});
  prctl(PR_SET_TIMERSLACK, 1);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.u32 = PORTS});
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &(struct epoll_event){.events = EPOLLIN, .data.u32 = PORTS + 1});
  for (;;) {
    struct epoll_event events[BURST];
    int ready = epoll_wait(epoll, events, BURST, -1);
    for (int i = 0; i < ready; i++) {
      uint32_t who = events[i].data.u32;
      if (who < PORTS) {
        if (ports[who].fd >= 0) drain((int)who);
      } else if (who == PORTS) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) serve(connection), close(connection);
      } else {
        uint64_t expirations;
        (void)!read(timer, &expirations, sizeof expirations);
      }
    }
    while (queue && queue->due <= now()) {
      Late *late = queue;
      queue = late->next;
      queued--;
      if (late->port >= 0) deliver(late->from, late->port, late->bytes, late->size);
      free(late);
    }
    state->waiting = (uint64_t)queued;
    arm();
  }
}
