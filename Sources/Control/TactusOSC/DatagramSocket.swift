// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkSystem

/// A system call that failed while a socket was opened.
public struct OpenFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public let endpoint: Endpoint
  public let call: String
  public let code: Int32

  package init(endpoint: Endpoint, call: String, code: Int32) {
    self.endpoint = endpoint
    self.call = call
    self.code = code
  }

  public var description: String {
    switch code {
    case EADDRINUSE: "\(endpoint) is in use by another program"
    case EADDRNOTAVAIL: "\(endpoint.address) is no address of this machine"
    case EACCES: "no right to listen at \(endpoint)"
    default: "cannot listen at \(endpoint): \(reason)"
    }
  }

  package var reason: String { "\(call): \(String(cString: strerror(code)))" }
}

/// A non-blocking UDP socket that is bound or connected to one address. It is closed when the value ends.
package struct DatagramSocket: ~Copyable {
  package let descriptor: Int32
  package let endpoint: Endpoint
  /// Size of the send buffer in bytes, as the kernel counts them.
  private let room: Int

  package init(bindingTo wanted: Endpoint) throws(OpenFailure) {
    try self.init(wanted) { descriptor throws(OpenFailure) in try bindSocket(descriptor, to: wanted) }
  }

  /// A socket that receives only from this target.
  package init(connectingTo target: Endpoint) throws(OpenFailure) {
    try self.init(target) { descriptor throws(OpenFailure) in try connectSocket(descriptor, to: target) }
  }

  private init(_ wanted: Endpoint, prepare: (Int32) throws(OpenFailure) -> Endpoint) throws(OpenFailure) {
    let descriptor = try openSocket(wanted, SOCK_DGRAM)
    let isIPv4 = !wanted.address.isIPv6
    // Ask the kernel to report targets at which no program listens: a controller that is gone, or a
    // newcomer's wrong port.
    setOption(
      descriptor, isIPv4 ? Int32(IPPROTO_IP) : Int32(IPPROTO_IPV6), isIPv4 ? IP_RECVERR : IPV6_RECVERR, 1)
    setOption(
      descriptor, isIPv4 ? Int32(IPPROTO_IP) : Int32(IPPROTO_IPV6),
      isIPv4 ? IP_PKTINFO : IPV6_RECVPKTINFO, 1)
    // Large enough for a burst of fader messages that arrives while a beat is being sent.
    setOption(descriptor, SOL_SOCKET, SO_RCVBUF, 1 << 20)
    setOption(descriptor, SOL_SOCKET, SO_SNDBUF, 1 << 20)
    // With this option the buffer may exceed the system's limit, if tactus has the right to do so.
    setOption(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
    let bound: Endpoint
    do throws(OpenFailure) {
      bound = try prepare(descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    endpoint = bound
    room = Int(option(descriptor, SOL_SOCKET, SO_SNDBUF))
  }

  deinit { close(descriptor) }

  package enum Received {
    case datagram(Arrival)
    case nothing
    /// An entry in the kernel's error queue, for `nextUnreachable`.
    case failure
  }

  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
    receiveDatagram(descriptor, into: buffer)
  }

  /// The target of a datagram that was not delivered, and whether the target's machine itself reported that.
  /// nil: the error queue is empty.
  package func nextUnreachable() -> (target: Endpoint, isThere: Bool)? {
    while true {
      var address = sockaddr_storage()
      var message = msghdr()
      // In this buffer, the target's address takes five words, and sock_extended_err with an address takes
      // eight.
      var control = InlineArray<16, UInt64>(repeating: 0)
      let count = withUnsafeMutableBytes(of: &address) { raw in
        withUnsafeMutableBytes(of: &control) { told in
          message.msg_name = raw.baseAddress
          message.msg_namelen = socklen_t(raw.count)
          message.msg_control = told.baseAddress
          message.msg_controllen = told.count
          return recvmsg(descriptor, &message, Int32(MSG_ERRQUEUE) | Int32(MSG_DONTWAIT))
        }
      }
      // Emulators such as QEMU's user mode return 0 for a message without room for data, even if the queue is
      // empty.
      guard count >= 0, message.msg_flags & Int32(MSG_ERRQUEUE) != 0 else { return nil }
      var code: UInt32 = 0
      withUnsafeBytes(of: control) { told in
        let notes = UnsafeRawBufferPointer(rebasing: told[..<min(told.count, message.msg_controllen)])
        forEachPacketNote(in: notes) { level, kind, value in
          let isError =
            level == Int32(IPPROTO_IP) && kind == IP_RECVERR
            || level == Int32(IPPROTO_IPV6) && kind == IPV6_RECVERR
          if isError, value.count >= 4 { code = value.loadUnaligned(as: UInt32.self) }
        }
      }
      if let target = withUnsafeBytes(of: address, { Endpoint(socketAddress: $0.baseAddress!) }) {
        return (target, code == UInt32(ECONNREFUSED))
      }
    }
  }

  /// Sends a datagram. Returns false if the kernel refuses the datagram, or if less than `part` of the send
  /// buffer would remain free. All targets share this buffer, and a datagram for a neighbour that is switched
  /// off waits in it for seconds until the address lookup fails.
  ///
  /// - Parameter own: the source address. If it is nil, or no longer an address of this machine, the kernel
  /// chooses one.
  @discardableResult
  package func send(
    _ bytes: [UInt8], to target: Endpoint, from own: Address? = nil, leaving part: Double = 0
  ) -> Bool {
    if part > 0 {
      var waiting: Int32 = 0
      guard ioctl(descriptor, UInt(TIOCOUTQ), &waiting) == 0, Double(waiting) <= Double(room) * (1 - part)
      else { return false }
    }
    // Try twice: the first call may only return the error of an earlier datagram.
    for _ in 1...2 where sendOnce(bytes, to: target, from: own) { return true }
    return own != nil && sendOnce(bytes, to: target, from: nil)
  }

  private func sendOnce(_ bytes: [UInt8], to target: Endpoint, from own: Address?) -> Bool {
    target.withSocketAddress { address, length in
      bytes.withUnsafeBytes { raw in
        guard let own else {
          return sendto(descriptor, raw.baseAddress, raw.count, 0, address, length) == raw.count
        }
        var note = SourceNote(own)
        return withUnsafeMutableBytes(of: &note) { note in
          var place = iovec(iov_base: UnsafeMutableRawPointer(mutating: raw.baseAddress), iov_len: raw.count)
          return withUnsafeMutablePointer(to: &place) { place in
            var message = msghdr()
            message.msg_name = UnsafeMutableRawPointer(mutating: address)
            message.msg_namelen = length
            message.msg_iov = place
            message.msg_iovlen = 1
            message.msg_control = note.baseAddress
            message.msg_controllen = SourceNote.size(own)
            return sendmsg(descriptor, &message, 0) == raw.count
          }
        }
      }
    }
  }
}

package func openSocket(_ wanted: Endpoint, _ type: __socket_type) throws(OpenFailure) -> Int32 {
  let kind = Int32(type.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
  let descriptor = socket(wanted.address.isIPv6 ? AF_INET6 : AF_INET, kind, 0)
  guard descriptor >= 0 else { throw OpenFailure(endpoint: wanted, call: "socket", code: errno) }
  // Without this option, a socket for "::" would also receive IPv4 datagrams.
  if wanted.address.isIPv6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
  return descriptor
}

package func setNonBlocking(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

package func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
  var value = value
  setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

package func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
  var value: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  return getsockopt(descriptor, level, name, &value, &size) == 0 ? value : 0
}

/// Binds the socket and returns its real address, with the port that the kernel chose if `wanted` has port 0.
package func bindSocket(_ descriptor: Int32, to wanted: Endpoint) throws(OpenFailure) -> Endpoint {
  let failed = wanted.withSocketAddress { address, length in Glibc.bind(descriptor, address, length) != 0 }
  if failed { throw OpenFailure(endpoint: wanted, call: "bind", code: errno) }
  return try boundEndpoint(descriptor, wanted)
}

/// Connects the socket and returns our own address, which the kernel chooses.
private func connectSocket(_ descriptor: Int32, to target: Endpoint) throws(OpenFailure) -> Endpoint {
  let failed = target.withSocketAddress { address, length in Glibc.connect(descriptor, address, length) != 0 }
  if failed { throw OpenFailure(endpoint: target, call: "connect", code: errno) }
  return try boundEndpoint(descriptor, target)
}

private func boundEndpoint(_ descriptor: Int32, _ wanted: Endpoint) throws(OpenFailure) -> Endpoint {
  guard let endpoint = Endpoint(of: descriptor) else {
    throw OpenFailure(endpoint: wanted, call: "getsockname", code: errno)
  }
  return endpoint
}
