// SPDX-License-Identifier: GPL-2.0-or-later
internal import BeatMath
import Glibc
internal import LinkSession
internal import Linux
import Synchronization

/// Link's one thread: waits on the sockets, lets the engine work, delivers events. It outlives the `Link` by as
/// long as it takes to say goodbye.
final class NetworkThread: Sendable {
  let engine: Mutex<Engine>
  let audience = Audience()
  let status: LinkStatus
  /// Held while datagrams leave, so that they do in the order in which they were made. Who only asks the engine never waits for it, and
  /// nobody who holds the engine's lock may take it.
  let sending = Mutex([Outgoing]())
  private let wakeUp = WakeUp()
  private let isStopping = Atomic(false)
  private let isRunning = Atomic(false)
  private let start = Mutex(Start())
  /// When the thread will wake by itself; 0 while it does not wait, `Int64.max` for never.
  private let plannedWake = Atomic<Int64>(0)

  init(_ configuration: Link.Configuration, seed: UInt64, far: FarSettings?, status: LinkStatus) {
    self.status = status
    engine = Mutex(Engine(configuration, seed: seed, far: far, at: HostClock.micros(), status: status))
  }

  /// Where threads or descriptors have run out, Link works without a network until one of its calls has more luck.
  private struct Start {
    var thread: Thread?
    var failure: SystemFailure?
    var next = Micros.zero
    static var spacing: Micros { Micros(1_000_000) }
  }

  /// Why there is no thread; nil if there is one.
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

  /// After this no callback begins. The thread can't wait for itself: if a callback let the `Link` go, it ends on its
  /// own.
  func end() {
    isStopping.store(true, ordering: .releasing)
    wakeUp.signal()
    start.withLock { $0.thread }?.join()
    audience.end()
  }

  /// For app threads: what `body` has to say is sent when this returns, and whatever it leaves to be done by the network thread is done
  /// at once. [app, may block]
  func withEngine<Result>(_ body: (inout Engine, Micros) -> Result) -> Result {
    let (result, speaks, wakes) = engine.withLock { engine in
      // What another thread has left is sent by that one.
      let waiting = engine.outgoingCount
      // The clock is read with the lock held, so that the machine never sees time run backwards.
      let result = body(&engine, HostClock.micros())
      let isDue = engine.deadline.map { $0.count < plannedWake.load(ordering: .relaxed) } ?? false
      return (result, engine.outgoingCount > waiting, isDue || engine.needsTurn)
    }
    if speaks { act { _ in } }
    if wakes { wakeUp.signal() }
    startIfNeeded(at: HostClock.micros())
    return result
  }

  /// Makes the thread look at everything again. [any but audio]
  func wake() { wakeUp.signal() }

  /// Lets the engine do something, and then sends what it has to say, and before it what others have left. Nothing that is made here waits
  /// for a lock on its way to the socket: a pong says what time it is.
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

  /// More than any message has, and than a room's datagram.
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
      hear(inlet, &buffer)
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

  /// Each datagram by itself: an app's call waits for one of them at most.
  private func hear(_ inlet: Inlet, _ buffer: inout [UInt8]) {
    for _ in 0..<Engine.datagramsPerTurn {
      guard let arrival = buffer.withUnsafeMutableBytes({ inlet.receive(into: $0) }) else { return }
      let read = HostClock.micros()
      buffer.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count])
        act { $0.hear(bytes, arrival, by: inlet, read: read) }
      }
    }
  }

  /// Without the lock as far as the system is asked: app threads do not wait for that.
  private func scan() {
    do throws(SystemFailure) {
      let found = try AddressScan.look(on: engine.withLock { $0.gateways.allowed })
      let missing = act { $0.learn(found, at: HostClock.micros()) }
      let opened = missing.map { AddressScan.open($0, as: $1) }
      act { $0.take(opened) }
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
  }
}
