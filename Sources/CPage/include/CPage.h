// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stddef.h>

// One file of the page, by the name and with the type that a browser is told.
struct page_file {
  const char *name, *type;
  const unsigned char *bytes;
  size_t count;
};

// NULL after the last.
const struct page_file *page_file_at(size_t number);
