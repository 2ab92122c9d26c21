// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The cut starts: those that JACK let roll although we held them, long before JACK's usual timeout for slow
/// clients. The reason is another client that has shortened this timeout (facts: jack 4). Until a client
/// leaves, the next starts are requested as late as possible.
struct CutStarts: BitwiseCopyable {
  /// The shortest timeout, in microseconds, that is normal. JACK's usual timeouts, and all timeouts that we
  /// set, are longer. So a start that JACK lets roll sooner was cut.
  static let shortestLimit = 4e6
  /// The least error of a cut start in microseconds. A start that misses its beat by less counts as normal.
  private static let leastMiss = 10_000.0

  private(set) var count: UInt64 = 0
  /// The frame from which the last cut start should have rolled.
  private(set) var frame: UInt32 = 0
  private(set) var holdsBriefly = false
  /// Whether JACK's timeout is shorter than a period, so that JACK starts to roll before any client sees that
  /// a start begins.
  private var startsSuddenly = false
  /// Whether JACK has ever asked us if we are ready, as it does when we join.
  var isAsked = false
  private var clients: Int32 = 0

  /// Notes the number of clients, once a cycle. A client that leaves may be the one that has shortened the
  /// timeout.
  mutating func see(clients: Int32) {
    if clients < self.clients { (holdsBriefly, startsSuddenly) = (false, false) }
    self.clients = clients
  }

  /// Judges a start that we held and that rolls in this cycle.
  mutating func judge(_ now: borrowing CycleContext, _ start: Start) {
    let early = -start.error(now)
    guard start.step > .zero, (start.action?.reach ?? 0) == 0,
      now.heard.start - start.askedAt < Self.shortestLimit,
      early > Self.leastMiss + 3 * now.cycleMicros
    else { return }
    cut(at: start.place.frame, isSudden: false)
  }

  /// Judges a start for which JACK asked no client: the transport stood at `place` in the last cycle and
  /// rolls in this cycle.
  mutating func judge(_ now: borrowing CycleContext, from place: SongPlace) {
    let step = now.settings.launchStep.value
    guard isAsked, step > 0 else { return }
    let passed = -place.micros(from: now.transport.frame, frameMicros: now.frameMicros)
    let away = now.grid.beat(at: now.heard.start) - place.beat - passed / now.grid.beatMicros
    let miss = (away - step * Double(Int64(rounding: away / step))) * now.grid.beatMicros
    if abs(miss) > Self.leastMiss + 3 * now.cycleMicros { cut(at: place.frame, isSudden: true) }
  }

  private mutating func cut(at place: UInt32, isSudden: Bool) {
    count &+= 1
    frame = place
    (holdsBriefly, startsSuddenly) = (true, isSudden)
  }

  @inline(__always)
  func report(into report: inout LaunchReport) {
    report.cutStarts = count
    report.cutFrame = frame
    report.holdsBriefly = holdsBriefly
    report.startsSuddenly = startsSuddenly
  }
}
