// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import Link
import LinkAudioSession
import LinkWire
import Linux
import Synchronization

/// Link Audio's one thread: waits on the sockets, lets the engine work, tells of channels.
final class AudioThread: Sendable {
  let callback = Mutex((@Sendable ([AudioChannel]) -> Void)?.none)
  private let engine: Mutex<AudioEngine>
  /// Held while datagrams leave, so that they do in the order in which they were made. Who only asks the engine never waits for it, and
  /// nobody who holds the engine's lock may take it.
  let delivery: Mutex<Delivery>
  private let failedSends = Atomic(0)
  private let mail: AudioMail
  private let link: Link
  private let wakeUp = WakeUp()
  private let isStopping = Atomic(false)
  private let start = Mutex(Start())
  private let told = Mutex(AudioUrgency.ordinary)

  /// Audio threads cannot wake us. While somebody listens, we look so often for what they left.
  private static let drainPeriod = Micros(2_000)

  /// Where threads or descriptors have run out, it is tried again with each change.
  private struct Start {
    var thread: Thread?
    var failure: SystemFailure?
  }

  init(_ link: Link, peerName: String) {
    self.link = link
    mail = AudioMail(wakeUp)
    let snapshot = link.snapshot
    engine = Mutex(
      AudioEngine(
        node: snapshot.node, session: snapshot.session, peerName: peerName, at: HostClock.micros()))
    delivery = Mutex(Delivery(link))
  }

  /// Why there is no thread; nil if there is one.
  var failure: SystemFailure? { start.withLock { $0.failure } }

  var urgency: AudioUrgency { told.withLock { $0 } }

  /// Starts the thread, which keeps this object alive and runs until `end`.
  func startIfNeeded() {
    start.withLock { start in
      guard start.thread == nil else { return }
      do throws(SystemFailure) {
        try wakeUp.open()
        start.thread = try Thread("link-audio") { [self] in run() }
        start.failure = nil
        link.listen(mail)
      } catch {
        start.failure = error
      }
    }
  }

  /// After this no callback begins.
  func end() {
    isStopping.store(true, ordering: .releasing)
    wakeUp.signal()
    start.withLock { $0.thread }?.join()
    engine.withLock { $0.want(false, at: HostClock.micros()) }
    deliver()
    link.stopListening()
  }

  /// Datagrams that the system would not send. [any but audio]
  var failedSendCount: Int { failedSends.load(ordering: .relaxed) }

  /// [any but audio, may block]
  func ask<Result: Sendable>(_ body: (borrowing AudioEngine) -> Result) -> Result {
    engine.withLock { body($0) }
  }

  /// What `body` leaves to be said and done, the thread does at once. [any but audio, may block]
  @discardableResult
  func change<Result: Sendable>(_ body: (inout sending AudioEngine, Micros) -> Result) -> Result {
    let (result, isFull) = engine.withLock { engine in
      let result = body(&engine, HostClock.micros())
      return (result, engine.errandCount > AudioEngine.errandLimit)
    }
    if isFull { deliver() }
    wakeUp.signal()
    startIfNeeded()
    return result
  }

  /// Does what the engine has left to be done. [any but audio, may block for as long as datagrams leave]
  func deliver() {
    delivery.withLock { delivery in
      engine.withLock { delivery.take(&$0) }
      delivery.carryOut()
      failedSends.store(delivery.failedSends, ordering: .relaxed)
    }
  }

  private func run() {
    var urgency = Urgency(at: HostClock.micros())
    var buffer = [UInt8](repeating: 0, count: Wire.maximumAudioMessageSize + 1)
    while !isStopping.load(ordering: .acquiring) {
      told.withLock { $0 = urgency.state }
      turn(&buffer)
      urgency.look(at: HostClock.micros())
    }
  }

  /// At most so many datagrams are taken from a socket in one turn, so that no flood keeps the others, and what we send, waiting.
  private static let datagramsPerTurn = 128

  private func turn(_ buffer: inout [UInt8]) {
    let now = HostClock.micros()
    let wake = engine.withLock { engine in
      let drain = engine.isSending ? now + Self.drainPeriod : nil
      return [engine.nextWake, drain].compactMap(\.self).min()
    }
    // As long as they are here none of them closes.
    let sockets = delivery.withLock { $0.sockets }
    var list = ([wakeUp.descriptor] + sockets.map(\.socket.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    wait(for: &list, from: now, until: wake)
    if list[0].revents != 0 { wakeUp.drain() }
    for (place, socket) in sockets.enumerated() where list[1 + place].revents != 0 { hear(socket, &buffer) }
    let letters = mail.take()
    let (missing, news) = engine.withLock { engine in
      (engine.work(letters, at: HostClock.micros()), engine.takeNews())
    }
    deliver()
    if engine.withLock(\.isSending) { delivery.withLock { $0.sendAudio() } }
    if !missing.isEmpty { open(missing) }
    if let news, !isStopping.load(ordering: .acquiring) { callback.withLock { $0 }?(news) }
  }

  /// Each datagram by itself: an app's call waits for one of them at most.
  private func hear(_ open: OpenAudioSocket, _ buffer: inout [UInt8]) {
    for _ in 0..<Self.datagramsPerTurn {
      guard let arrival = buffer.withUnsafeMutableBytes({ open.socket.receive(into: $0) }) else { return }
      let read = HostClock.micros()
      let isAnswered = buffer.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count])
        return engine.withLock {
          $0.admits(arrival.from.address, through: arrival.interface)
            && $0.hear(bytes, from: arrival.from, on: open.id, waited: arrival.waited, read: read)
        }
      }
      if isAnswered { deliver() }
    }
  }

  private func open(_ missing: [AudioGateway]) {
    let opened = missing.map { OpenedAudioSocket($0) }
    engine.withLock { $0.take(opened, at: HostClock.micros()) }
    deliver()
  }
}
