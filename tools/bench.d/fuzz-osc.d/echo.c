// SPDX-License-Identifier: GPL-2.0-or-later
// Sends back each datagram that comes to the port in its argument, and does nothing else: what the machine's scheduling
// adds to an answer.
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int count, char **words) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(words[1]) : 0)};
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, (struct sockaddr *)&here, sizeof here)) return 1;
  for (;;) {
    static char buffer[65536];
    struct sockaddr_storage source;
    socklen_t length = sizeof source;
    const ssize_t size = recvfrom(descriptor, buffer, sizeof buffer, 0, (struct sockaddr *)&source, &length);
    if (size >= 0) sendto(descriptor, buffer, size, 0, (struct sockaddr *)&source, length);
  }
}
