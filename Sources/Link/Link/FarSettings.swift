// SPDX-License-Identifier: GPL-2.0-or-later
package import FarLink
package import LinkAddresses
package import LinkBeatMath
internal import LinkSystem

/// The settings for other rooms: the rooms that we call, and the key and the port for all rooms.
package struct FarSettings: Sendable {
  /// The rooms that we call.
  package var calls: [FarCall]
  /// The port for calls of other rooms; nil: no room may call.
  package var port: UInt16?
  /// The local address for calls of other rooms; nil: any.
  package var door: Address?
  package var key: FarKey
  package var cipher: any FarCipher.Type
  /// Whether the key is public. Then only senders in a private network, such as a VPN, are accepted.
  package var isKeyPublic = false
  /// The correction for all rooms (`FarWire.correction`): the time by which the rooms are earlier than
  /// measured.
  package var correction = Micros.zero
  /// Distance of the other rooms' grids (`FarWire.distance`), in beats behind ours.
  package var distance = Beats.zero

  package init(calls: [FarCall], port: UInt16?, key: FarKey, cipher: any FarCipher.Type) {
    self.calls = calls
    self.port = port
    self.key = key
    self.cipher = cipher
  }

  /// The default port for calls: next to Link's own port, but different.
  package static var usualPort: UInt16 { 20_819 }
}

/// A called room, as users write it: `HOST`, or `HOST offset=3`.
package struct FarCall: Hashable, Sendable {
  package var host: FarHost
  /// Correction for this room alone, in addition to the correction for all rooms (`FarWire.correction`).
  package var correction = Micros.zero

  /// Returns nil if the text is malformed, or the offset in milliseconds is not within `offsets`.
  package init?(_ text: some StringProtocol, offsets: ClosedRange<Double>) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count <= 2, let host = FarHost(words[0]) else { return nil }
    self.host = host
    guard words.count == 2 else { return }
    let beginning = "offset="
    guard words[1].hasPrefix(beginning), let milliseconds = Double(words[1].dropFirst(beginning.count)),
      offsets.contains(milliseconds)
    else { return nil }
    correction = Micros(rounding: milliseconds * 1000)
  }
}

/// A host as users write it: a name or an address, and a port.
package struct FarHost: Hashable, Sendable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  /// Reads `HOST`, `HOST:PORT`, `[IPV6]:PORT` or `IPV6`. Returns nil if the text is none of these, or has an
  /// address that is not that of a single machine.
  package init?(_ text: some StringProtocol, usually port: UInt16 = FarSettings.usualPort) {
    let parts = Address(text) == nil ? Endpoint.split(text) : nil
    host = parts?.host ?? String(text)
    self.port = parts?.port ?? port
    let isName =
      (1...253).contains(host.utf8.count)
      && host.utf8.allSatisfy {
        UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9")
          || $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z")
          || [0x2D, 0x2E, 0x5F].contains($0)
      }
    if let address = Address(host) {
      guard !address.isEvery, !address.isOfMany, address != .v4(.max) else { return nil }
    } else if !isName {
      return nil
    }
    guard self.port > 0 else { return nil }
  }

  package var description: String {
    let written = Address(host)?.isIPv6 == true ? "[\(host)]" : host
    return "\(written):\(port)"
  }
}

/// Another room, as users see it.
package struct FarRoom: Hashable, Sendable {
  /// `unknown`: the room's name has no address; `ourselves`: the room's address is this program's own.
  package enum State: Hashable, Sendable { case unknown, waiting, ourselves, proven, away }

  /// The host that we call; nil if the room called us.
  package var host: FarHost?
  /// The endpoint from which the room's last datagram came.
  package var peer: Endpoint?
  package var state: State
  /// The time of a ping to the room and back; nil until it is measured.
  package var roundTrip: Micros?
  package var loss: Double?
  package var correction: Micros
  /// The correction that is in effect now; it moves slowly towards `correction`.
  package var corrected: Micros
  package var distance: Beats
  /// Our endpoint as the room sees it.
  package var seen: Endpoint?
  /// Whether the room does not answer our calls, while a room at the same address has called us.
  package var isCalledBack = false

  /// The largest possible error of the time between the rooms: half a round trip, because one direction alone
  /// could take the whole round trip.
  package var bound: Micros? { roundTrip.map { Micros($0.count / 2) } }
}

/// The report on all rooms.
package struct FarReport: Hashable, Sendable {
  package var rooms: [FarRoom] = []
  /// The endpoint of the last sender that has another key or no key; nil if there was no such sender.
  package var refused: Endpoint?
  package var counters = FarCounters()
  /// A short name of our key, to compare with the other room's; nil if the key is public.
  package var key: String?
  /// The reason why there are no sockets for other rooms; nil if there are sockets.
  package var failure: String?

  package init() {}
}
