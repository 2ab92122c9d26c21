/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libsodium as Swift sees it. Only Sodium uses it. */
#include <sodium.h>
