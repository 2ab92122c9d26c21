// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import Synchronization

/// Ends the connection to jackd as a program that dies does, before the client is closed. [any]
///
/// `jack_client_close` of jack2 cancels its thread of notifications at any instruction. While that thread is
/// told that another client came or went, it holds a lock of libjack. Then it dies with the lock, and the
/// close and all later calls wait for ever (facts: jack 8). If the socket for requests is shut down first,
/// jackd lets the client go and ends the notifications, and the thread ends by itself, without the lock.
struct HangUp {
  /// Milliseconds to wait for the end. jackd waits for a cycle before it lets a client go.
  private static let limit = 2_000

  private final class End: Sendable {
    let hasCome = Atomic(false)
  }

  private let end = End()

  /// `client`: deactivated. Does nothing with another libjack, if the server has gone, and if this process
  /// has other clients: libjack would think that their server has gone.
  init(_ client: OpaquePointer) {
    guard let socket = Self.requestSocket, !Self.isShut(socket) else { return }
    jack_on_info_shutdown(client, noteEnd, Unmanaged.passUnretained(end).toOpaque())
    shutdown(socket, Int32(SHUT_RDWR))
    for _ in 0..<Self.limit where !isOver { usleep(1_000) }
  }

  /// Whether the thread of notifications is about to end. It holds no lock any more.
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

  /// Whether the other end is closed.
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
