// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkBeatMath
internal import LinkSystem
internal import LinkWire

/// A non-blocking UDP socket, which closes when this value is released.
struct UDPSocket: ~Copyable, Sendable {
  let descriptor: Int32

  private init(for address: Address) throws(SystemFailure) {
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, kind, 0)
    guard descriptor >= 0 else { throw SystemFailure(call: "socket", code: errno) }
    // By default an IPv6 socket would take IPv4 packets, too.
    if address.isIPv6 { try set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, Int32(1), "IPV6_V6ONLY") }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// A socket for datagrams to Link's multicast group that come through the interface of `local`. It receives
  /// no datagrams from other interfaces, and no datagrams that are sent to an address of this machine.
  static func listening(on local: LocalAddress) throws(SystemFailure) -> UDPSocket {
    let socket = try UDPSocket(for: local.address)
    socket.makeRoom()
    // All Link programs on this machine listen to the same port.
    try socket.set(SOL_SOCKET, SO_REUSEADDR, Int32(1), "SO_REUSEADDR")
    switch local.address {
    case .v4(let bits):
      // Without this option, a socket gets the group's datagrams from every interface that any socket has
      // joined on (facts: link 3.7), and Responses would leave from the wrong address.
      try socket.set(Int32(IPPROTO_IP), IP_MULTICAST_ALL, Int32(0), "IP_MULTICAST_ALL")
      try socket.noteInterfaces()
      // The socket is bound to the group. Bound to 0.0.0.0, it would also receive datagrams to this machine's
      // addresses.
      try socket.bind(to: .discoveryGroup(for: local.address))
      var request = ip_mreqn()
      request.imr_multiaddr.s_addr = Endpoint.discoveryGroup(for: local.address).address.v4Bits.bigEndian
      request.imr_address.s_addr = bits.bigEndian
      request.imr_ifindex = Int32(bitPattern: local.interface)
      try socket.set(Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, request, "IP_ADD_MEMBERSHIP")
    case .v6:
      // Linux has this option since version 4.20. Without it, IPv6 peers may show up on several gateways,
      // which does no harm.
      try? socket.set(Int32(IPPROTO_IPV6), ipv6MulticastAll, Int32(0), "IPV6_MULTICAST_ALL")
      try socket.bind(to: .discoveryGroup(for: local.address))
      var request = ipv6_mreq()
      Endpoint.discoveryGroup(for: local.address).withSocketAddress { address, _ in
        request.ipv6mr_multiaddr = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
      }
      request.ipv6mr_interface = local.interface
      try socket.set(Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, request, "IPV6_JOIN_GROUP")
    }
    return socket
  }

  /// A socket that sends from `local` and a port of its own. Datagrams to the group leave through the
  /// interface of `local`.
  static func sending(from local: LocalAddress) throws(SystemFailure) -> UDPSocket {
    let socket = try ownPort(on: local)
    // Two programs on one machine find each other on the loopback gateway only.
    let loops: Int32 = local.isLoopback ? 1 : 0
    switch local.address {
    case .v4(let bits):
      try socket.set(Int32(IPPROTO_IP), IP_MULTICAST_LOOP, loops, "IP_MULTICAST_LOOP")
      var interface = ip_mreqn()
      interface.imr_address.s_addr = bits.bigEndian
      interface.imr_ifindex = Int32(bitPattern: local.interface)
      try socket.set(Int32(IPPROTO_IP), IP_MULTICAST_IF, interface, "IP_MULTICAST_IF")
      try socket.noteInterfaces()
    case .v6:
      try socket.set(Int32(IPPROTO_IPV6), IPV6_MULTICAST_LOOP, loops, "IPV6_MULTICAST_LOOP")
      try socket.set(
        Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF, Int32(bitPattern: local.interface), "IPV6_MULTICAST_IF")
    }
    return socket
  }

  /// A socket that sends and receives at `local`, on a port of its own, with a receive buffer large enough
  /// for bursts.
  static func forAudio(on local: LocalAddress) throws(SystemFailure) -> UDPSocket {
    let socket = try ownPort(on: local)
    if !local.address.isIPv6 { try socket.noteInterfaces() }
    socket.makeRoom()
    return socket
  }

  /// A socket that sends and receives by any route of the system.
  static func anywhere(_ endpoint: Endpoint) throws(SystemFailure) -> UDPSocket {
    let socket = try UDPSocket(for: endpoint.address)
    try? socket.noteArrivals()
    if endpoint.address.isIPv6 {
      try? socket.set(Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO, Int32(1), "IPV6_RECVPKTINFO")
    } else {
      try? socket.noteInterfaces()
    }
    socket.makeRoom()
    try socket.bind(to: endpoint)
    return socket
  }

  private static func ownPort(on local: LocalAddress) throws(SystemFailure) -> UDPSocket {
    let socket = try UDPSocket(for: local.address)
    try? socket.noteArrivals()
    try socket.bind(to: Endpoint(local.address, port: 0))
    return socket
  }

  /// The endpoint to which the socket is bound.
  func localEndpoint() throws(SystemFailure) -> Endpoint {
    guard let endpoint = Endpoint(of: descriptor) else {
      throw SystemFailure(call: "getsockname", code: errno)
    }
    return endpoint
  }

  /// Sends a datagram. Returns 0, or the `errno`.
  func send(_ packet: Packet, to endpoint: Endpoint) -> Int32 {
    packet.withUnsafeBytes { send($0, to: endpoint) }
  }

  /// Sends a datagram. Returns 0, or the `errno`.
  func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint) -> Int32 {
    endpoint.withSocketAddress { address, size in
      sendto(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), address, size) >= 0 ? 0 : errno
    }
  }

  struct Arrival {
    /// The number of bytes received: at most the buffer's length.
    var count: Int
    var from: Endpoint
    /// The interface through which the datagram came; 0 if the kernel does not give it. For IPv6 the kernel
    /// does not give it by default, but the scope of a neighbour's address is the interface.
    var interface: UInt32
    /// Our address to which the datagram was sent; nil if the kernel does not give it.
    var to: Address?
    /// The time for which the datagram lay unread; 0 if the kernel does not give it.
    var waited: Micros
  }

  /// The next datagram; nil if there is none now.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Arrival? {
    var storage = sockaddr_storage()
    // The kernel's note of the time takes 4 words of 8 bytes, its note of the interface and address 4 or 5.
    var notes = InlineArray<10, UInt64>(repeating: 0)
    return withUnsafeMutableBytes(of: &storage) { address in
      withUnsafeMutableBytes(of: &notes) { notes in
        var place = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
        return withUnsafeMutablePointer(to: &place) { place in
          var message = msghdr()
          message.msg_name = address.baseAddress
          message.msg_namelen = socklen_t(address.count)
          message.msg_iov = place
          message.msg_iovlen = 1
          message.msg_control = notes.baseAddress
          message.msg_controllen = notes.count
          let count = recvmsg(descriptor, &message, 0)
          guard count >= 0, let from = Endpoint(socketAddress: UnsafeRawPointer(address.baseAddress!)) else {
            return nil
          }
          let said = UnsafeRawBufferPointer(rebasing: notes[..<min(notes.count, message.msg_controllen)])
          let note = Self.read(said)
          return Arrival(
            count: count, from: from, interface: note.interface, to: note.to,
            waited: HostClock.since(note.arrived))
        }
      }
    }
  }

  private static func read(
    _ notes: UnsafeRawBufferPointer
  ) -> (interface: UInt32, to: Address?, arrived: timespec?) {
    var found = (interface: 0 as UInt32, to: Address?.none, arrived: timespec?.none)
    forEachPacketNote(in: notes) { level, kind, value in
      if let info = PacketInfo(level, kind, value) {
        (found.interface, found.to) = (info.interface, info.to)
      } else if level == SOL_SOCKET && kind == SO_TIMESTAMPNS && value.count >= MemoryLayout<timespec>.size {
        found.arrived = value.loadUnaligned(as: timespec.self)
      }
    }
    return found
  }

  /// Sends a datagram. Returns 0, or the `errno`. `own`: the local address to send from.
  func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint, from own: Address) -> Int32 {
    var note = SourceNote(own)
    return endpoint.withSocketAddress { address, size in
      withUnsafeMutableBytes(of: &note) { note in
        var place = iovec(
          iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &place) { place in
          var message = msghdr()
          message.msg_name = UnsafeMutableRawPointer(mutating: address)
          message.msg_namelen = size
          message.msg_iov = place
          message.msg_iovlen = 1
          message.msg_control = note.baseAddress
          message.msg_controllen = SourceNote.size(own)
          return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) >= 0 ? 0 : errno
        }
      }
    }
  }

  private func noteInterfaces() throws(SystemFailure) {
    try set(Int32(IPPROTO_IP), IP_PKTINFO, Int32(1), "IP_PKTINFO")
  }

  /// Asks the kernel for the time at which a datagram reached this machine, since the reading thread may have
  /// waited for a processor.
  private func noteArrivals() throws(SystemFailure) {
    try set(SOL_SOCKET, SO_TIMESTAMPNS, Int32(1), "SO_TIMESTAMPNS")
  }

  /// Enlarges the socket's receive buffer, for times when the reading thread waits for a processor. If a new
  /// tempo is lost in a flood of packets, we know it only from the next Alive, a quarter of a second later.
  /// The size exceeds the system's limit if this program is permitted to exceed it.
  private func makeRoom() {
    let bytes: Int32 = 1 << 20
    try? set(SOL_SOCKET, SO_RCVBUF, bytes, "SO_RCVBUF")
    try? set(SOL_SOCKET, SO_RCVBUFFORCE, bytes, "SO_RCVBUFFORCE")
  }

  private func bind(to endpoint: Endpoint) throws(SystemFailure) {
    let result = endpoint.withSocketAddress { address, size in Glibc.bind(descriptor, address, size) }
    if result != 0 { throw SystemFailure(call: "bind", code: errno) }
  }

  private func set<Value>(
    _ level: Int32, _ option: Int32, _ value: Value, _ name: StaticString
  ) throws(SystemFailure) {
    let result = withUnsafeBytes(of: value) {
      setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count))
    }
    if result != 0 { throw SystemFailure(call: name, code: errno) }
  }
}

/// The socket option IPV6_MULTICAST_ALL of linux/in6.h, which the C library's headers lack.
private let ipv6MulticastAll: Int32 = 29
