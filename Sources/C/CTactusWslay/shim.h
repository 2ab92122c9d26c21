// SPDX-License-Identifier: GPL-2.0-or-later
//
// libwslay as Swift sees it: the frames of WebSocket, without sockets.
#ifndef CWSLAY_SHIM_H
#define CWSLAY_SHIM_H

#include <wslay/wslay.h>

#endif
