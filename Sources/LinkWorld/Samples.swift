// SPDX-License-Identifier: GPL-2.0-or-later

/// Many measured values, of which the middle and the worst matter.
public struct Samples: Sendable {
  private var values: [Double] = []

  public init() {}

  public var count: Int { values.count }
  public var isEmpty: Bool { values.isEmpty }
  public mutating func add(_ value: Double) { values.append(value) }
  public mutating func add(_ other: Samples) { values += other.values }

  /// The least value that `fraction` of all do not exceed; nil of nothing.
  public func quantile(_ fraction: Double) -> Double? {
    guard !values.isEmpty else { return nil }
    let ordered = values.sorted()
    let place = Int((fraction * Double(ordered.count)).rounded(.up)) - 1
    return ordered[min(max(place, 0), ordered.count - 1)]
  }

  public var median: Double? { quantile(0.5) }
  public var maximum: Double? { values.max() }
}
