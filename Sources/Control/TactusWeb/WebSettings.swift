// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
import LinkBeatMath

/// The server's addresses, the access to it, and its name for mDNS.
public struct WebSettings: Sendable {
  public static let port: UInt16 = 20_880

  /// The page's addresses; empty: no page.
  public var listen: [Endpoint] = []
  /// Whether to listen on all IPv4 addresses from the start.
  public var isOpen = false
  /// Whether the user chose the port: if it is taken, we then wait for it. Otherwise we take the next free
  /// port.
  public var isPortFixed = false
  /// The port of OSCQuery without the page, at the surface's first address; 0: any free port; nil: no
  /// OSCQuery.
  public var query: UInt16?
  /// The networks that may use OSC, if the user named any. They may also use OSCQuery's own port.
  public var allow: [AddressRange] = []
  /// Whether to announce the page by mDNS under `name`, if the network can reach it.
  public var isAnnounced = false
  public var name = "tactus"
  public var version = ""

  public init() {}
}

/// All limits of the server.
enum WebLimits {
  /// The largest numbers of connections, in all and from one address. That is enough for sixteen phones, or
  /// for sixteen pages of one browser, while they load.
  static let connections = 128
  static let ofOneHost = 48
  /// The number of connections of one browser: six for loading, one for its WebSocket, and one for a further
  /// attempt.
  static let ofOneBrowser = 8
  /// How many connections may exist in addition that were shut down but are not closed yet.
  static let leaving = 16
  /// In microseconds: the time for the first request, and the time between later requests or during one.
  static let firstWord = 10_000_000
  static let idle = 30_000_000
  /// How long a connection keeps the highest priority after it was opened or answered.
  static let grace = Micros(1_000_000)
  /// In microseconds: the time from a request's last byte to the end of the answer.
  static let answer = 30_000_000
  /// In bytes: libmicrohttpd's memory for a connection (the heads of request and answer), and the request's
  /// body.
  static let head = 16_384
  static let body = 256
  /// In bytes: the length of a complete WebSocket message.
  static let message = 16_384
  /// How many bytes may wait for a browser, here and in the kernel. The page's whole state takes some 30 kB.
  static let outbox = 262_144
  static let kernelOutbox: Int32 = 65_536
  /// Limits for the packets of one connection. Fingers that move two faders send 120 packets a second.
  static let packetsPerSecond = 200.0
  static let packetsAtOnce = 200.0
  static let bytesAtOnce = 8192
  static let errorsPerSecond = 5.0
  /// In microseconds: the silence after which a WebSocket gets a ping, and the silence after which it is
  /// closed.
  static let ping = 20_000_000
  static let silence = 45_000_000
  /// How often the web thread checks whether the secret has changed. It also checks when a browser pairs.
  static let secretInterval = Micros(1_000_000)
  /// How many connections may wait in the queue of a listening socket, and how many are accepted in one turn.
  static let backlog: Int32 = 1024
  static let acceptBatch = 256
}
