// SPDX-License-Identifier: GPL-2.0-or-later
//
// libmicrohttpd as Swift sees it, with wrappers for calls that Swift
// cannot make: variadic functions, and flags combined by |.
#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <microhttpd.h>

// Starts a daemon without threads, without a listening socket and without TLS. Our code gives it connections,
// and it runs only when our code calls it.
static inline struct MHD_Daemon *web_start(MHD_AccessHandlerCallback answer, MHD_RequestCompletedCallback completed,
                                           MHD_NotifyConnectionCallback connection, void *context,
                                           unsigned int connections, size_t memory, unsigned int seconds) {
  return MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0,
                          NULL, NULL, answer, context,
                          MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                          MHD_OPTION_NOTIFY_CONNECTION, connection, context,
                          MHD_OPTION_CONNECTION_LIMIT, connections,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
                          MHD_OPTION_CONNECTION_TIMEOUT, seconds,
                          MHD_OPTION_STRICT_FOR_CLIENT, 1,
                          MHD_OPTION_END);
}

static inline int web_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

static inline int web_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

static inline void *web_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

static inline struct MHD_Response *web_response(size_t count, const void *bytes) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

static inline void web_end(struct MHD_UpgradeResponseHandle *handle) {
  MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

#endif
