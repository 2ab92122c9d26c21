// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// Limits the Responses for one host within a second, so that a forged source address receives little: a
/// Response is six times as long as the shortest Alive. A host that gets no Response learns the same from our
/// next Alive.
struct Respondents: Sendable {
  private var counts: [Address: Int] = [:]
  /// Start of the current second, in uptime.
  private var began: Micros

  init(at now: Micros) { began = now }

  mutating func admit(_ host: Address, at now: Micros) -> Bool {
    if now - began >= Micros(1_000_000) {
      began = now
      counts.removeAll(keepingCapacity: true)
    }
    let count = counts[host] ?? 0
    guard count < Limits.responsesPerHost, count > 0 || counts.count < Limits.respondents else {
      return false
    }
    counts[host] = count + 1
    return true
  }
}
