// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import Link
internal import LinkAudioSession
internal import LinkBeatMath
internal import LinkSystem
internal import LinkWire
import Synchronization

/// Link Audio's one thread: polls the sockets, runs the engine, delivers the lists of channels.
final class AudioThread: Sendable {
  let channels = Announcer<[AudioChannel]>()
  private let engine: Mutex<AudioEngine>
  /// This lock is held while datagrams are sent, so that they leave in the order in which they were made.
  /// Calls that send nothing never wait for this lock. Do not take it while holding the engine's lock.
  let delivery: Mutex<Delivery>
  private let failedSends = Atomic(0)
  private let mail: AudioMail
  private let link: Link
  private let wakeUp = WakeUp()
  private let isStopping = Atomic(false)
  private let start = Mutex(Start())
  private let told = Mutex(LinkAudio.Scheduling.ordinary)

  /// The interval at which this thread looks for audio in the lanes while there are subscribers. It must
  /// look, because audio threads cannot wake it.
  private static let drainPeriod = Micros(2_000)

  /// The thread, or the reason why it could not be started. If the start fails, each later change tries it
  /// again.
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

  /// The reason why the thread could not be started; nil if it runs.
  var failure: SystemFailure? { start.withLock { $0.failure } }

  var scheduling: LinkAudio.Scheduling { told.withLock { $0 } }

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

  /// Ends the thread. After this call, no callback begins.
  func end() {
    isStopping.store(true, ordering: .releasing)
    wakeUp.signal()
    start.withLock { $0.thread }?.join()
    engine.withLock { $0.want(false, at: HostClock.micros()) }
    deliver()
    link.stopListening()
    channels.end()
  }

  /// The number of datagrams that the system refused to send. [any thread but the audio thread]
  var failedSendCount: Int { failedSends.load(ordering: .relaxed) }

  /// Returns a value that `body` reads from the engine. [any thread but the audio thread, may block]
  func ask<Result: Sendable>(_ body: (borrowing AudioEngine) -> Result) -> Result {
    engine.withLock { body($0) }
  }

  /// Runs `body`, and wakes Link Audio's thread if `body` leaves tasks. [any thread but the audio thread, may
  /// block]
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

  /// Runs the engine's waiting tasks. [any thread but the audio thread, may block while datagrams are sent]
  func deliver() {
    delivery.withLock { delivery in
      engine.withLock { delivery.adopt(&$0) }
      delivery.carryOut()
      failedSends.store(delivery.failedSends, ordering: .relaxed)
    }
  }

  private func run() {
    var urgency = RealtimePriority(at: HostClock.micros())
    var buffer = [UInt8](repeating: 0, count: Wire.maximumAudioMessageSize + 1)
    while !isStopping.load(ordering: .acquiring) {
      told.withLock { $0 = urgency.state }
      turn(&buffer)
      urgency.poll(at: HostClock.micros())
    }
  }

  /// The most datagrams that are read from one socket in a turn. The limit exists so that a flood delays
  /// neither the other sockets nor the datagrams that we send.
  private static let datagramsPerTurn = 128

  private func turn(_ buffer: inout [UInt8]) {
    let now = HostClock.micros()
    let wake = engine.withLock { engine in
      let drain = engine.isSending ? now + Self.drainPeriod : nil
      return [engine.nextWake, drain].compactMap(\.self).min()
    }
    // This array keeps the sockets open during the poll.
    let sockets = delivery.withLock { $0.sockets }
    var list = ([wakeUp.descriptor] + sockets.map(\.socket.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    wait(for: &list, from: now, until: wake)
    if list[0].revents != 0 { wakeUp.drain() }
    for (place, socket) in sockets.enumerated() where list[1 + place].revents != 0 {
      receive(socket, &buffer)
    }
    let letters = mail.drain()
    let (missing, news) = engine.withLock { engine in
      (engine.work(letters, at: HostClock.micros()), engine.takeNews())
    }
    deliver()
    if engine.withLock(\.isSending) { delivery.withLock { $0.sendAudio() } }
    if !missing.isEmpty { open(missing) }
    if let news, !isStopping.load(ordering: .acquiring) { channels.tell(news) }
  }

  /// Handles the datagrams of one socket. It takes the lock for each of them, so that an app's call waits for
  /// at most one datagram.
  private func receive(_ open: OpenAudioSocket, _ buffer: inout [UInt8]) {
    for _ in 0..<Self.datagramsPerTurn {
      guard let arrival = buffer.withUnsafeMutableBytes({ open.socket.receive(into: $0) }) else { return }
      let read = HostClock.micros()
      let isAnswered = buffer.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count])
        return engine.withLock {
          $0.admits(arrival.from.address, through: arrival.interface)
            && $0.receive(bytes, from: arrival.from, on: open.id, waited: arrival.waited, read: read)
        }
      }
      if isAnswered { deliver() }
    }
  }

  private func open(_ missing: [AudioGateway]) {
    let opened = missing.map { OpenedAudioSocket($0) }
    engine.withLock { $0.adopt(opened, at: HostClock.micros()) }
    deliver()
  }
}
