/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libsndfile as Swift sees it. Only TactusClickSounds uses it, to read a click's files. */
#include <sndfile.h>
