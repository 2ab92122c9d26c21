// SPDX-License-Identifier: GPL-2.0-or-later
//
// Preloaded into a program, imitates two faults of qemu's user emulation: the socket option SO_TIMESTAMPNS is
// unknown, and recvmsg without room for data returns 0 at once, whether or not the queue holds a message.
// build: cc -shared -fPIC
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int setsockopt(int socket, int level, int name, const void *value, socklen_t length) {
  int (*set)(int, int, int, const void *, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");
  if (level == SOL_SOCKET && name == SO_TIMESTAMPNS) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return set(socket, level, name, value, length);
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t (*receive)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
  if (message->msg_iovlen > 0) return receive(socket, message, flags);
  message->msg_flags = 0;
  message->msg_controllen = 0;
  return 0;
}
