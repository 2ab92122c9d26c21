// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// Delivers the changes of one value to a callback and to streams.
package final class Announcer<News: Equatable & Sendable>: Sendable {
  package typealias Callback = @Sendable (News) -> Void

  private struct Listener: Sendable {
    let yield: @Sendable (News) -> Void
    let finish: @Sendable () -> Void
    /// The value that the stream got last.
    var last: News?
  }

  private struct Parts: Sendable {
    var callback: Callback?
    var streams: [UInt64: Listener] = [:]
    var number: UInt64 = 0
    var hasEnded = false
  }

  private let parts = Mutex(Parts())
  /// A lock that is held while the callback runs.
  private let call = Mutex(())
  /// The thread that runs the callback; 0 for none.
  private let caller = Atomic<UInt>(0)

  package init() {}

  private static var ownThread: UInt { UInt(pthread_self()) }

  /// Replaces the callback. Waits until a running call of the former callback has ended, unless that callback
  /// itself calls this function.
  package func setCallback(_ callback: Callback?) {
    // The former callback is released outside the lock, because its release may run any code.
    let former = parts.withLock { parts in
      defer { parts.callback = callback }
      return parts.callback
    }
    guard former != nil, caller.load(ordering: .relaxed) != Self.ownThread else { return }
    call.withLock { _ in }
  }

  /// Delivers a value. Call this function from one thread only.
  package func tell(_ news: News) {
    let streams = parts.withLock { parts in
      let streams = parts.streams.filter { $0.value.last != news }
      for number in streams.keys { parts.streams[number]?.last = news }
      return streams.values.map(\.yield)
    }
    for yield in streams { yield(news) }
    call.withLock { _ in
      let callback = parts.withLock { $0.callback }
      guard let callback else { return }
      caller.store(Self.ownThread, ordering: .relaxed)
      callback(news)
      caller.store(0, ordering: .relaxed)
    }
  }

  /// A stream of the results of `transform`. The stream begins with the result for `first`. Of results that
  /// were not read yet, the stream keeps only the newest. The stream ends when the announcer is released.
  package func stream<Told: Sendable>(
    from first: News, _ transform: @escaping @Sendable (News) -> Told
  ) -> AsyncStream<Told> {
    let (stream, continuation) = AsyncStream.makeStream(of: Told.self, bufferingPolicy: .bufferingNewest(1))
    let number: UInt64? = parts.withLock { parts in
      guard !parts.hasEnded else { return nil }
      parts.number += 1
      parts.streams[parts.number] = Listener(
        yield: { continuation.yield(transform($0)) }, finish: { continuation.finish() }, last: first)
      continuation.yield(transform(first))
      return parts.number
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.parts.withLock { $0.streams.removeValue(forKey: number) }
    }
    return stream
  }

  /// Ends all streams; nothing is delivered afterwards.
  package func end() {
    let streams = parts.withLock { parts in
      parts.hasEnded = true
      defer { parts.streams.removeAll() }
      return Array(parts.streams.values)
    }
    for stream in streams { stream.finish() }
  }
}
