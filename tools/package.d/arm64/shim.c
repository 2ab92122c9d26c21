// SPDX-License-Identifier: GPL-2.0-or-later
// Replacements for calls that qemu-user does not translate, for tools/package.d/arm64/try. Every Linux kernel
// has these calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

// IP_MULTICAST_ALL and SO_TIMESTAMPNS fail with ENOPROTOOPT. Under qemu-user, a request to join a multicast
// group on an interface reaches the kernel without the interface's number, so the kernel takes the interface
// of the route to the group.
int setsockopt(int socket, int level, int name, const void *value, socklen_t size) {
  static int (*real)(int, int, int, const void *, socklen_t);
  if (!real) real = dlsym(RTLD_NEXT, "setsockopt");
  int isMembership = level == IPPROTO_IP && (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP);
  if (isMembership && size == sizeof(struct ip_mreqn)) size = sizeof(struct ip_mreq);
  int result = real(socket, level, name, value, size);
  return result && errno == ENOPROTOOPT ? 0 : result;
}

// A recvmsg without room for data returns 0 at once, whether or not the error queue holds a message.
ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  static ssize_t (*real)(int, struct msghdr *, int);
  if (!real) real = dlsym(RTLD_NEXT, "recvmsg");
  if (message->msg_iovlen) return real(socket, message, flags);
  char room[16];
  struct iovec vector = {room, sizeof room};
  struct msghdr copy = *message;
  copy.msg_iov = &vector;
  copy.msg_iovlen = 1;
  ssize_t result = real(socket, &copy, flags);
  message->msg_namelen = copy.msg_namelen;
  message->msg_controllen = copy.msg_controllen;
  message->msg_flags = copy.msg_flags;
  return result;
}
