// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Someone who is being told.
struct Subscriber {
  /// Where they listen: seldom the port that they send from, with TouchOSC never.
  let target: Peer
  var source: Peer
  var groups: Group
  var dialect: Dialect
  /// nil: until unsubscribe, or an hour's silence.
  var lease: Micros?
  var heard: Micros
  var dumped: Micros?
  var nextFlush: Micros
  var refusals = 0
  /// It sent back what only a listener knows: its address is not forged.
  var hears = false
  /// The person at the terminal knows that it is told little.
  var isToldOf = false
  /// Rows that changed and were not told yet.
  var dirty: Set<Int> = []
  /// Rows under this controller's finger, and until when.
  var held: [Int: Micros] = [:]

  var ends: Micros { heard + (lease ?? Limits.silence) }

  /// The next moment at which something can be told, if there is something.
  var deadline: Micros? { dirty.map { max(nextFlush, held[$0] ?? nextFlush) }.min() }

  mutating func mark(_ row: Int) {
    if groups.contains(.state) { dirty.insert(row) }
  }

  /// What may be told now.
  mutating func takeDue(at now: Micros) -> [Int] {
    guard now >= nextFlush else { return [] }
    let due = dirty.filter { held[$0].map { end in now >= end } ?? true }.sorted()
    for row in due { held[row] = nil }
    dirty.subtract(due)
    if !due.isEmpty { nextFlush = now + Limits.flushInterval }
    return due
  }

  /// This controller moves this row: leave it alone until it rests, then tell it once where it stands.
  mutating func hold(_ row: Int, at now: Micros) {
    held[row] = now + Limits.holdOff
    mark(row)
  }
}
