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
  var dirty: [Bool]
  /// Rows under this controller's finger, and until when.
  var held: [Int: Micros] = [:]

  private let table: Table

  init(
    target: Peer, source: Peer, groups: Group, dialect: Dialect, lease: Micros?, told table: Table,
    at now: Micros
  ) {
    self.table = table
    self.target = target
    self.source = source
    self.groups = groups
    self.dialect = dialect
    self.lease = lease
    heard = now
    nextFlush = now
    dirty = Array(repeating: false, count: table.rows.count)
  }

  var ends: Micros { heard + (lease ?? Limits.silence) }

  /// The next moment at which something can be told, if there is something.
  var deadline: Micros? {
    var next: Micros?
    for row in dirty.indices where dirty[row] {
      let time = max(nextFlush, held[row] ?? nextFlush)
      next = min(next ?? time, time)
    }
    return next
  }

  mutating func mark(_ row: Int) {
    if groups.contains(.state) { dirty[row] = true }
  }

  /// What may be told now.
  mutating func takeDue(at now: Micros) -> [Int] {
    guard now >= nextFlush else { return [] }
    var due: [Int] = []
    for row in dirty.indices where dirty[row] {
      if let end = held[row] {
        guard now >= end else { continue }
        held[row] = nil
      }
      dirty[row] = false
      due.append(row)
    }
    if !due.isEmpty { nextFlush = now + Limits.flushInterval }
    return due
  }

  /// This controller moves this row: leave it alone until it rests, then tell it once where it stands.
  mutating func hold(_ row: Int, at now: Micros) {
    guard table.rows[row].isReadable else { return }
    held[row] = now + Limits.holdOff
    mark(row)
  }
}
