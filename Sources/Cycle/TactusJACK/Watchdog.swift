// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import Synchronization

/// Decides whether JACK still answers. The evidence is the number of audio cycles, and the times at which we
/// read that number.
///
/// A server that was stopped (for instance by a debugger) sends no signal, and each call to it blocks while
/// it stays silent. So we call only a server that has just run a cycle. If this process itself was stopped,
/// jackd has given us up or waits for us. In that case we leave the server and join it once more.
struct Watchdog {
  enum Finding: Equatable {
    case nothing
    /// JACK does not answer.
    case silence
    /// JACK answers again.
    case answer
    /// The whole process was stopped for this time.
    case standstill(Micros)
  }

  /// The time without a cycle after which the server is silent. The longest cycle, 8192 frames at 22050 Hz,
  /// is 372 ms.
  static let longestSilence = Micros(1_500_000)
  /// The time, added to the length of three cycles, after which we make no calls to a server that has run no
  /// cycle.
  static let hesitation = Micros(50_000)
  /// The longest time between two looks that is normal. After a longer time, this process may have been
  /// stopped. The limit is longer than jackd's timeout for a client, half a second.
  static let longestGap = Micros(600_000)

  private var cycles: UInt?
  private var lastCycle = Micros.zero
  private var lastLook = Micros.zero
  private var lastWait = Micros.zero
  private(set) var isSilent = false
  /// Whether the server has just run a cycle, so that it would answer a call now.
  private(set) var isPrompt = false
  /// Whether a cycle ran since the first look.
  private(set) var hasCycled = false

  /// Looks once at the number of cycles; call it every 20 ms or so. `cycle`: the length of a cycle in
  /// microseconds, 0 if unknown. `waited`: the total time that this process has spent waiting for JACK, in
  /// which it was not stopped.
  mutating func poll(cycles now: UInt, of cycle: Double, at time: Micros, waited: Micros) -> Finding {
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
      // If the audio thread kept running, the process was not stopped: only this thread was busy.
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

/// Wraps each call of the control thread to libjack. Any call may block for ever, since the server may have
/// been stopped a moment ago. libjack knows one server at a time, so there is one state for the whole
/// process. Other threads may look at this state.
public enum Question {
  /// The time at which the present call started, on Link's clock; 0: no call is under way.
  private static let since = Atomic<Int64>(0)
  /// The total time spent in calls, in microseconds.
  private static let waited = Atomic<Int64>(0)

  /// Whether a call is under way. [any]
  public static var isOpen: Bool { since.load(ordering: .relaxed) != 0 }

  /// Whether the present call has taken so long that the server must be silent. [any]
  public static var isUnanswered: Bool {
    let since = since.load(ordering: .relaxed)
    return since != 0 && HostClock.micros().count - since >= Watchdog.longestSilence.count
  }

  static var totalWait: Micros { Micros(waited.load(ordering: .relaxed)) }

  /// Runs `question` and measures the time it takes. The time of a nested question counts as part of the
  /// outer question. [control]
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

/// Leaves a server. A separate thread does this, because the call never returns if the server does not
/// answer. [control]
///
/// Until the departure is done, make no other call to libjack, which knows one server at a time.
final class Departure: @unchecked Sendable {
  /// The longest time for libjack to leave the server. If the server works, this takes a few cycles. jackd
  /// waits half a second for each late client, and five seconds for a client that does not answer.
  private static let limit = Micros(6_000_000)

  private let start = HostClock.micros()
  private var isToldOf = false
  private let client: RunningClient
  /// Keeps alive the memory that the client's audio thread uses.
  private let exchange: AudioExchange
  private let done = Atomic(false)

  init(_ client: RunningClient, exchange: AudioExchange) {
    self.client = client
    self.exchange = exchange
    if let thread = try? Thread("departure", { [self] in run() }) { thread.detach() } else { run() }
  }

  var isDone: Bool { done.load(ordering: .acquiring) }

  /// Returns true once: at the first call after `limit`, if the departure is not done by then.
  func hasBecomeSlow() -> Bool {
    guard !isDone, !isToldOf, HostClock.micros() - start >= Self.limit else { return false }
    isToldOf = true
    return true
  }

  /// Waits until the departure is done, or for `limit`.
  func wait(atMost limit: Micros) {
    let end = HostClock.micros() + limit
    while !isDone, HostClock.micros() < end { usleep(1_000) }
  }

  private func run() {
    client.leave()
    done.store(true, ordering: .releasing)
  }
}
