// SPDX-License-Identifier: GPL-2.0-or-later
//
// libmicrohttpd 0.9 starts a connection in MHD_add_connection; from 1.0 on, it does so in MHD_run. Preloaded
// into a program that runs on 0.9, this library gives it the order of 1.0. With REFUSE_CONNECTIONS in the
// environment, connections end silently in MHD_run, as they do if libmicrohttpd cannot start them.
// build: cc -shared -fPIC
#define _GNU_SOURCE
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256 };

static struct {
  MHD_socket socket;
  struct sockaddr_storage address;
  socklen_t length;
} waiting[MOST];
static int count;

enum MHD_Result MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *address,
                                   socklen_t length) {
  if (count == MOST || length > sizeof waiting[0].address) return MHD_NO;
  waiting[count].socket = socket;
  waiting[count].length = length;
  memcpy(&waiting[count++].address, address, length);
  return MHD_YES;
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon) {
  enum MHD_Result (*add)(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t) =
      dlsym(RTLD_NEXT, "MHD_add_connection");
  enum MHD_Result (*run)(struct MHD_Daemon *) = dlsym(RTLD_NEXT, "MHD_run");
  for (int index = 0; index < count; index++) {
    if (getenv("REFUSE_CONNECTIONS"))
      close(waiting[index].socket);
    else
      add(daemon, waiting[index].socket, (struct sockaddr *)&waiting[index].address, waiting[index].length);
  }
  count = 0;
  return run(daemon);
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *timeout) {
  enum MHD_Result (*get)(struct MHD_Daemon *, MHD_UNSIGNED_LONG_LONG *) = dlsym(RTLD_NEXT, "MHD_get_timeout");
  if (count == 0) return get(daemon, timeout);
  *timeout = 0;
  return MHD_YES;
}
