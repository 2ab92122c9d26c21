// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of newer C libraries that Swift's static runtime from Debian sid calls and that glibc 2.36 of
// Debian 12 lacks.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int read = vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}

size_t strlcpy(char *target, const char *text, size_t room) {
  size_t length = strlen(text);
  if (room > 0) {
    size_t copied = length < room ? length : room - 1;
    memcpy(target, text, copied);
    target[copied] = 0;
  }
  return length;
}
