// SPDX-License-Identifier: GPL-2.0-or-later

/// A rate limit that allows bursts: a bucket that refills with time.
package struct TokenBucket: Sendable {
  package let perSecond: Double
  package let capacity: Double
  private var tokens: Double
  private var last: Micros

  package init(perSecond: Double, capacity: Double, at now: Micros) {
    self.perSecond = perSecond
    self.capacity = capacity
    tokens = capacity
    last = now
  }

  /// A limit of events per second. The events of one second may come at once.
  package init(perSecond: Int, at now: Micros) {
    self.init(perSecond: Double(perSecond), capacity: Double(perSecond), at: now)
  }

  package mutating func trySpend(_ amount: Double = 1, at now: Micros) -> Bool {
    guard has(amount, at: now) else { return false }
    tokens -= amount
    return true
  }

  package mutating func has(_ amount: Double = 1, at now: Micros) -> Bool { left(at: now) >= amount }

  package mutating func left(at now: Micros) -> Double {
    tokens = min(capacity, tokens + max(0, Double((now - last).count)) / 1e6 * perSecond)
    last = now
    return tokens
  }

  package mutating func gain(_ amount: Double, at now: Micros) {
    tokens = min(capacity, left(at: now) + amount)
  }

  /// Spends an amount even if the bucket goes below zero.
  package mutating func spend(_ amount: Double, at now: Micros) {
    tokens = left(at: now) - amount
  }

  /// The time at which the bucket will have this amount.
  package func time(of amount: Double = 1) -> Micros {
    last + Micros(rounding: (max(0, amount - tokens) / perSecond * 1e6).rounded(.up))
  }
}
