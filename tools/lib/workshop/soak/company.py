# SPDX-License-Identifier: GPL-2.0-or-later
"""The sessions of tactus and of the listener, from their announcements on the loopback interface of their
host.

The listener judges sound by its own session. While it is in another session than tactus, it cannot judge
tactus. The peers of Ableton's library look for interfaces every five seconds, so they return later than
tactus after the interface was down."""

import threading
import time

from .. import link

LOOPBACK = "127.0.0.1"
MEMORY = 1.2  # seconds: a peer sends an Alive four times a second, and with many peers at least once a second
SESSION, CLOCK = b"sess", b"tclk"  # two entries; only tactus sends the second (facts: link 1.1)


class Company:
    def __init__(self) -> None:
        self.socket = link.ear(LOOPBACK, only=True)
        self.lock = threading.Lock()
        # For each node: its session, whether it is a tactus, and when it was last heard.
        self.nodes: dict[bytes, tuple[bytes, bool, float]] = {}
        # A thread empties the socket all the time, because datagrams that the kernel drops here would excuse
        # errors.
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self) -> None:
        while True:
            packet, source = self.socket.recvfrom(2048)
            if source[0] == LOOPBACK:
                self.take(packet, time.monotonic())

    def take(self, packet: bytes, now: float) -> None:
        if len(packet) < 20 or not packet.startswith(link.DISCOVERY):
            return
        kind, node, entries = packet[8], packet[12:20], link.entries(packet)
        with self.lock:
            if kind == link.BYE:
                self.nodes.pop(node, None)
            elif session := entries.get(SESSION):
                self.nodes[node] = session, CLOCK in entries, now

    def is_apart(self, now: float | None = None) -> bool:
        """Whether the listener is in another session than tactus. False if tactus is not heard at all: that
        is no excuse for tactus."""
        now = time.monotonic() if now is None else now
        with self.lock:
            self.nodes = {node: said for node, said in self.nodes.items() if now - said[2] < MEMORY}
            ours = {session for session, is_tactus, _ in self.nodes.values() if is_tactus}
            theirs = {session for session, is_tactus, _ in self.nodes.values() if not is_tactus}
        return bool(ours) and ours != theirs
