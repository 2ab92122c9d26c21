// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds faults of a server that a request to JACK repairs, each fault once. [control]
struct TransportRepair: Sendable {
  private var hasSettled = false
  /// The last report's `cutStarts`; nil: there was no report.
  private var cutStarts: UInt64?
  private var stoodStill = false

  /// Returns true once, if we found the transport stopped and do not know from which frame it will roll.
  /// PipeWire may roll from where it stands or one cycle later, but after a locate it rolls from the located
  /// frame.
  mutating func settles(_ now: TransportPlan.Observation) -> Bool {
    guard now.report.isFirstFrameUnknown, !hasSettled, !now.server.rollsFromWhereItStands else {
      return false
    }
    hasSettled = true
    return true
  }

  /// Returns whether JACK let a start roll while we held it, because another client changed JACK's timeout
  /// for slow clients. jackd uses the value that was set last, so we set ours again; PipeWire uses the
  /// shortest of all. The start is then repeated from its place by a stop, a locate and a start.
  mutating func findsCut(_ report: Report) -> Bool {
    defer { cutStarts = report.launch.cutStarts }
    return cutStarts.map { report.launch.cutStarts > $0 } ?? false
  }

  /// Returns true once, if the transport stands although JACK says that it rolls. A locate makes PipeWire's
  /// transport go on.
  mutating func findsStandstill(_ report: Report) -> Bool {
    defer { stoodStill = report.standsStill }
    return report.standsStill && !stoodStill
  }
}
