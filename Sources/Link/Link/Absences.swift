// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkBeatMath

/// Decides when to close a gateway whose address can no longer be used. Makes no system calls.
///
/// A gateway outlives a short absence: a radio roams, a switch port renegotiates, a cable is moved, a network
/// manager takes the address away until there is a carrier. If a gateway closes, its peers are lost, and with
/// the last peer the session and the tempo that was set meanwhile. A gateway that stays open loses datagrams
/// and nothing else, as long as the peers remember us.
struct Absences: Sendable {
  /// For each missing address, the time of the first scan that did not find it.
  private var since: [LocalAddress: Micros] = [:]

  /// The time for which an address may be missing: a peer's time to live, and the grace after it (facts: link
  /// 3.4).
  static var absenceLimit: Micros { Micros(6_000_000) }

  /// The time at which the next missing address expires; nil if none is missing.
  var nextEnd: Micros? { since.values.min().map { $0 + Self.absenceLimit } }

  func contains(_ address: LocalAddress) -> Bool { since[address] != nil }

  /// Updates which of the `open` addresses are missing after a scan has `found` its addresses. Returns the
  /// addresses to close: those that were missing for too long, and, if found and missing addresses together
  /// exceed `limit`, those that are missing for longest.
  mutating func learn(
    found: some Sequence<LocalAddress>, open: [LocalAddress], limit: Int, at now: Micros
  ) -> Set<LocalAddress> {
    let found = Set(found)
    let missing = Dictionary(
      open.filter { !found.contains($0) }.map { ($0, since[$0] ?? now) }, uniquingKeysWith: min)
    let longestFirst = missing.keys.sorted { (missing[$0]!, $0) < (missing[$1]!, $1) }
    let surplus = longestFirst.prefix(max(0, missing.count + found.count - limit))
    let expired = longestFirst.filter { now - missing[$0]! >= Self.absenceLimit }
    let ended = Set(surplus).union(expired)
    since = missing.filter { !ended.contains($0.key) }
    return ended
  }
}
