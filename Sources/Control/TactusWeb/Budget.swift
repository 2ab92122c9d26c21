// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import TactusSurface

/// Limits the processor time, in microseconds, that browsers may cost the web thread: together less than a
/// tenth of a core.
///
/// Unlike the surface's costs, these costs are measured: a library does most of the work here, and no music
/// depends on this thread.
struct Budget {
  /// Accepting connections has a budget of its own: a browser is accepted or reset no matter what requests
  /// have cost.
  var listeners: TokenBucket
  var requests: TokenBucket
  /// The budget for WebSocket messages. Paired browsers are trusted, all others are strangers. Each
  /// host has a share of this budget, which also pays for the host's connections and requests.
  var gate: InputGate<Address>
  /// The debt of a host, in microseconds of processor time, at which its new connections are reset. Several
  /// phones behind one router that load the page at once stay below it.
  private static let hostDebt = 100_000.0
  /// How many hosts have budgets of their own, and how long each host is remembered: as long as it takes to
  /// pay the largest debt.
  private static let hosts = (most: 256, memory: Micros(7_000_000))
  /// The shortest interval between two checks while a connection has to wait: checking costs time, too.
  static let pace = Micros(10_000)

  init(at now: Micros) {
    listeners = TokenBucket(perSecond: 30_000, capacity: 30_000, at: now)
    requests = TokenBucket(perSecond: 36_000, capacity: 60_000, at: now)
    typealias Share = InputGate<Address>.Share
    gate = InputGate(
      { trust in
        trust == .trusted
          ? Share(perSecond: 20_000, atOnce: 20_000) : Share(perSecond: 10_000, atOnce: 10_000)
      }, ofSource: Share(perSecond: 20_000, atOnce: 40_000), most: Self.hosts.most,
      memory: Self.hosts.memory, at: now)
  }

  /// The processor time that this thread has used so far, in microseconds.
  static func spent() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1000
  }

  mutating func has(_ host: Address, at now: Micros) -> Bool { left(host, at: now) >= 1 }

  /// Whether a host may open another connection.
  mutating func admits(_ host: Address, at now: Micros) -> Bool { left(host, at: now) >= -Self.hostDebt }

  private mutating func left(_ host: Address, at now: Micros) -> Double {
    gate.recall(host, at: now)?.left ?? 1
  }

  /// The earliest time at which a budget that is used up now has something left again.
  mutating func deadline(at now: Micros) -> Micros? {
    var times = [gate.refill(at: now)]
    if !listeners.has(at: now) { times.append(listeners.time()) }
    if !requests.has(at: now) { times.append(requests.time()) }
    return times.compactMap { $0 }.min().map { max($0, now + Self.pace) }
  }
}
