// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSync
import TactusTestSupport

/// Measurements on a server are valid only while the server itself keeps time.
extension JACKHostTests {
  /// Repeats a measurement until `times` measurements were made without a disturbance of the driver. Gives up
  /// on a machine that is too busy.
  func measure<Value>(
    _ times: Int, of what: String = #function, _ round: (Int) async throws -> (value: Value, isQuiet: Bool)
  ) async throws -> [Value] {
    var values: [Value] = []
    for attempt in 0..<(3 * times) where values.count < times {
      let (value, isQuiet) = try await round(attempt)
      if isQuiet { values.append(value) }
    }
    if values.isEmpty { notJudged("\(what): the server lost cycles in each of \(3 * times) rounds") }
    return values
  }
}

extension LiveHost {
  /// The report and the number of pauses until now, for `isCalm(since:)`.
  var mark: (report: Report, pauses: Int) { (exchange.report(), pauses) }

  /// Whether the driver kept time since `before`, and so did the control thread.
  func isCalm(since before: (report: Report, pauses: Int)) -> Bool {
    pauses == before.pauses && exchange.report().isQuiet(since: before.report)
  }
}

extension Report {
  /// Whether the driver kept time since `before`, and JACK's filter of times agreed with ours.
  func isQuiet(since before: Report) -> Bool {
    times.lostCycles == before.times.lostCycles && times.bridgedCycles == before.times.bridgedCycles
  }
}
