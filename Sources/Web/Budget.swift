// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath
import ControlSurface
import Glibc

/// What browsers may cost the web thread, in microseconds of its own processor time: together less than a tenth of a core.
///
/// Measured, unlike the surface's costs: here a library does most of the work, and nothing of music waits for this thread.
struct Budget {
  private struct Share {
    let perSecond: Double
    let atOnce: Double
    func bucket(at now: Micros) -> TokenBucket {
      TokenBucket(perSecond: perSecond, capacity: atOnce, at: now)
    }
  }

  private static let requests = Share(perSecond: 40_000, atOnce: 60_000)
  private static let messages = Share(perSecond: 30_000, atOnce: 30_000)
  /// Of either, what those at one address may have.
  private static let host = Share(perSecond: 20_000, atOnce: 40_000)
  private static let hostLimit = 256
  /// How often is looked again while somebody has to wait: looking costs, too.
  static let pace = Micros(10_000)

  private var requests: TokenBucket
  private var messages: TokenBucket
  private var hosts: [Address: TokenBucket] = [:]

  init(at now: Micros) {
    requests = Self.requests.bucket(at: now)
    messages = Self.messages.bucket(at: now)
  }

  /// Of this thread.
  static func spent() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
  }

  mutating func hasRequests(at now: Micros) -> Bool { requests.has(1, at: now) }
  mutating func hasMessages(at now: Micros) -> Bool { messages.has(1, at: now) }

  mutating func has(_ host: Address, at now: Micros) -> Bool { hosts[host]?.has(1, at: now) ?? true }

  mutating func chargeRequests(_ cost: Double, at now: Micros) { requests.spend(cost, at: now) }
  mutating func chargeMessages(_ cost: Double, at now: Micros) { messages.spend(cost, at: now) }

  mutating func charge(_ host: Address, _ cost: Double, at now: Micros) {
    if hosts[host] == nil, hosts.count >= Self.hostLimit {
      // Those that have spent nothing lately are as good as new.
      for (host, bucket) in hosts {
        var bucket = bucket
        if bucket.has(Self.host.atOnce, at: now) { hosts[host] = nil }
      }
      // A crowd: its newest member pays with all of them.
      guard hosts.count < Self.hostLimit else { return }
    }
    hosts[host, default: Self.host.bucket(at: now)].spend(cost, at: now)
  }

  /// When something that has to wait now may go on.
  mutating func deadline(at now: Micros) -> Micros? {
    var waits: [Micros] = []
    if !hasRequests(at: now) { waits.append(requests.time(of: 1)) }
    if !hasMessages(at: now) { waits.append(messages.time(of: 1)) }
    for host in hosts.keys where !has(host, at: now) { waits += hosts[host].map { [$0.time(of: 1)] } ?? [] }
    return waits.min().map { max($0, now + Self.pace) }
  }
}
