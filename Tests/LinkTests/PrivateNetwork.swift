// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkWire
import Synchronization
import TestSupport
import Testing

@testable import Link

/// A network of its own inside this process: Linux gives each thread its namespace, and a `Link`'s thread inherits
/// that of the thread that made the `Link`. So tests run side by side without becoming each other's peers, and may
/// pull the cables out.
final class PrivateNetwork: Sendable {
  struct Failure: Error {
    var call: String
    var code: Int32
  }

  private let namespace: Int32

  init() throws {
    namespace = try onOwnThread {
      guard unshare(newNetwork) == 0 else { throw Failure(call: "unshare", code: errno) }
      return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
    }
    try ip("link", "set", "lo", "up")
    try ip("link", "set", "lo", "multicast", "on")
    try ip("route", "add", "224.0.0.0/4", "dev", "lo")
  }

  deinit { close(namespace) }

  /// A peer on this network.
  func link(tempo: Double) throws -> Link {
    try perform { Link(tempo: tempo) }
  }

  /// A cable between this network and another, with a name at each end.
  func cable(_ name: String, to other: PrivateNetwork, _ farName: String) throws {
    try ip(
      "link", "add", name, "type", "veth", "peer", "name", farName, "netns",
      "/proc/\(getpid())/fd/\(other.namespace)")
  }

  /// The ports of this network's UDP sockets at an IPv4 address.
  func ports(of address: Address) throws -> [UInt16] {
    let table = try perform { try ChildProcess.run(["cat", "/proc/thread-self/net/udp"]) }
    let local = table.output.split(separator: "\n").compactMap { $0.split(separator: " ").dropFirst().first }
    // As the kernel has it in its memory.
    let key = String(address.v4Bits.bigEndian, radix: 16, uppercase: true)
    let padded = String(repeating: "0", count: 8 - key.count) + key + ":"
    return local.filter { $0.hasPrefix(padded) }.compactMap { UInt16($0.dropFirst(9), radix: 16) }
  }

  /// Words, or whole lines of them.
  func ip(_ lines: String...) throws {
    let words = lines.flatMap { $0.split(separator: " ").map(String.init) }
    let done = try perform { try ChildProcess.run(["ip"] + words) }
    try #require(done.status == 0, "ip \(words): \(done.errors)")
  }

  /// On a thread that is in this network.
  func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
    let namespace = namespace
    return try onOwnThread {
      guard setns(namespace, newNetwork) == 0 else { throw Failure(call: "setns", code: errno) }
      return try body()
    }
  }
}

/// Enables all and waits until each sees all the others.
func connected(_ links: Link...) -> Bool {
  for link in links { link.isEnabled = true }
  return eventually { links.allSatisfy { $0.peerCount == links.count - 1 } }
}

private func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  let result = Box<Value>()
  Worker { result.value.withLock { $0 = Result { try body() } } }.join()
  return try #require(result.value.withLock { $0 }).get()
}

private final class Box<Value: Sendable>: Sendable {
  let value = Mutex<Result<Value, any Error>?>(nil)
}

// Glibc's module leaves these two out.
@_silgen_name("unshare") private func unshare(_ flags: Int32) -> Int32
@_silgen_name("setns") private func setns(_ descriptor: Int32, _ kind: Int32) -> Int32
private let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET
