// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// Renews the hold of a start on a server that ends holds by itself. PipeWire does so 5 s after the last
/// request to start, whatever timeout a client has set (facts: jack 4). Another request while the transport
/// is starting restarts the 5 s. [control]
public struct HoldRenewal: Sendable {
  private var since: Micros?

  public init() {}

  /// Returns whether to request the start again now. `limit`: the time for which the server holds a start;
  /// nil: as long as a client asks.
  public mutating func isDue(isHolding: Bool, limit: Micros?, at now: Micros) -> Bool {
    guard isHolding, let limit else {
      since = nil
      return false
    }
    let last = since ?? now
    since = last
    // The renewal comes after four fifths of the limit. The last fifth is a reserve for a control thread that
    // is late.
    guard (now - last).count >= limit.count / 5 * 4 else { return false }
    since = now
    return true
  }
}
