// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkSession
import Synchronization

/// The receivers of one kind of change: the callback, and all streams.
struct Listeners<Value: Sendable>: Sendable {
  var callback: (@Sendable (Value) -> Void)?
  private var streams: [UInt64: AsyncStream<Value>.Continuation] = [:]
  private var number: UInt64 = 0

  mutating func add(_ stream: AsyncStream<Value>.Continuation) -> UInt64 {
    number += 1
    streams[number] = stream
    return number
  }

  mutating func remove(_ number: UInt64) { streams[number] = nil }

  mutating func removeAll() -> [AsyncStream<Value>.Continuation] {
    defer { streams.removeAll() }
    return Array(streams.values)
  }

  /// Call it without a lock, because a callback may call any function.
  func tell(_ value: Value) {
    callback?(value)
    for stream in streams.values { stream.yield(value) }
  }
}

/// All receivers of a `Link`'s changes.
final class Audience: Sendable {
  struct Parts: Sendable {
    var tempo = Listeners<Double>()
    var startStop = Listeners<Bool>()
    var peers = Listeners<Int>()
    var connection = Listeners<Bool>()
    var hasEnded = false
    fileprivate var wasConnected = false
  }

  let parts = Mutex(Parts())

  func tell(_ event: LinkSession.Event) {
    switch event {
    case .tempo(let tempo): parts.withLock { $0.tempo }.tell(tempo)
    case .startStop(let isPlaying): parts.withLock { $0.startStop }.tell(isPlaying)
    case .peers(let count):
      parts.withLock { $0.peers }.tell(count)
      let changed = parts.withLock { parts in
        defer { parts.wasConnected = count > 0 }
        return parts.wasConnected != (count > 0) ? parts.connection : nil
      }
      changed?.tell(count > 0)
    }
  }

  /// A stream of changes from now on that keeps the newest unread one. It ends with the `Link`.
  func stream<Value>(_ kind: WritableKeyPath<Parts, Listeners<Value>> & Sendable) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let number = parts.withLock { $0.hasEnded ? nil : $0[keyPath: kind].add(continuation) }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.parts.withLock { $0[keyPath: kind].remove(number) }
    }
    return stream
  }

  /// Ends all streams; nothing is delivered after it.
  func end() {
    let (doubles, bools, counts) = parts.withLock { parts in
      parts.hasEnded = true
      return (
        parts.tempo.removeAll(), parts.startStop.removeAll() + parts.connection.removeAll(),
        parts.peers.removeAll()
      )
    }
    for stream in doubles { stream.finish() }
    for stream in bools { stream.finish() }
    for stream in counts { stream.finish() }
  }
}

extension [LinkSession.Event] {
  /// In the original order.
  var newestOfEachKind: [LinkSession.Event] {
    let newest = [
      lastIndex { if case .tempo = $0 { true } else { false } },
      lastIndex { if case .startStop = $0 { true } else { false } },
      lastIndex { if case .peers = $0 { true } else { false } },
    ]
    return newest.compactMap { $0 }.sorted().map { self[$0] }
  }
}
