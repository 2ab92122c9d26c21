# SPDX-License-Identifier: GPL-2.0-or-later
"""Link's packets, encoded and decoded by hand, for programs that listen to its group or pretend to be a
peer."""

import socket
import struct

GROUP = ("224.76.78.75", 20808)
DISCOVERY, MEASUREMENT = b"_asdp_v\x01", b"_link_v\x01"
ALIVE, BYE = 1, 3
IP_MULTICAST_ALL = 49  # a Linux constant that Python's socket module lacks
PING, PONG = 1, 2


def ear(interface: str, only: bool = False) -> socket.socket:
    """A socket that receives the packets of Link's group. `only`: just the packets that come in at this
    interface, and not those at other interfaces that programs here have joined."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if only:
        sock.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)
    sock.bind(GROUP)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + socket.inet_aton(interface))
    return sock


def mouth(interface: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
    return sock


def entry(key: bytes, body: bytes) -> bytes:
    return key + struct.pack(">I", len(body)) + body


def entries(packet: bytes) -> dict[bytes, bytes]:
    """The entries of a packet of Link's group, by key."""
    place, found = 20, {}
    while place + 8 <= len(packet):
        key, size = packet[place:place + 4], struct.unpack_from(">I", packet, place + 4)[0]
        found[key] = packet[place + 8:place + 8 + size]
        place += 8 + size
    return found


def endpoint(address: str, port: int) -> bytes:
    return socket.inet_aton(address) + struct.pack(">H", port)


def alive(node: bytes, session: bytes, timeline: bytes, where: bytes) -> bytes:
    return (DISCOVERY + bytes([ALIVE, 5, 0, 0]) + node + entry(b"tmln", timeline) + entry(b"sess", session) + entry(b"mep4", where))


def bye(node: bytes) -> bytes:
    return DISCOVERY + bytes([BYE, 0, 0, 0]) + node
