// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices
public import TactusMIDI
import TactusOSC

/// A command on its way to the program, and the time for which it was meant, in Link's host time.
public struct Order: Sendable {
  public let command: Command
  /// When the command was meant to take effect, which is now or a little in the past: the time of its bundle,
  /// or of the beat for which the command waited.
  public let time: Micros
  let asker: Asker
  /// Whether the command is from this machine or from a controller that the user named. Only then does its
  /// effect last beyond this run.
  public let isPaired: Bool

  /// The address of the sender.
  public var source: Endpoint { asker.peer.endpoint }
}

/// The program's answer to an order. A refusal goes back to the sender, with the old value.
public enum Reply: Sendable {
  case accepted
  case refused(Refusal)

  /// Refuses a command that is not possible now, for example because there is no JACK server or Link is
  /// disabled.
  public static func notNow(_ text: String) -> Reply { .refused(Refusal(.notNow, text)) }
}

/// A message for the user at the terminal.
public enum Notice: Hashable, Sendable {
  case refused(Refusal, address: String, from: Peer)
  case malformed(String, from: Endpoint)
  case subscribed(Peer, groups: String)
  case left(Peer, why: String)
  /// No program listens at the port that a subscriber gave.
  case nobodyListens(Endpoint)
  case noWay(Endpoint)
  case learned(MIDIBinding)
  /// Some events of keys, knobs and pedals were dropped, because they arrived faster than they could be
  /// handled.
  case touchesLost
  /// The sender is outside the networks whose hosts are obeyed. `areNamed`: whether --osc-allow names these
  /// networks; if not, they are the networks of this machine.
  case stranger(Address, areNamed: Bool)
  case anotherTactus(Endpoint)
  /// The user did not name this target, and it has not shown that it receives our packets.
  case unproven(Endpoint)
  /// A song of the set list was started.
  case song(String)
  /// A command of a song was refused.
  case songRefused(String)
  /// A message to another program could not be sent.
  case unsaid(String)
  /// A controller that the user did not name has set this choice, so it is not remembered.
  case notRemembered(String, from: Address)
  /// An address that was missing is open now.
  case opened(String)
  /// An address could not be opened; tactus keeps trying.
  case missing(String)
  case portTaken(UInt16, instead: UInt16)

  /// Limits for messages that any program on the network, or a broken pedal, can cause: `atOnce` of a kind,
  /// then `perMinute`. Without these limits, the user would miss other messages among them.
  enum Pace: Hashable {
    case refused, malformed, guests, strangers, touches, unsaid, songs

    var bucket: (atOnce: Double, perMinute: Double) {
      switch self {
      case .refused, .malformed: (8, 6)
      case .guests, .songs: (40, 6)
      case .unsaid: (4, 4)
      case .strangers, .touches: (1, 1)
      }
    }
  }

  /// The limit for this message; nil: none, because the user caused the message.
  var pace: Pace? {
    switch self {
    case .refused(_, _, .midi), .refused(_, _, .keys), .learned, .opened, .missing, .portTaken:
      nil
    case .song, .songRefused: .songs
    case .refused: .refused
    case .touchesLost: .touches
    case .unsaid: .unsaid
    case .malformed: .malformed
    case .subscribed, .left, .nobodyListens, .noWay, .anotherTactus, .unproven, .notRemembered: .guests
    case .stranger: .strangers
    }
  }

  /// Whether the message is a complaint: an error that the user can repair, or the refusal of a key that
  /// the user has just pressed.
  public var isComplaint: Bool {
    if case .refused(_, _, .keys) = self { return true }
    if case .songRefused = self { return true }
    if case .missing = self { return true }
    return false
  }

  public var text: String {
    switch self {
    case .refused(let refusal, _, .keys): refusal.text
    case .refused(let refusal, let address, .midi):
      "MIDI: \(printable(address, limit: 80)): \(refusal.text)"
    case .refused(let refusal, let address, let source):
      "\(source.words): \(printable(address, limit: 80)): \(refusal.text)"
    case .malformed(let reason, let source): "OSC from \(source): not an OSC packet (\(reason))"
    case .subscribed(let target, let groups):
      target.isBrowser
        ? "\(target.words) is here: \(groups)" : "OSC: sending to \(target.endpoint): \(groups)"
    case .left(let target, let why):
      target.isBrowser
        ? "\(target.words) left: \(why)" : "OSC: no longer sending to \(target.endpoint): \(why)"
    case .nobodyListens(let target):
      "OSC: nobody listens at \(target): set the controller's receive port to \(target.port)"
    case .noWay(let target):
      "OSC: \(target) can't be reached: the controller is off, asleep or in another network"
    case .learned(let binding): "MIDI: learned \(binding)"
    case .song(let words), .songRefused(let words): "Song: \(words)"
    case .unsaid(let why): "OSC out: \(printable(why, limit: 200))"
    case .touchesLost: "MIDI and keys: too many messages at once, some are lost"
    case .stranger(let host, let areNamed):
      "OSC from \(host) is not obeyed: this host is \(areNamed ? "not named" : "on none of this machine's networks")"
        + "; --osc-allow=\(host) allows it"
    case .anotherTactus(let source):
      "OSC: \(source) sends values that only tactus sends, so it is another tactus; its commands are ignored"
    case .unproven(let target):
      "OSC: \(target) has not confirmed that it hears tactus, and gets less; "
        + "--osc-allow=\(target.address) sends it everything"
    case .notRemembered(let path, let host):
      "OSC: \(host) set \(path), but tactus will not remember it; --osc-allow=\(host) lets it"
    case .opened(let words): words
    case .missing(let why): "\(why); trying again"
    case .portTaken(let port, let other): "port \(port) is in use by another program: OSC uses port \(other)"
    }
  }
}

/// Totals since the start, for read-outs and tests.
public struct SurfaceCounters: Hashable, Sendable {
  public var datagrams = 0
  public var messages = 0
  /// Messages from keys, knobs and pedals.
  public var midi = 0
  public var commands = 0
  public var refused = 0
  public var malformed = 0
  /// Datagrams from addresses that are not obeyed.
  public var strangers = 0
  /// Datagrams that were dropped unread, because all senders together cost more time than the limit.
  public var leftOut = 0
  /// Steps of pattern matching.
  public var patternSteps = 0
  public var sent = 0
  /// Messages sent to programs that did not subscribe.
  public var outward = 0
  /// Subscribers that are not among the controllers named by the user.
  public var subscribers = 0
}

/// The surface's settings, which are fixed when it opens.
public struct SurfaceSettings: Sendable {
  /// Addresses to listen at. Port 0 picks a free one.
  public var listen = [
    Endpoint(.loopback, port: Table.port), Endpoint(Address.v6(high: 0, low: 1, scope: 0), port: Table.port),
  ]
  /// Whether the user chose the port: if it is taken, we then wait for it. Otherwise we take the next free
  /// port.
  public var isPortFixed = false
  /// The name in the network's directory; nil: no announcement.
  public var serviceName: String?
  /// Avahi's command that announces us.
  var announcer = "avahi-publish"
  /// Senders that are obeyed in addition to this machine. If the list is empty, all senders that can reach
  /// a listening address are obeyed. At 0.0.0.0 or ::, these are all senders on the networks of this
  /// machine.
  public var allow: [AddressRange] = []
  public var table = Table.standard
  public var version = ""
  /// Whether the addresses of klick, Ardour and jack_transport_link are accepted, too.
  public var aliases = true
  /// The names of interfaces that were missing at the start. The key is the IPv6 scope that stands for the
  /// interface in the addresses of `listen` and `targets`.
  public var awaited: [UInt32: String] = [:]
  /// Controllers that are subscribed from the start.
  public var targets: [Peer] = []
  public var targetGroups: Group = [.state, .beat, .position]
  /// Messages to programs that did not subscribe, and when each is sent.
  public var outward: [OutwardLine] = []
  /// The bindings of keys, knobs and pedals: those that the user wrote, and those that were learned.
  public var bindings: [MIDIBinding] = []
  public var learned: [MIDIBinding] = []
  /// Called on the surface's thread when the learned bindings have changed.
  public var keep: @Sendable ([MIDIBinding]) -> Void = { _ in }
  /// Called on the surface's thread when the next change that waits for a beat has been replaced by
  /// another. If a change has just taken effect, its orders are sent before this call.
  public var expect: @Sendable (QueuedChange?) -> Void = { _ in }

  public init() {}
}
