// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import Linux
import Synchronization

/// Whether JACK still answers, judged by what is seen: audio cycles, and our own looks at them.
///
/// A server that was stopped says nothing, and each question to it waits as long as it is silent. So nothing is
/// asked of one that has not just had a cycle. And when it is we who were stopped (a debugger, a freezer), jackd has given
/// us up or waits for us: then we leave it and come back.
struct Watchdog {
  enum Finding: Equatable {
    case nothing
    /// JACK does not answer.
    case silence
    /// It does again.
    case answer
    /// The whole process stood still for so long.
    case standstill(Micros)
  }

  /// The longest cycle, 8192 frames at 22050 Hz, is 372 ms.
  static let longestSilence = Micros(1_500_000)
  /// Without a cycle for so long, and three cycles more, nothing is asked.
  static let hesitation = Micros(50_000)
  /// jackd waits half a second for a client.
  static let longestGap = Micros(600_000)

  private var cycles: UInt?
  private var lastCycle = Micros.zero
  private var lastLook = Micros.zero
  private var lastWait = Micros.zero
  private(set) var isSilent = false
  /// It has just had a cycle: what is asked now is answered.
  private(set) var isPrompt = false
  /// It has had a cycle since the first look.
  private(set) var hasCycled = false

  /// One look, every 20 ms or so. `cycle`: a cycle's microseconds, 0 if unknown. `waited`: how long in all JACK was waited
  /// for, which is no standstill of ours.
  mutating func look(cycles now: UInt, of cycle: Double, at time: Micros, waited: Micros) -> Finding {
    let gap = time - lastLook
    let lost = gap - (waited - lastWait)
    let passed = cycles.map { now &- $0 }
    cycles = now
    lastLook = time
    lastWait = waited
    guard let passed else {
      lastCycle = time
      return .nothing
    }
    if gap > Self.longestGap {
      lastCycle = time
      // If the audio thread went on meanwhile, only this thread was busy.
      if lost > Self.longestGap, Double(passed) * cycle < Double(lost.count) / 2 { return .standstill(lost) }
    }
    if passed > 0 {
      lastCycle = time
      hasCycled = true
    }
    let silence = time - lastCycle
    isPrompt = silence <= Self.hesitation + Micros(rounding: 3 * min(cycle, 400_000))
    let wasSilent = isSilent
    isSilent = silence >= Self.longestSilence
    return isSilent == wasSilent ? .nothing : isSilent ? .silence : .answer
  }
}

/// What the control thread asks of libjack, any of which may wait for ever: of a server that was stopped a moment ago
/// nobody knows it yet. libjack knows one server at a time, so there is one of these, and other threads may look at it.
public enum Question {
  /// On Link's clock; 0: nothing is asked.
  private static let since = Atomic<Int64>(0)
  /// How long answers were waited for so far.
  private static let waited = Atomic<Int64>(0)

  /// [any]
  public static var isOpen: Bool { since.load(ordering: .relaxed) != 0 }

  /// The server has had time enough. [any]
  public static var isUnanswered: Bool {
    let since = since.load(ordering: .relaxed)
    return since != 0 && HostClock.micros().count - since >= Watchdog.longestSilence.count
  }

  static var totalWait: Micros { Micros(waited.load(ordering: .relaxed)) }

  /// One within another is part of it. [control]
  static func ask<Answer, Failure: Error>(_ question: () throws(Failure) -> Answer) throws(Failure) -> Answer
  {
    guard !isOpen else { return try question() }
    let start = HostClock.micros().count
    since.store(start, ordering: .relaxed)
    defer {
      waited.wrappingAdd(HostClock.micros().count - start, ordering: .relaxed)
      since.store(0, ordering: .relaxed)
    }
    return try question()
  }
}

/// Leaves a server, on a thread of its own: one that does not answer never lets us go. [control]
///
/// Until it is done nothing else may be asked of libjack, which knows one server at a time.
final class Departure: @unchecked Sendable {
  private let client: RunningClient
  /// What the client's audio thread holds stays as long as it does.
  private let exchange: AudioExchange
  private let done = Atomic(false)

  init(_ client: RunningClient, exchange: AudioExchange) {
    self.client = client
    self.exchange = exchange
    if let thread = try? Thread("departure", { [self] in run() }) { thread.detach() } else { run() }
  }

  var isDone: Bool { done.load(ordering: .acquiring) }

  /// Waits for it, but not for ever.
  func wait(atMost limit: Micros) {
    let end = HostClock.micros() + limit
    while !isDone, HostClock.micros() < end { usleep(1_000) }
  }

  private func run() {
    client.leave()
    done.store(true, ordering: .releasing)
  }
}
