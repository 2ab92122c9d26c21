// SPDX-License-Identifier: GPL-2.0-or-later

/// A few distinct values, each with its count. Usually there is one value. There are never more values than
/// peers in the table.
struct Multiset<Value: Equatable & Sendable>: Sendable {
  private var entries: [(value: Value, count: Int)] = []

  var values: [Value] { entries.map { $0.value } }

  func contains(_ value: Value) -> Bool { entries.contains { $0.value == value } }

  mutating func add(_ value: Value) {
    if let place = entries.firstIndex(where: { $0.value == value }) {
      entries[place].count += 1
    } else {
      entries.append((value, 1))
    }
  }

  mutating func remove(_ value: Value) {
    guard let place = entries.firstIndex(where: { $0.value == value }) else { return }
    entries[place].count -= 1
    if entries[place].count == 0 { entries.remove(at: place) }
  }

  mutating func replaceAll(by value: Value) {
    let total = entries.reduce(0) { $0 + $1.count }
    entries = total > 0 ? [(value, total)] : []
  }
}
