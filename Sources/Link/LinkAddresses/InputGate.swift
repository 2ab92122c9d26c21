// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath

/// How far a sender of input is trusted. If the limits do not allow the input of all senders, the input of
/// the most trusted senders comes first.
package enum Trust: Int, CaseIterable, Sendable {
  /// Any sender. There may be thousands, because source addresses can be forged.
  case stranger
  /// A sender from a short list of known ones, which has not proven that its address is its own.
  case known
  /// This machine, a paired sender, or a sender that has proven that its address is its own.
  case trusted
}

/// Limits on input from outside: a bucket for each level of trust, and one for each recent source.
///
/// A crowd of strangers empties the bucket of its own level and no other. Within a level, one source empties
/// its own bucket first. The caller chooses the unit of cost: microseconds of a thread, or messages.
///
/// Bounded: sources beyond `most` have no bucket of their own, and pay only from the bucket of their level.
package struct InputGate<Source: Hashable & Sendable>: Sendable {
  package struct Share: Sendable {
    package let perSecond: Double
    /// The largest amount that can be saved up for a burst.
    package let atOnce: Double

    package init(perSecond: Double, atOnce: Double) { (self.perSecond, self.atOnce) = (perSecond, atOnce) }

    fileprivate func bucket(at now: Micros) -> TokenBucket {
      TokenBucket(perSecond: perSecond, capacity: atOnce, at: now)
    }
  }

  /// The account of a source.
  private struct Account {
    var bucket: TokenBucket
    /// The cost that was charged last.
    var last = 0.0
    var heard: Micros
    /// Whether the source was charged more than once.
    var hasReturned = false
  }

  private let share: Share
  private let most: Int
  private let memory: Micros
  private let memoryOfReturned: Micros
  private var levels: [TokenBucket]
  private var accounts: [Source: Account] = [:]
  private var swept = Micros.zero

  /// - Parameters:
  ///   - memory: how long a silent source is remembered once there is no room for another.
  ///   - memoryOfReturned: how long a silent source is remembered that was charged more than once; nil: like
  ///     other sources.
  package init(
    _ shareOfLevel: (Trust) -> Share, ofSource share: Share, most: Int, memory: Micros = Micros(1_000_000),
    memoryOfReturned: Micros? = nil, at now: Micros
  ) {
    self.share = share
    self.most = most
    self.memory = memory
    self.memoryOfReturned = memoryOfReturned ?? memory
    levels = Trust.allCases.map { shareOfLevel($0).bucket(at: now) }
  }

  package var sourceCount: Int { accounts.count }

  package mutating func has(_ trust: Trust, cost: Double = 1, at now: Micros) -> Bool {
    levels[trust.rawValue].has(cost, at: now)
  }

  /// Returns what is left in a source's bucket, and the source's last cost. Returns nil if the source is new,
  /// or if there was no room for its account.
  package mutating func recall(_ source: Source, at now: Micros) -> (left: Double, last: Double)? {
    guard let last = accounts[source]?.last, let left = accounts[source]?.bucket.left(at: now) else {
      return nil
    }
    accounts[source]?.heard = now
    return (left, last)
  }

  /// Charges a level, even if its bucket holds less than the cost. The level then has nothing until the debt
  /// is paid.
  package mutating func charge(_ cost: Double, to trust: Trust, at now: Micros) {
    levels[trust.rawValue].spend(cost, at: now)
  }

  /// - Parameter mostDebt: the source owes no more than this, however much it has cost.
  package mutating func charge(
    _ cost: Double, to source: Source, mostDebt: Double = .infinity, at now: Micros
  ) {
    let known = accounts[source]
    guard known != nil || hasRoom(at: now) else { return }
    var account = known ?? Account(bucket: share.bucket(at: now), heard: now)
    account.hasReturned = known != nil
    account.bucket.spend(min(cost, account.bucket.left(at: now) + mostDebt), at: now)
    account.last = cost
    account.heard = now
    accounts[source] = account
  }

  /// Charges a cost to the level and the source if both buckets hold at least the cost. Otherwise charges
  /// nothing and returns false.
  package mutating func admit(_ source: Source, _ trust: Trust, cost: Double = 1, at now: Micros) -> Bool {
    guard has(trust, cost: cost, at: now), (recall(source, at: now)?.left ?? share.atOnce) >= cost else {
      return false
    }
    charge(cost, to: trust, at: now)
    charge(cost, to: source, at: now)
    return true
  }

  /// The time at which the bucket of a level will hold this cost.
  package func time(of cost: Double, _ trust: Trust) -> Micros { levels[trust.rawValue].time(of: cost) }

  /// The earliest time at which the bucket of a level or source that is empty now refills; nil if no bucket
  /// is empty.
  package mutating func refill(at now: Micros) -> Micros? {
    var times: [Micros] = []
    for level in levels.indices where !levels[level].has(at: now) { times.append(levels[level].time()) }
    for account in accounts.values {
      var bucket = account.bucket
      if !bucket.has(at: now) { times.append(bucket.time()) }
    }
    return times.min()
  }

  /// Forgets silent sources, at most once a second: in a flood, we must not search all sources for each
  /// packet.
  private mutating func hasRoom(at now: Micros) -> Bool {
    guard accounts.count >= most else { return true }
    guard now - swept >= Micros(1_000_000) else { return false }
    swept = now
    accounts = accounts.filter { now - $0.value.heard < ($0.value.hasReturned ? memoryOfReturned : memory) }
    return accounts.count < most
  }
}
