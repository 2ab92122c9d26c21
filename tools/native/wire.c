// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -lm
// The lab's wire: an Ethernet switch in user space that can be as bad as a real network, the same way every time.
//
// usage: wire SOCKET. Speaks on a SOCK_SEQPACKET socket at that path: one request, one answer, per connection.
//   port HOST            with a packet socket (SCM_RIGHTS) bound to the switch's end of that host's cable
//   set [from=K] [to=K] [seed=N] [clear] [loss=P] [delay=T] [jitter=T] [reorder=P] [duplicate=P]
//   cut [K [L]], heal [K [L]], show
//
// Every decision about the n-th datagram of a kind (UDP over IPv4, UDP over IPv6, the rest) from one host to
// another is a hash of (seed, from, to, kind, n): it depends neither on time nor on what else is on the wire.
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 33, PORTS = 128, MACS = 256, QUEUE = 16384, FRAME = 2048, BURST = 64, TEXT = 65536 };
enum { UDP4, UDP6, OTHER, KINDS };
enum { LOSS, DUPLICATE, REORDER, JITTER, LANES };
static const int64_t REORDER_GAP = 3000000;  // ns that a reordered frame is late by: time for others to overtake

typedef struct { double loss, duplicate, reorder; int64_t delay, jitter; bool cut; } Quality;
typedef struct { uint64_t frames, lost, duplicated, reordered, cut, overflow, unsent, seen[KINDS]; } Count;
typedef struct { int fd, host; } Port;
typedef struct { int64_t due; uint64_t serial; int port, from, size; uint8_t *bytes; } Late;

static Quality quality[HOSTS][HOSTS];
static Count counts[HOSTS][HOSTS];
static Port ports[PORTS];
static int port_count;
static struct { uint8_t address[6]; int port; } macs[MACS];
static int mac_count;
static Late queue[QUEUE];
static int queued;
static uint64_t serial, seed = 1;
static int epoll, timer, listener;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static uint64_t mixed(uint64_t x) {  // splitmix64's finisher
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Uniform in [0, 1), decided by who, what, the how-manieth, and for which question.
static double chance(int from, int to, int kind, uint64_t n, int lane) {
  uint64_t place = ((uint64_t)(from * HOSTS + to) * KINDS + kind) * LANES + lane;
  return (mixed(mixed(mixed(seed + 0x9e3779b97f4a7c15ULL) + place) + n) >> 11) * 0x1p-53;
}

// The queue of late frames: a heap by due time, then by age, so equal delays keep their order.
static bool earlier(const Late *a, const Late *b) {
  return a->due != b->due ? a->due < b->due : a->serial < b->serial;
}

static void push(Late late) {
  int i = queued++;
  for (; i > 0 && earlier(&late, &queue[(i - 1) / 2]); i = (i - 1) / 2) queue[i] = queue[(i - 1) / 2];
  queue[i] = late;
}

static Late pop(void) {
  Late top = queue[0], last = queue[--queued];
  int i = 0;
  for (int child; (child = 2 * i + 1) < queued; i = child) {
    if (child + 1 < queued && earlier(&queue[child + 1], &queue[child])) child++;
    if (!earlier(&queue[child], &last)) break;
    queue[i] = queue[child];
  }
  queue[i] = last;
  return top;
}

static void arm(void) {
  static int64_t armed;
  int64_t due = queued ? queue[0].due : 0;
  if (due == armed) return;
  armed = due;
  struct itimerspec at = {.it_value = {due / 1000000000, due % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void deliver(int from, int port, const uint8_t *frame, int size) {
  int to = ports[port].host;
  if (from != to && quality[from][to].cut) counts[from][to].cut++;
  else if (send(ports[port].fd, frame, size, MSG_DONTWAIT) < 0) counts[from][to].unsent++;
}

static void later(int64_t due, int from, int port, const uint8_t *frame, int size) {
  uint8_t *bytes = queued < QUEUE ? malloc(size) : NULL;
  if (!bytes) {
    counts[from][ports[port].host].overflow++;
    return;
  }
  memcpy(bytes, frame, size);
  push((Late){due, serial++, port, from, size, bytes});
}

static void pass(int from, int port, int kind, const uint8_t *frame, int size) {
  int to = ports[port].host;
  if (from == to) return deliver(from, port, frame, size);  // two cables of one host: no distance
  Count *count = &counts[from][to];
  const Quality *q = &quality[from][to];
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

static int port_of(const uint8_t *mac) {
  for (int i = 0; i < mac_count; i++)
    if (memcmp(macs[i].address, mac, 6) == 0) return i;
  return -1;
}

static void learn(const uint8_t *mac, int port) {
  int i = port_of(mac);
  if (i < 0 && mac_count < MACS) memcpy(macs[i = mac_count++].address, mac, 6);
  if (i >= 0) macs[i].port = port;
}

static int kind_of(const uint8_t *frame, int size) {
  if (size > 23 && frame[12] == 0x08 && frame[13] == 0x00 && frame[23] == 17) return UDP4;
  if (size > 20 && frame[12] == 0x86 && frame[13] == 0xdd && frame[20] == 17) return UDP6;
  return OTHER;
}

static void forward(int in, const uint8_t *frame, int size) {
  int kind = kind_of(frame, size), known = frame[0] & 1 ? -1 : port_of(frame);
  learn(frame + 6, in);
  for (int out = 0; out < port_count; out++)
    if (out != in && ports[out].fd >= 0 && (known < 0 || macs[known].port == out))
      pass(ports[in].host, out, kind, frame, size);
}

static void close_port(int port) {
  epoll_ctl(epoll, EPOLL_CTL_DEL, ports[port].fd, NULL);
  close(ports[port].fd);
  ports[port].fd = -1;
  for (int i = 0; i < mac_count;)
    if (macs[i].port == port) macs[i] = macs[--mac_count];
    else i++;
  for (int i = 0; i < queued; i++)
    if (queue[i].port == port) queue[i].port = -1;  // the slot may be taken by another host before they are due
}

static void drain(int port) {
  static uint8_t frame[FRAME];
  for (int i = 0; i < BURST; i++) {
    ssize_t size = recv(ports[port].fd, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == ENXIO || errno == ENODEV)) return close_port(port);  // pulled out
    if (size < 0) return;  // empty, or the link is down for now
    if (size >= 14 && size <= FRAME) forward(port, frame, (int)size);
  }
}

// Control.

static bool number_with(const char *text, const char *const units[], const double factors[], double *value) {
  char *end;
  *value = strtod(text, &end);
  if (end == text || !isfinite(*value) || *value < 0) return false;
  for (int i = 0; units[i]; i++)
    if (strcmp(end, units[i]) == 0) return *value *= factors[i], true;
  return false;
}

static bool probability(const char *text, double *p) {
  return number_with(text, (const char *[]){"%", "", NULL}, (double[]){0.01, 1}, p) && *p <= 1;
}

static bool duration(const char *text, int64_t *ns) {
  double value;
  bool good = number_with(text, (const char *[]){"us", "ms", "s", NULL}, (double[]){1e3, 1e6, 1e9}, &value);
  if (!good || value > 60e9) return false;
  *ns = (int64_t)value;
  return true;
}

static bool host(const char *text, int *number) {
  char *end;
  long value = strtol(text, &end, 10);
  *number = (int)value;
  return end != text && !*end && value > 0 && value < HOSTS;
}

static const char *apply(char *words[], int from, int to) {
  for (int i = 0; words[i]; i++) {
    char *value = strchr(words[i], '=');
    if (strcmp(words[i], "clear") == 0) value = words[i];
    if (!value) return words[i];
    for (int f = from ? from : 1; f <= (from ? from : HOSTS - 1); f++)
      for (int t = to ? to : 1; t <= (to ? to : HOSTS - 1); t++) {
        Quality *q = &quality[f][t];
        bool good = true;
        if (strcmp(words[i], "clear") == 0) *q = (Quality){.cut = q->cut};
        else if (strncmp(words[i], "loss=", 5) == 0) good = probability(value + 1, &q->loss);
        else if (strncmp(words[i], "duplicate=", 10) == 0) good = probability(value + 1, &q->duplicate);
        else if (strncmp(words[i], "reorder=", 8) == 0) good = probability(value + 1, &q->reorder);
        else if (strncmp(words[i], "delay=", 6) == 0) good = duration(value + 1, &q->delay);
        else if (strncmp(words[i], "jitter=", 7) == 0) good = duration(value + 1, &q->jitter);
        else if (strncmp(words[i], "seed=", 5) != 0 && strncmp(words[i], "from=", 5) != 0 &&
                 strncmp(words[i], "to=", 3) != 0)
          good = false;
        if (!good) return words[i];
      }
  }
  return NULL;
}

static const char *set(char *words[]) {
  int from = 0, to = 0;
  for (int i = 0; words[i]; i++) {
    if (strncmp(words[i], "from=", 5) == 0 && !host(words[i] + 5, &from)) return words[i];
    if (strncmp(words[i], "to=", 3) == 0 && !host(words[i] + 3, &to)) return words[i];
    if (strncmp(words[i], "seed=", 5) == 0) {
      char *end;
      uint64_t value = strtoull(words[i] + 5, &end, 10);
      if (end == words[i] + 5 || *end) return words[i];
      seed = value;
      for (int f = 0; f < HOSTS; f++)
        for (int t = 0; t < HOSTS; t++) memset(counts[f][t].seen, 0, sizeof counts[f][t].seen);
    }
  }
  Quality before[HOSTS][HOSTS];
  memcpy(before, quality, sizeof quality);
  const char *bad = apply(words, from, to);
  if (bad) memcpy(quality, before, sizeof quality);  // all of a command, or nothing
  return bad;
}

static const char *cut(char *words[], bool is_cut) {
  int a = 0, b = 0;
  if (words[0] && !host(words[0], &a)) return words[0];
  if (words[0] && words[1] && !host(words[1], &b)) return words[1];
  for (int f = 1; f < HOSTS; f++)
    for (int t = 1; t < HOSTS; t++) {
      bool whole = a == 0, of_a = b == 0 && (f == a || t == a), pair = b && ((f == a && t == b) || (f == b && t == a));
      if (whole || of_a || pair) quality[f][t].cut = is_cut;
    }
  return NULL;
}

static void show(char *text) {
  bool present[HOSTS] = {false};
  for (int i = 0; i < port_count; i++)
    if (ports[i].fd >= 0) present[ports[i].host] = true;
  int size = snprintf(text, TEXT, "{\"seed\":%llu,\"waiting\":%d,\"links\":[", (unsigned long long)seed, queued);
  const char *comma = "";
  for (int f = 1; f < HOSTS; f++)
    for (int t = 1; t < HOSTS; t++) {
      if (f == t || !present[f] || !present[t] || size > TEXT - 1024) continue;
      const Quality *q = &quality[f][t];
      const Count *c = &counts[f][t];
      size += snprintf(text + size, TEXT - size,
                       "%s\n{\"from\":%d,\"to\":%d,\"cut\":%s,\"loss\":%g,\"duplicate\":%g,\"reorder\":%g,"
                       "\"delay_us\":%lld,\"jitter_us\":%lld,\"frames\":%llu,\"udp4\":%llu,\"udp6\":%llu,"
                       "\"lost\":%llu,\"duplicated\":%llu,\"reordered\":%llu,\"cut_off\":%llu,\"overflow\":%llu,"
                       "\"unsent\":%llu}",
                       comma, f, t, q->cut ? "true" : "false", q->loss, q->duplicate, q->reorder,
                       (long long)q->delay / 1000, (long long)q->jitter / 1000, (unsigned long long)c->frames,
                       (unsigned long long)c->seen[UDP4], (unsigned long long)c->seen[UDP6],
                       (unsigned long long)c->lost, (unsigned long long)c->duplicated,
                       (unsigned long long)c->reordered, (unsigned long long)c->cut, (unsigned long long)c->overflow,
                       (unsigned long long)c->unsent);
      comma = ",";
    }
  snprintf(text + size, TEXT - size, "]}");
}

static const char *plug(char *words[], int fd) {
  int number, slot = 0;
  if (!words[0] || !host(words[0], &number)) return "port";
  if (fd < 0) return "no socket";
  while (slot < port_count && ports[slot].fd >= 0) slot++;
  if (slot == PORTS) return "too many ports";
  if (slot == port_count) port_count++;
  ports[slot] = (Port){fd, number};
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)slot};
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  return NULL;
}

static void serve(int connection) {
  static char text[TEXT];
  char *words[64] = {NULL};
  union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
  struct iovec place = {text, sizeof text - 1};
  struct msghdr message = {
    .msg_iov = &place, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct timeval patience = {1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ssize_t size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return;
  text[size] = 0;
  int fd = -1, count = 0;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  for (char *word = strtok(text, " \n"); word && count < 63; word = strtok(NULL, " \n")) words[count++] = word;
  const char *verb = count ? words[0] : "", *bad = verb;
  if (strcmp(verb, "port") == 0) bad = plug(words + 1, fd);
  else if (strcmp(verb, "set") == 0) bad = set(words + 1);
  else if (strcmp(verb, "cut") == 0) bad = cut(words + 1, true);
  else if (strcmp(verb, "heal") == 0) bad = cut(words + 1, false);
  else if (strcmp(verb, "show") == 0) bad = NULL;
  char answer[256] = "ok";
  if (bad) snprintf(answer, sizeof answer, "no: %.200s", *bad ? bad : "empty");
  bool wants_text = !bad && strcmp(verb, "show") == 0;
  if (wants_text) show(text);
  send(connection, wants_text ? text : answer, strlen(wants_text ? text : answer), MSG_NOSIGNAL);
}

int main(int count, char *arguments[]) {
  if (count != 2) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]);
  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 64) < 0) {
    perror("wire");
    return 1;
  }
  // A wire that waits for its turn is a slow wire. Where it is not allowed it is as slow as the machine makes it.
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
    while (queued && queue[0].due <= now()) {
      Late late = pop();
      if (late.port >= 0) deliver(late.from, late.port, late.bytes, late.size);
      free(late.bytes);
    }
    arm();
  }
}
