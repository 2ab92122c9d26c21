// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stddef.h>

// One file of the page, with the name and type that a browser gets.
struct page_file {
  const char *name, *type;
  const unsigned char *bytes;
  size_t count;
};

// Returns the file with this index; NULL after the last file.
const struct page_file *page_file_at(size_t number);
