/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libqrencode as Swift sees it. Only QRCode uses it. */
#include <qrencode.h>
