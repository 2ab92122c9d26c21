// SPDX-License-Identifier: GPL-2.0-or-later
public import Addresses
import BeatMath

/// Where browsers may come, and who they are told to be with.
public struct WebSettings: Sendable {
  public static let port: UInt16 = 20_880

  /// Where the page is served; empty: nowhere.
  public var listen: [Endpoint] = []
  /// All addresses of IPv4, too, from the start.
  public var isOpen = false
  /// The port was asked for by name: if it is taken, it is waited for. Else the next free one is taken.
  public var isPortFixed = false
  /// Where OSCQuery answers without the page, beside the surface's first address; 0 picks a free one, nil is without.
  public var query: UInt16?
  /// The networks that OSC is for, if they were named: for OSCQuery's own port they are the same.
  public var allow: [AddressRange] = []
  /// What the page is announced with, if it can be reached from the network.
  public var isAnnounced = false
  public var name = "tactus"
  public var version = ""

  public init() {}
}

/// Every bound of the server, in one place.
enum WebLimits {
  /// Connections, and how many of them from one address: sixteen phones, or sixteen pages of one browser, with what they load.
  static let connections = 128
  static let ofOneHost = 48
  /// What one browser has at once: six for what it loads, its socket, and one that it tries beside it.
  static let ofOneBrowser = 8
  /// Beside them, those that have been told to go.
  static let leaving = 16
  /// One that has asked for nothing yet, or of which something is still to come.
  static let firstWord = 10_000_000
  static let idle = 30_000_000
  /// For so long one that came has yet to ask, and one that was answered is about to ask for more.
  static let grace = Micros(1_000_000)
  /// From the request's last byte to the answer's.
  static let answer = 30_000_000
  /// libmicrohttpd's memory for one: head, body and answer's head.
  static let head = 16_384
  static let body = 256
  /// A message over a socket, whole.
  static let message = 16_384
  /// Bytes that wait for a browser. A whole picture has some 30 kB.
  static let outbox = 262_144
  static let kernelOutbox: Int32 = 65_536
  /// Packets of one connection: a finger that moves two faders sends 120 a second.
  static let packetsPerSecond = 200.0
  static let packetsAtOnce = 200.0
  static let bytesAtOnce = 8192
  static let errorsPerSecond = 5.0
  /// A socket that is silent is asked whether it is there.
  static let ping = 20_000_000
  static let silence = 45_000_000
  /// How often it is looked whether the secret has changed, when nobody pairs.
  static let secretInterval = Micros(1_000_000)
  /// Connections that wait in a door's queue, and those that are taken from it before anything else has its turn.
  static let backlog: Int32 = 1024
  static let acceptBatch = 256
}
