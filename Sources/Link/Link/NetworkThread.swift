// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem
import Synchronization

/// Link's one thread: polls the sockets, runs the engine, delivers events. The thread outlives the `Link`
/// until all goodbyes are sent.
final class NetworkThread: Sendable {
  let engine: Mutex<Engine>
  let audience = Audience()
  let status: LinkStatus
  /// This lock is held while datagrams are sent, so that they leave in the order in which they were made.
  /// Calls that send nothing never wait for this lock. Do not take it while holding the engine's lock.
  let sending = Mutex([Outgoing]())
  private let wakeUp = WakeUp()
  private let isStopping = Atomic(false)
  private let isRunning = Atomic(false)
  private let start = Mutex(Start())
  /// The thread that edits a state with the engine's lock held; 0 for none.
  private let editor = Atomic<UInt>(0)
  /// The host time at which the thread will wake by itself; 0 while it does not wait, `Int64.max` for never.
  private let plannedWake = Atomic<Int64>(0)

  init(_ configuration: Link.Configuration, seed: UInt64, far: FarSettings?, status: LinkStatus) {
    self.status = status
    engine = Mutex(Engine(configuration, seed: seed, far: far, at: HostClock.micros(), status: status))
  }

  /// If no thread or descriptor is free, Link works without a network, and its later calls try again.
  private struct Start {
    var thread: Thread?
    var failure: SystemFailure?
    var next = Micros.zero
    static var spacing: Micros { Micros(1_000_000) }
  }

  /// Why there is no thread; nil if there is a thread.
  var failure: SystemFailure? { start.withLock { $0.failure } }

  /// Starts the thread, which keeps this object alive and runs until `end`.
  func startIfNeeded(at now: Micros) {
    guard !isRunning.load(ordering: .relaxed) else { return }
    start.withLock { start in
      guard start.thread == nil, now >= start.next else { return }
      do throws(SystemFailure) {
        try wakeUp.open()
        start.thread = try Thread("link") { [self] in run() }
        start.failure = nil
        status.isMute.store(false, ordering: .relaxed)
        isRunning.store(true, ordering: .relaxed)
      } catch {
        start.failure = error
        status.isMute.store(true, ordering: .relaxed)
        start.next = now + Start.spacing
      }
    }
  }

  /// Ends the thread; no callback begins afterwards. If a callback released the `Link`, this function runs on
  /// the thread itself, which then ends without a join.
  func end() {
    isStopping.store(true, ordering: .releasing)
    wakeUp.signal()
    start.withLock { $0.thread }?.join()
    audience.end()
  }

  /// Runs `body` for an app thread. The datagrams that `body` makes are sent before this function returns,
  /// and the network thread wakes if it has work. [app, may block]
  func withEngine<Result>(_ body: (inout Engine, Micros) -> Result) -> Result {
    guard editor.load(ordering: .relaxed) != UInt(pthread_self()) else {
      fatalError("the closure of Link.update calls the same Link; use its arguments instead")
    }
    let (result, speaks, wakes) = engine.withLock { engine in
      // Datagrams that wait already are sent by the thread that made them.
      let waiting = engine.outgoingCount
      // The clock is read while the lock is held, so that the session never sees time run backwards.
      let result = body(&engine, HostClock.micros())
      let isDue = engine.deadline.map { $0.count < plannedWake.load(ordering: .relaxed) } ?? false
      return (result, engine.outgoingCount > waiting, isDue || engine.needsTurn)
    }
    if speaks { act { _ in } }
    if wakes { wakeUp.signal() }
    startIfNeeded(at: HostClock.micros())
    return result
  }

  /// Runs a user's `edit` of the state, which must not call the same `Link`. Call this function within
  /// `withEngine`.
  func whileEditing<Result>(_ edit: () -> Result) -> Result {
    editor.store(UInt(pthread_self()), ordering: .relaxed)
    defer { editor.store(0, ordering: .relaxed) }
    return edit()
  }

  /// Makes the network thread check everything now. [any thread but the audio thread]
  func wake() { wakeUp.signal() }

  /// Runs `body`, then sends all unsent datagrams in order, those of `body` last. Between the making and the
  /// sending of a datagram this thread waits for no lock, because a pong contains the time.
  private func act<Result: Sendable>(_ body: (inout Engine) -> Result) -> Result {
    sending.withLock { datagrams in
      let result = engine.withLock { engine in
        let result = body(&engine)
        engine.takeOutgoing(&datagrams)
        return result
      }
      let lost = datagrams.compactMap { $0.leave() }
      datagrams.removeAll(keepingCapacity: true)
      if !lost.isEmpty { engine.withLock { $0.far?.forgetWays(to: lost) } }
      return result
    }
  }

  private func run() {
    var buffer = [UInt8](repeating: 0, count: Self.longestDatagram)
    while !isStopping.load(ordering: .acquiring) { turn(&buffer) }
    act { $0.shutDown(at: HostClock.micros()) }
  }

  /// The size of the buffer: longer than any message of Link, and than any datagram between two rooms.
  private static var longestDatagram: Int { 2048 }

  private func turn(_ buffer: inout [UInt8]) {
    let now = HostClock.micros()
    let (inlets, watch, wake) = engine.withLock { engine in
      let wake = engine.nextWake(at: now)
      plannedWake.store(wake?.count ?? .max, ordering: .relaxed)
      return (engine.inlets, engine.gateways.watch, wake)
    }
    let own = [wakeUp.descriptor, watch.descriptor]
    var list = (own + inlets.map(\.descriptor)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    wait(for: &list, from: now, until: wake)
    plannedWake.store(0, ordering: .relaxed)
    wakeUp.drain()
    for (inlet, ready) in zip(inlets, list.dropFirst(own.count)) where ready.revents != 0 {
      receive(inlet, &buffer)
    }
    let isNews = watch.drain()
    let (isScanDue, farPort) = act { engine in
      let now = HostClock.micros()
      engine.work(at: now)
      return (engine.beginScan(isNews: isNews, at: now), engine.farPortToOpen(at: now))
    }
    if isScanDue { scan() }
    if let farPort { openFar(farPort) }
    deliver(engine.withLock { $0.takeEvents() })
  }

  /// Handles the datagrams of one socket. It takes the lock for each of them, so that an app's call waits for
  /// at most one datagram.
  private func receive(_ inlet: Inlet, _ buffer: inout [UInt8]) {
    for _ in 0..<Engine.datagramsPerTurn {
      guard let arrival = buffer.withUnsafeMutableBytes({ inlet.receive(into: $0) }) else { return }
      let read = HostClock.micros()
      buffer.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count])
        act { $0.receive(bytes, arrival, by: inlet, read: read) }
      }
    }
  }

  /// Makes the system calls without the lock, so that app threads do not wait for them.
  private func scan() {
    do throws(SystemFailure) {
      let found = try AddressScan.scan(on: engine.withLock { $0.gateways.allowed })
      let missing = act { $0.learn(found, at: HostClock.micros()) }
      let opened = missing.map { AddressScan.open($0, as: $1) }
      act { $0.adopt(opened) }
    } catch {
      engine.withLock { $0.learn(error) }
    }
  }

  private func openFar(_ port: UInt16) {
    let opened = Result { () throws(SystemFailure) in try FarSocket.both(port: port) }
    act { $0.takeFar(opened, at: HostClock.micros()) }
  }

  private func deliver(_ events: [LinkSession.Event]) {
    for event in events where !isStopping.load(ordering: .acquiring) { audience.tell(event) }
    guard !events.isEmpty else { return }
    // The lock is held here, so that a stream that begins meanwhile gets no older status.
    engine.withLock { audience.status.tell(Link.Status($0.snapshot)) }
  }
}
