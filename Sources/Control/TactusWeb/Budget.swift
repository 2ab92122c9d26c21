// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import BeatMath
import ControlSurface
import Glibc

/// Limits on the processor time that browsers may cost the web thread, in microseconds: together less than a
/// tenth of a core.
///
/// Unlike the surface's costs these are measured: here a library does most of the work, and no music depends
/// on this thread.
struct Budget {
  /// The account that pays. Paired browsers have their own, so that no crowd of strangers can empty it. So
  /// has accepting: a browser is accepted or reset no matter what requests have cost.
  enum Purse: CaseIterable {
    case doors, requests, strangers, paired
  }

  private struct Share {
    let perSecond: Double
    let atOnce: Double
    func bucket(at now: Micros) -> TokenBucket {
      TokenBucket(perSecond: perSecond, capacity: atOnce, at: now)
    }
  }

  private static func share(of purse: Purse) -> Share {
    switch purse {
    case .doors: Share(perSecond: 30_000, atOnce: 30_000)
    case .requests: Share(perSecond: 36_000, atOnce: 60_000)
    case .strangers: Share(perSecond: 10_000, atOnce: 10_000)
    case .paired: Share(perSecond: 20_000, atOnce: 20_000)
    }
  }
  /// The share of one address.
  private static let host = Share(perSecond: 20_000, atOnce: 40_000)
  /// Debt at which a host's new connections are reset. The pages of some phones behind one router, loaded at
  /// once, cost less.
  private static let hostDebt = 100_000.0
  private static let hostLimit = 256
  /// Least time between two looks while a connection has to wait: looking costs time, too.
  static let pace = Micros(10_000)

  private var purses: [Purse: TokenBucket]
  private var hosts: [Address: TokenBucket] = [:]

  init(at now: Micros) {
    purses = Dictionary(uniqueKeysWithValues: Purse.allCases.map { ($0, Self.share(of: $0).bucket(at: now)) })
  }

  /// Processor time of this thread so far.
  static func spent() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
  }

  mutating func has(_ purse: Purse, at now: Micros) -> Bool { purses[purse]?.has(1, at: now) ?? true }
  mutating func has(_ host: Address, at now: Micros) -> Bool { hosts[host]?.has(1, at: now) ?? true }

  /// Whether a host may open another connection.
  mutating func admits(_ host: Address, at now: Micros) -> Bool {
    hosts[host]?.has(-Self.hostDebt, at: now) ?? true
  }

  mutating func charge(_ purse: Purse, _ cost: Double, at now: Micros) { purses[purse]?.spend(cost, at: now) }

  mutating func charge(_ host: Address, _ cost: Double, at now: Micros) {
    if hosts[host] == nil, hosts.count >= Self.hostLimit {
      // Hosts that have spent nothing lately are forgotten.
      for (host, bucket) in hosts {
        var bucket = bucket
        if bucket.has(Self.host.atOnce, at: now) { hosts[host] = nil }
      }
      // The table is full. Further hosts pay from the common purses only.
      guard hosts.count < Self.hostLimit else { return }
    }
    hosts[host, default: Self.host.bucket(at: now)].spend(cost, at: now)
  }

  /// The earliest time at which a purse or host that is empty now has something again.
  mutating func deadline(at now: Micros) -> Micros? {
    var waits: [Micros] = []
    for purse in Purse.allCases where !has(purse, at: now) {
      waits += purses[purse].map { [$0.time(of: 1)] } ?? []
    }
    for host in hosts.keys where !has(host, at: now) { waits += hosts[host].map { [$0.time(of: 1)] } ?? [] }
    return waits.min().map { max($0, now + Self.pace) }
  }
}
