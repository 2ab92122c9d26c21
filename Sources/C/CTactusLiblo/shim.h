/* SPDX-License-Identifier: GPL-2.0-or-later */
/* liblo's message half only: the surface owns its sockets, so nothing of lo_server or lo_address is used. */
#include <lo/lo_types.h>
#include <lo/lo_osc_types.h>
#include <lo/lo_lowlevel.h>
