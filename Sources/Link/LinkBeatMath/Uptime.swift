// SPDX-License-Identifier: GPL-2.0-or-later

/// A clock for deadlines: it runs like the host clock, but it never goes back, and a time in which our
/// machine was stopped does not count.
///
/// A host clock that steps back must not freeze our Alives, and a machine that was suspended must not declare
/// all its peers dead before it has listened to them. Ghost times and beats use the host clock itself.
package struct Uptime: Sendable {
  package private(set) var now = Micros.zero
  private var host: Micros

  package init(host: Micros) {
    self.host = host
  }

  /// If we run later than requested by more than this time, the machine was stopped, and we could hear no
  /// peer meanwhile.
  private static var oversleep: Micros { Micros(1_000_000) }

  /// Returns whether the clock jumped. `deadline` is the time at which we had asked to run.
  package mutating func advance(toHost time: Micros, deadline: Micros?) -> Bool {
    let elapsed = time - host
    host = time
    guard elapsed >= .zero else { return true }
    guard let deadline else {
      now = now + elapsed
      return false
    }
    let longest = (deadline > now ? deadline - now : .zero) + Uptime.oversleep
    now = now + (elapsed < longest ? elapsed : longest)
    return elapsed > longest
  }

  /// The host time at which the uptime will be `deadline`. If `deadline` is past, this is the present host
  /// time.
  package func host(of deadline: Micros) -> Micros {
    deadline > now ? host + (deadline - now) : host
  }
}
