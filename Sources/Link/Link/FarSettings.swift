// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
package import FarLink
package import LinkAddresses
internal import LinkSystem

/// The other rooms, and the secrets and sockets to talk to them.
package struct FarSettings: Sendable {
  /// Rooms that we call.
  package var calls: [FarCall]
  /// The port for calls of other rooms; nil: none may call.
  package var port: UInt16?
  /// The local address for such calls; nil: any.
  package var door: Address?
  package var key: FarKey
  package var cipher: any FarCipher.Type
  /// The key is public: accept only senders in a private network, such as a VPN.
  package var isKeyPublic = false
  /// Correction for all rooms (`FarWire.correction`): by how much they are earlier than measured.
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
  /// Correction for this room alone, in addition to that for all (`FarWire.correction`).
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

  /// `HOST`, `HOST:PORT`, `[IPV6]:PORT` or `IPV6`; nil if it is none of these, or not the address of a single
  /// machine.
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
  /// `unknown`: its name has no address; `ourselves`: its address is this program's.
  package enum State: Hashable, Sendable { case unknown, waiting, ourselves, proven, away }

  /// The name that we call; nil if the room called us.
  package var host: FarHost?
  /// The endpoint that it spoke from last.
  package var peer: Endpoint?
  package var state: State
  /// nil until measured.
  package var roundTrip: Micros?
  package var loss: Double?
  package var correction: Micros
  /// The correction that is in effect now, on its way to `correction`.
  package var corrected: Micros
  package var distance: Beats
  /// Our endpoint as the room sees it.
  package var seen: Endpoint?
  /// It does not answer, but a room at its address has called us.
  package var isCalledBack = false

  /// Largest possible error between the rooms: all of a round trip could be spent one way.
  package var bound: Micros? { roundTrip.map { Micros($0.count / 2) } }
}

/// The report on all rooms.
package struct FarReport: Hashable, Sendable {
  package var rooms: [FarRoom] = []
  /// The last sender with a wrong key, or none.
  package var refused: Endpoint?
  package var counters = FarCounters()
  /// A short name of our key, to compare; nil if the key is public.
  package var key: String?
  /// Why there are no sockets.
  package var failure: String?

  package init() {}
}
