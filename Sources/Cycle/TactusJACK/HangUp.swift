// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import Synchronization

/// Cuts the connection to jackd before the client is closed, as if the program had died. [any]
///
/// `jack_client_close` of jack2 cancels libjack's notification thread at any instruction. If another client
/// comes or goes at that moment, the notification thread holds a lock of libjack and dies with it. Then the
/// close and all later calls wait for ever (facts: jack 8). So we first shut down the socket for requests:
/// jackd drops the client and sends no more notifications, and the notification thread ends by itself,
/// without the lock.
struct HangUp {
  /// Milliseconds to wait for the end of the notification thread. jackd drops a client only after a cycle.
  private static let limit = 2_000

  private final class End: Sendable {
    let hasCome = Atomic(false)
  }

  private let end = End()

  /// `client` must be deactivated. Does nothing if libjack is not jack2's or if the server has gone. Also
  /// does nothing if this process has other clients: libjack would think that their server has gone.
  init(_ client: OpaquePointer) {
    guard let socket = Self.requestSocket, !Self.isShut(socket) else { return }
    jack_on_info_shutdown(client, noteEnd, Unmanaged.passUnretained(end).toOpaque())
    shutdown(socket, Int32(SHUT_RDWR))
    for _ in 0..<Self.limit where !isOver { usleep(1_000) }
  }

  /// Whether the notification thread is about to end and holds no lock any more.
  var isOver: Bool { end.hasCome.load(ordering: .acquiring) }

  /// The socket for requests of the only client in this process; nil: there is none, or there are several.
  private static var requestSocket: Int32? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var found: [Int32] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { text(in: $0) }
      if let number = Int32(name), peer(of: number).hasPrefix("/dev/shm/jack_") { found.append(number) }
    }
    return found.count == 1 ? found.first : nil
  }

  /// The path of a Unix socket's other end; empty for anything else.
  private static func peer(of socket: Int32) -> String {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      getpeername(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return "" }
    return withUnsafeBytes(of: address.sun_path) { text(in: $0) }
  }

  private static func text(in bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// Whether the other end of this socket is closed.
  private static func isShut(_ socket: Int32) -> Bool {
    var byte: UInt8 = 0
    return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
  }

  fileprivate static func note(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<End>.fromOpaque(context).takeUnretainedValue().hasCome.store(true, ordering: .releasing)
  }
}

private func noteEnd(
  _ code: jack_status_t, _ reason: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?
) {
  HangUp.note(context)
}
