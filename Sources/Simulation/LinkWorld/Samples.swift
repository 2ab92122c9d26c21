// SPDX-License-Identifier: GPL-2.0-or-later

/// Many measured values, for their median and maximum.
package struct Samples: Sendable {
  private var values: [Double] = []

  package init() {}

  package var count: Int { values.count }
  package var isEmpty: Bool { values.isEmpty }
  package mutating func add(_ value: Double) { values.append(value) }
  package mutating func add(_ other: Samples) { values += other.values }

  /// The least value that `fraction` of all values do not exceed; nil: there are no values.
  package func quantile(_ fraction: Double) -> Double? {
    guard !values.isEmpty else { return nil }
    let ordered = values.sorted()
    let place = Int((fraction * Double(ordered.count)).rounded(.up)) - 1
    return ordered[min(max(place, 0), ordered.count - 1)]
  }

  package var median: Double? { quantile(0.5) }
  package var maximum: Double? { values.max() }
}
