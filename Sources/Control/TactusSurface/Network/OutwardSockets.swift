// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import TactusOSC

/// Sockets for messages to programs that did not subscribe: one for each address family, opened when it is
/// needed. Nothing is read from these sockets.
final class OutwardSockets {
  /// How many socket errors are fetched after each message, at most.
  private static let batch = 8
  /// How many unreachable targets are reported, at most.
  private static let told = 64

  private var sockets: [Bool: SocketBox] = [:]
  private var deaf: Set<Endpoint> = []
  private let notice: @Sendable (Notice) -> Void

  init(notice: @escaping @Sendable (Notice) -> Void) { self.notice = notice }

  func send(_ bytes: [UInt8], to target: Endpoint) {
    let isIPv6 = target.address.isIPv6
    let box: SocketBox
    if let open = sockets[isIPv6] {
      box = open
    } else {
      do throws(OpenFailure) {
        box = try SocketBox(Endpoint(isIPv6 ? .v6(high: 0, low: 0, scope: 0) : .v4(0), port: 0))
      } catch {
        return complain(of: target, "\(target): \(error)")
      }
      sockets[isIPv6] = box
    }
    if !box.socket.send(bytes, to: target), errno != EAGAIN {
      complain(of: target, "\(target) can't be reached: \(String(cString: strerror(errno)))")
    }
    for _ in 0..<Self.batch {
      guard let (target, isThere) = box.socket.nextUnreachable() else { return }
      complain(of: target, isThere ? "nobody listens at \(target)" : "\(target) can't be reached")
    }
  }

  /// Reports that a target cannot be reached, once for each target.
  private func complain(of target: Endpoint, _ words: String) {
    guard deaf.count < Self.told, deaf.insert(target).inserted else { return }
    notice(.unsaid(words))
  }
}
