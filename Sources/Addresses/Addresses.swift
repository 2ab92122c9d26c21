// SPDX-License-Identifier: GPL-2.0-or-later

// IP addresses as values, and who is a neighbour, for Link and for OSC. What the system has to say of them, and how they
// are written, is `Linux`.
