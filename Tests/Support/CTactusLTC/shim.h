// SPDX-License-Identifier: GPL-2.0-or-later
// libltc as the tests see it, for its decoder.
#include <ltc.h>
