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

  /// For app threads: whatever `body` leaves to be done by the network thread is done at once. [app, may block]
  func withEngine<Result>(_ body: (inout Engine, Micros) -> Result) -> Result {
    let (result, wakes) = engine.withLock { engine in
      // The clock is read with the lock held, so that the machine never sees time run backwards.
      let result = body(&engine, HostClock.micros())
      let isDue = engine.deadline.map { $0.count < plannedWake.load(ordering: .relaxed) } ?? false
      return (result, isDue || engine.needsTurn)
    }
    if wakes { wakeUp.signal() }
    startIfNeeded(at: HostClock.micros())
    return result
  }

  /// Makes the thread look at everything again. [any but audio]
  func wake() { wakeUp.signal() }

  private func run() {
    while !isStopping.load(ordering: .acquiring) { turn() }
    engine.withLock { $0.shutDown(at: HostClock.micros()) }
  }

  private func turn() {
    let now = HostClock.micros()
    var (list, wake) = engine.withLock { engine in
      let wake = engine.nextWake(at: now)
      plannedWake.store(wake?.count ?? .max, ordering: .relaxed)
      return (engine.waitList(wakeUp: wakeUp.descriptor), wake)
    }
    wait(for: &list, from: now, until: wake)
    wakeUp.drain()
    let isScanDue = engine.withLock { engine in
      plannedWake.store(0, ordering: .relaxed)
      engine.work(list, at: HostClock.micros())
      return engine.beginScan(at: HostClock.micros())
    }
    if isScanDue { scan() }
    deliver(engine.withLock { $0.takeEvents() })
  }

  /// Without the lock as far as the system is asked: app threads do not wait for that.
  private func scan() {
    do throws(SystemFailure) {
      let found = try AddressScan.look(on: engine.withLock { $0.gateways.allowed })
      let missing = engine.withLock { $0.learn(found, at: HostClock.micros()) }
      let opened = missing.map { AddressScan.open($0, as: $1) }
      engine.withLock { $0.take(opened) }
    } catch {
      engine.withLock { $0.learn(error) }
    }
  }

  private func deliver(_ events: [LinkSession.Event]) {
    for event in events where !isStopping.load(ordering: .acquiring) { audience.tell(event) }
  }
}
