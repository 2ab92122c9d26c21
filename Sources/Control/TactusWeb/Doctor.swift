// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import Synchronization

/// Examines JACK, the network and the machine for paired browsers. An examination takes seconds, or hangs
/// together with the JACK server. So it runs on a thread of its own, once for all waiting requests, and its
/// report stays valid for three seconds.
final class Doctor: Sendable {
  private struct Practice {
    var isOut = false
    var report: [UInt8]?
    var until: Micros?
  }

  private static let good = Micros(3_000_000)
  private let examine: @Sendable () -> [UInt8]?
  private let bell: WakeUp
  private let practice = Mutex(Practice())

  /// - Parameter examine: returns the report as JSON; nil: the examination took too long. The bell rings
  /// afterwards.
  init(_ examine: @escaping @Sendable () -> [UInt8]?, bell: WakeUp) {
    self.examine = examine
    self.bell = bell
  }

  /// Whether `report` is fresh; if not, starts an examination.
  func hasReport(at now: Micros) -> Bool {
    let isWanted = practice.withLock { practice in
      if let until = practice.until, now < until { return false }
      defer { practice.isOut = true }
      return !practice.isOut
    }
    if isWanted { sendFor() }
    return practice.withLock { !$0.isOut }
  }

  /// The last report; nil: the examination took too long.
  var report: [UInt8]? { practice.withLock { $0.report } }

  private func sendFor() {
    do throws(SystemFailure) {
      try Thread("doctor") { [self] in
        come(back: examine())
        bell.signal()
      }.detach()
    } catch {
      come(back: nil)
    }
  }

  private func come(back report: [UInt8]?) {
    practice.withLock { $0 = Practice(report: report, until: HostClock.micros() + Self.good) }
  }
}
