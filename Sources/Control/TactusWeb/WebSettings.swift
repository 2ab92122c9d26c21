// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import LinkAddresses

/// Addresses, access and announced name of the server.
public struct WebSettings: Sendable {
  public static let port: UInt16 = 20_880

  /// Endpoints of the page; empty: no page.
  public var listen: [Endpoint] = []
  /// Listen on all IPv4 addresses from the start.
  public var isOpen = false
  /// The user named the port, so we wait if it is taken. Otherwise we take the next free one.
  public var isPortFixed = false
  /// Port of OSCQuery without the page, beside the surface's first address; 0 picks a free one, nil: none.
  public var query: UInt16?
  /// Networks that may use OSC, if the user named any; OSCQuery's own port obeys them, too.
  public var allow: [AddressRange] = []
  /// Announce the page by mDNS under this name if the network can reach it.
  public var isAnnounced = false
  public var name = "tactus"
  public var version = ""

  public init() {}
}

/// All limits of the server.
enum WebLimits {
  /// Connections in total and from one address: sixteen phones, or sixteen pages of one browser, while they
  /// load.
  static let connections = 128
  static let ofOneHost = 48
  /// Connections of one browser: six for loading, its socket, and one more that it tries.
  static let ofOneBrowser = 8
  /// Further connections that were shut down and are not closed yet.
  static let leaving = 16
  /// Microseconds for the first request, and between or during later ones.
  static let firstWord = 10_000_000
  static let idle = 30_000_000
  /// Time during which a new connection or one just answered keeps the highest priority.
  static let grace = Micros(1_000_000)
  /// Microseconds from the request's last byte to the end of the answer.
  static let answer = 30_000_000
  /// libmicrohttpd's memory for a connection: the request's head, its body, and the answer's head.
  static let head = 16_384
  static let body = 256
  /// Bytes of a complete WebSocket message.
  static let message = 16_384
  /// Bytes that may wait for a browser. The page's whole state takes some 30 kB.
  static let outbox = 262_144
  static let kernelOutbox: Int32 = 65_536
  /// Packets from one connection: a finger that moves two faders sends 120 a second.
  static let packetsPerSecond = 200.0
  static let packetsAtOnce = 200.0
  static let bytesAtOnce = 8192
  static let errorsPerSecond = 5.0
  /// Microseconds of silence after which a socket is pinged, and after which it is closed.
  static let ping = 20_000_000
  static let silence = 45_000_000
  /// Interval between looks for a changed secret, apart from pairing.
  static let secretInterval = Micros(1_000_000)
  /// Connections that may wait in a listener's queue, and connections accepted in one turn.
  static let backlog: Int32 = 1024
  static let acceptBatch = 256
}
