// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import Link
import LinkAudioSession
import Linux
import Synchronization

/// Link Audio's one thread: waits on the sockets, lets the engine work, tells of channels.
final class AudioThread: Sendable {
  let callback = Mutex((@Sendable ([AudioChannel]) -> Void)?.none)
  private let engine: Mutex<AudioEngine>
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
    engine = Mutex(AudioEngine(link, peerName: peerName, at: HostClock.micros()))
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
    link.stopListening()
  }

  /// [any but audio, may block]
  func ask<Result: Sendable>(_ body: (borrowing AudioEngine) -> Result) -> Result {
    engine.withLock { body($0) }
  }

  /// What `body` leaves to be done by the thread is done at once. [any but audio, may block]
  @discardableResult
  func change<Result: Sendable>(_ body: (inout sending AudioEngine, Micros) -> Result) -> Result {
    let result = engine.withLock { engine in body(&engine, HostClock.micros()) }
    wakeUp.signal()
    startIfNeeded()
    return result
  }

  private func run() {
    var urgency = Urgency(at: HostClock.micros())
    while !isStopping.load(ordering: .acquiring) {
      told.withLock { $0 = urgency.state }
      turn()
      urgency.look(at: HostClock.micros())
    }
  }

  private func turn() {
    let now = HostClock.micros()
    var (list, wake) = engine.withLock { engine in
      let drain = engine.isSending ? now + Self.drainPeriod : nil
      let wake = [engine.nextWake, drain].compactMap(\.self).min()
      return (engine.waitList(wakeUp: wakeUp.descriptor), wake)
    }
    wait(for: &list, from: now, until: wake)
    if list[0].revents != 0 { wakeUp.drain() }
    let news = engine.withLock { engine in
      engine.work(list, mail.take())
      return engine.takeNews()
    }
    if let news, !isStopping.load(ordering: .acquiring) { callback.withLock { $0 }?(news) }
  }
}
