// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Datagrams that were read and wait to be looked at: whoever has cost least comes first, and of two newcomers the one that
/// can cost less, so that a flood waits for everybody else. Reading is cheap and looking is not: what would fill the kernel's
/// buffer, where the first to come takes all, is sorted here; of equals, those whose host has least waiting. When it is full,
/// the last in turn makes room.
///
/// Bounded in number, in bytes, and in what all together may cost (`Cost.perSecond`).
struct Inbox {
  struct Letter {
    let datagram: [UInt8]
    let peer: Peer
    fileprivate let came: Micros
    /// At most.
    fileprivate let expected: Int
    /// What its sender has cost before it and with it; of equals the first to come is first.
    fileprivate let before: Int
    /// Of its host's, when it came.
    fileprivate let waiting: Int
    fileprivate let number: Int

    fileprivate var place: (Int, Int, Int) { (before + expected, waiting, number) }
    fileprivate var size: Int { Limits.letter + datagram.count }
  }

  private struct Account {
    /// What they have cost, as if all had begun together; of what waits, the most that it may cost.
    var sum: Int
    var waiting = 0
    /// By how much less it was. Given back when nothing waits, or what they say next would overtake it.
    var saved = 0
  }

  private(set) var dropped = 0
  private(set) var bytes = 0
  /// The first is next: a heap.
  private var letters: [Letter] = []
  private var numbered = 0
  /// Who is not here stands at `level`, where the first in turn stood.
  private var accounts: [Peer: Account] = [:]
  private var waiting: [Address: Int] = [:]
  private var level = 0
  private var budget: TokenBucket

  init(at now: Micros = .zero) {
    budget = TokenBucket(perSecond: Cost.perSecond, capacity: Cost.atOnce, at: now)
  }

  var count: Int { letters.count }
  var isEmpty: Bool { letters.isEmpty }

  mutating func put(_ datagram: UnsafeRawBufferPointer, from peer: Peer, at now: Micros) {
    let expected = Cost.expected(datagram)
    var account = accounts[peer] ?? Account(sum: level)
    let before = max(level, account.sum)
    numbered += 1
    let letter = Letter(
      datagram: [UInt8](datagram), peer: peer, came: now, expected: expected, before: before,
      waiting: waiting[peer.endpoint.address, default: 0], number: numbered)
    // The last quarter is for those who ask for little, and have asked for little.
    let isModest = before - level < Cost.datagram && expected < Cost.datagram
    guard hasRoom(for: letter, quarters: isModest ? 4 : 3) || (isModest && makeRoom(for: letter)) else {
      dropped += 1
      return
    }
    if accounts.count >= 2 * Limits.inbox { forget() }
    waiting[peer.endpoint.address, default: 0] += 1
    account.sum = before + expected
    account.waiting += 1
    accounts[peer] = account
    bytes += letter.size
    letters.append(letter)
    rise(from: count - 1)
  }

  private func hasRoom(for letter: Letter, quarters: Int) -> Bool {
    count < Limits.inbox / 4 * quarters && bytes + letter.size <= Limits.inboxBytes / 4 * quarters
  }

  /// In place of the last in turn; false when that is the newcomer.
  private mutating func makeRoom(for letter: Letter) -> Bool {
    guard let last = letters.indices.suffix(count - count / 2).max(by: isBefore),
      letter.place < letters[last].place
    else { return false }
    let lost = letters[last]
    remove(at: last)
    settle(lost, cost: -Cost.letter)
    dropped += 1
    return hasRoom(for: letter, quarters: 4)
  }

  mutating func put(_ datagram: [UInt8], from peer: Peer, at now: Micros) {
    datagram.withUnsafeBytes { put($0, from: peer, at: now) }
  }

  /// nil: nothing waits, or it has to wait until the most that it may cost is there. So nobody waits for a debt.
  mutating func next(at now: Micros) -> Letter? {
    while let first = letters.first, now - first.came > Limits.patience {
      remove(at: 0)
      settle(first, cost: -Cost.letter)
      dropped += 1
    }
    guard let first = letters.first, budget.has(Double(first.expected), at: now) else { return nil }
    remove(at: 0)
    level = max(level, first.before)
    return first
  }

  private mutating func remove(at index: Int) {
    letters.swapAt(index, count - 1)
    let letter = letters.removeLast()
    bytes -= letter.size
    let left = waiting[letter.peer.endpoint.address, default: 1] - 1
    waiting[letter.peer.endpoint.address] = left > 0 ? left : nil
    guard index < count else { return }
    sink(from: index)
    rise(from: index)
  }

  /// What looking at it came to.
  mutating func charge(_ cost: Int, for letter: Letter, at now: Micros) {
    budget.spend(Double(Cost.letter + cost), at: now)
    settle(letter, cost: cost)
  }

  private mutating func settle(_ letter: Letter, cost: Int) {
    guard var account = accounts[letter.peer] else { return }
    account.waiting -= 1
    account.saved += letter.expected - Cost.letter - cost
    if account.waiting == 0 {
      account.sum -= account.saved
      account.saved = 0
    }
    accounts[letter.peer] = account
  }

  /// When the first in turn can be looked at.
  var deadline: Micros? { letters.first.map { budget.time(of: Double($0.expected)) } }

  /// Of those who have nothing waiting, what they have cost.
  private mutating func forget() {
    accounts = accounts.filter { $0.value.waiting > 0 }
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    letters[a].place < letters[b].place
  }

  private mutating func rise(from index: Int) {
    var child = index
    while child > 0, isBefore(child, (child - 1) / 2) {
      letters.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func sink(from index: Int) {
    var parent = index
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < count && isBefore(child, least) {
        least = child
      }
      guard least != parent else { return }
      letters.swapAt(parent, least)
      parent = least
    }
  }
}
