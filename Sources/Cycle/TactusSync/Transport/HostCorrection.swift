// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Decides when to correct a lagging host (such as a DAW) by a locate. [control]
struct HostCorrection: Sendable {
  /// The time for which a lag must last before it is corrected: after one lost cycle, often more are lost.
  static let doubt = Micros(500_000)
  /// The least time between two corrections, each of which is heard as a short silence.
  static let pause = Micros(4_000_000)
  /// The time for which no corrections are made if the last ones seem to be in vain.
  static let surrender = Micros(60_000_000)
  /// The greatest lag of a host in microseconds: the longest bar, which is 64 whole notes at 20 quarters a
  /// minute.
  static let mostLag = 768e6

  /// The number of corrections that were requested until now.
  private(set) var count: UInt64 = 0
  private var laggingSince: Micros?
  private var next: Micros?
  private var tries = 0

  /// Notes that JACK was asked for a correction.
  mutating func isAsked(at time: Micros) {
    count &+= 1
    tries += 1
    next = time + (tries <= TransportLimits.mostRetries ? Self.pause : Self.surrender)
    laggingSince = nil
  }

  mutating func isDue(_ now: Report, _ choices: Settings, at time: Micros) -> Bool {
    guard choices.correction == .locate, now.song.isRolling, now.master.timebase == .ours else {
      laggingSince = nil
      return false
    }
    guard abs(now.song.hostLag) > Double(choices.correctAbove.count), abs(now.song.hostLag) < Self.mostLag
    else {
      laggingSince = nil
      if let next, time >= next { tries = 0 }
      return false
    }
    let since = laggingSince ?? time
    laggingSince = since
    guard time - since >= Self.doubt else { return false }
    if let next, time < next { return false }
    if tries > TransportLimits.mostRetries { tries = 0 }
    return true
  }
}
