// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// A network namespace inside this process. On Linux each thread has a network namespace, which the
/// thread's new threads inherit. So tests can run side by side without becoming each other's peers, and may
/// pull cables.
public final class PrivateNetwork: Sendable {
  public struct Failure: Error {
    public var call: String
    public var code: Int32
  }

  private let namespace: Int32

  public init() throws {
    namespace = try onOwnThread {
      guard unshare(newNetwork) == 0 else { throw Failure(call: "unshare", code: errno) }
      return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
    }
    try ip("link", "set", "lo", "up")
    try ip("link", "set", "lo", "multicast", "on")
    try ip("route", "add", "224.0.0.0/4", "dev", "lo")
  }

  deinit { close(namespace) }

  /// Connects this network with another by a cable; `name` and `farName` are the interfaces at its ends.
  public func cable(_ name: String, to other: PrivateNetwork, _ farName: String) throws {
    try ip(
      "link", "add", name, "type", "veth", "peer", "name", farName, "netns",
      "/proc/\(getpid())/fd/\(other.namespace)")
  }

  /// Runs `ip` with the words of one line, or of several lines.
  public func ip(_ lines: String...) throws {
    let words = lines.flatMap { $0.split(separator: " ").map(String.init) }
    let done = try perform { try ChildProcess.run(["ip"] + words) }
    guard done.status == 0 else { throw Failure(call: "ip \(words): \(done.errors)", code: done.status) }
  }

  /// Runs `body` on a thread in this network, and waits for it.
  public func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
    let namespace = namespace
    return try onOwnThread {
      guard setns(namespace, newNetwork) == 0 else { throw Failure(call: "setns", code: errno) }
      return try body()
    }
  }
}

/// Runs `body` on a new thread.
public final class Worker {
  private var thread = pthread_t()

  public init(_ body: @escaping @Sendable () -> Void) {
    pthread_create(&thread, nil, runBody, Unmanaged.passRetained(Body(body)).toOpaque())
  }

  public func join() { pthread_join(thread, nil) }
}

private final class Body {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  context.map { Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run() }
  return nil
}

private func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  let result = Box<Value>()
  Worker { result.value.withLock { $0 = Result { try body() } } }.join()
  guard let done = result.value.withLock({ $0 }) else {
    throw PrivateNetwork.Failure(call: "thread", code: 0)
  }
  return try done.get()
}

private final class Box<Value: Sendable>: Sendable {
  let value = Mutex<Result<Value, any Error>?>(nil)
}

// The module Glibc does not export `unshare` and `setns`.
@_silgen_name("unshare") private func unshare(_ flags: Int32) -> Int32
@_silgen_name("setns") private func setns(_ descriptor: Int32, _ kind: Int32) -> Int32
private let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET
