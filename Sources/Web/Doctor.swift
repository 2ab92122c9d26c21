// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Linux
import Synchronization

/// What is wrong with JACK, the network and the machine, for paired browsers. To find that out takes seconds, or hangs with the
/// server: so it is done on a thread that runs only then, once for all who ask, and what was found is good for a moment.
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

  /// - Parameter examine: as JSON; nil: without a result in time. Rings the bell afterwards.
  init(_ examine: @escaping @Sendable () -> [UInt8]?, bell: WakeUp) {
    self.examine = examine
    self.bell = bell
  }

  /// Whether `report` is of now; if not, he is sent for.
  func hasReport(at now: Micros) -> Bool {
    let isWanted = practice.withLock { practice in
      if let until = practice.until, now < until { return false }
      defer { practice.isOut = true }
      return !practice.isOut
    }
    if isWanted { sendFor() }
    return practice.withLock { !$0.isOut }
  }

  /// nil: it did not finish.
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
