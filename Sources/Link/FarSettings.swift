// SPDX-License-Identifier: GPL-2.0-or-later
package import Addresses
package import BeatMath
package import FarLink
internal import Linux

/// Which other rooms there are to be, and what is needed to talk to them.
package struct FarSettings: Sendable {
  /// Rooms that we call.
  package var calls: [FarCall]
  /// Where rooms may call us; nil: nowhere.
  package var port: UInt16?
  /// The address of this machine at which they may; nil: at each.
  package var door: Address?
  package var key: FarKey
  package var cipher: any FarCipher.Type
  /// Everybody knows the key: nobody is heard but who is in a private network, as a VPN's.
  package var isKeyPublic = false
  /// How much earlier than measured the other rooms are (`FarWire.correction`).
  package var correction = Micros.zero
  /// How much later the grids of the other rooms are (`FarWire.distance`).
  package var distance = Beats.zero

  package init(calls: [FarCall], port: UInt16?, key: FarKey, cipher: any FarCipher.Type) {
    self.calls = calls
    self.port = port
    self.key = key
    self.cipher = cipher
  }

  /// Where rooms are called, unless somebody says otherwise: next to Link's own port, and not it.
  package static var usualPort: UInt16 { 20_819 }
}

/// A room that is called, as people write it: `HOST`, or `HOST offset=3`.
package struct FarCall: Hashable, Sendable {
  package var host: FarHost
  /// How much earlier than measured it is, beside what holds for all (`FarWire.correction`).
  package var correction = Micros.zero

  /// nil: it is not written so, or the offset is none of these, in milliseconds.
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

/// A host as people write it: a name or an address, and a port.
package struct FarHost: Hashable, Sendable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  /// `HOST`, `HOST:PORT`, `[IPV6]:PORT`, `IPV6`; nil: it is none of these, or no one machine's.
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

/// Another room, for a person.
package struct FarRoom: Hashable, Sendable {
  /// `unknown`: its name leads nowhere; `ourselves`: it leads to this program.
  package enum State: Hashable, Sendable { case unknown, waiting, ourselves, proven, away }

  /// As it is called; nil: it called us.
  package var host: FarHost?
  /// Where it was heard last.
  package var peer: Endpoint?
  package var state: State
  /// nil: not measured yet.
  package var roundTrip: Micros?
  package var loss: Double?
  package var correction: Micros
  /// What holds of it by now.
  package var corrected: Micros
  package var distance: Beats
  /// Where it sees us, as it said itself.
  package var seen: Endpoint?
  /// It does not answer, and somebody at its address has called us.
  package var isCalledBack = false

  /// The rooms may disagree by so much, if a datagram's whole time was spent on one of the two ways.
  package var bound: Micros? { roundTrip.map { Micros($0.count / 2) } }
}

/// Of all rooms together.
package struct FarReport: Hashable, Sendable {
  package var rooms: [FarRoom] = []
  /// Who spoke last that has another key, or none.
  package var refused: Endpoint?
  package var counters = FarCounters()
  /// Which key we have, to be compared; nil: one that everybody knows.
  package var key: String?
  /// Why there are no sockets.
  package var failure: String?

  package init() {}
}
