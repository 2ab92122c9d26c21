// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Starts that JACK let roll although we held them, long before the time that it gives slow clients: another client has shortened
/// JACK's sync timeout (facts: jack 4). Until a client leaves, the next starts are asked for as late as can be.
struct CutStarts: BitwiseCopyable {
  /// JACK's usual limits, and all that we set, are longer, in microseconds.
  static let shortestLimit = 4e6
  /// A start that is so near to its beat is left as it is.
  private static let leastMiss = 10_000.0

  private(set) var count: UInt64 = 0
  /// Where the last of them was to start.
  private(set) var frame: UInt32 = 0
  private(set) var holdsBriefly = false
  /// JACK's timeout is shorter than a period: no client sees that a start begins.
  private var startsSuddenly = false
  /// JACK asks us: as it does when we join.
  var isAsked = false
  private var clients: Int32 = 0

  /// Once a cycle.
  mutating func see(clients: Int32) {
    if clients < self.clients { (holdsBriefly, startsSuddenly) = (false, false) }
    self.clients = clients
  }

  /// A start that we held rolls in this cycle.
  mutating func judge(_ now: borrowing Now, _ start: Start) {
    let early = -start.error(now)
    guard start.step > .zero, start.moves == 0, now.heard.start - start.askedAt < Self.shortestLimit,
      early > Self.leastMiss + 3 * now.cycleMicros
    else { return }
    cut(at: start.place.frame, isSudden: false)
  }

  /// The transport stood at `place` in the cycle before, rolls in this one, and no client was asked.
  mutating func judge(_ now: borrowing Now, from place: SongPlace) {
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
  func report(into report: inout Report) {
    report.cutStarts = count
    report.cutFrame = frame
    report.holdsBriefly = holdsBriefly
    report.startsSuddenly = startsSuddenly
  }
}
