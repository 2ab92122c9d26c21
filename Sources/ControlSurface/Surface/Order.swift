// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices
public import MIDIControl
import OSC

/// A command on its way to the program, and when it was meant to happen, in Link's host time.
public struct Order: Sendable {
  public let command: Command
  /// Now, or the time of the bundle, or of the beat, that it waited for; then it is a little in the past.
  public let time: Micros
  let asker: Asker
  /// From this machine, or a controller that its user named: may outlive the program.
  public let isPaired: Bool

  /// Where the wish came from.
  public var source: Endpoint { asker.peer.endpoint }
}

/// What the program makes of an order. A refusal goes back to the sender, with the old value.
public enum Verdict: Sendable {
  case accepted
  case refused(Refusal)

  /// Not at this moment: no JACK server, Link disabled.
  public static func notNow(_ text: String) -> Verdict { .refused(Refusal(.notNow, text)) }
}

/// News for the person at the terminal.
public enum Notice: Hashable, Sendable {
  case refused(Refusal, address: String, from: Peer)
  case malformed(String, from: Endpoint)
  case subscribed(Peer, groups: String)
  case left(Peer, why: String)
  /// The newcomer's wrong port.
  case nobodyListens(Endpoint)
  case noWay(Endpoint)
  case learned(MIDIBinding)
  /// Keys, knobs and pedals that came faster than they could be looked at.
  case touchesLost
  /// From outside the networks that are obeyed: those that --osc-allow names, or the own ones.
  case stranger(Address, areNamed: Bool)
  case anotherTactus(Endpoint)
  /// Nobody named it, and it has not shown that it hears us.
  case unproven(Endpoint)
  /// A song of the set list was taken.
  case song(String)
  /// One of its commands was not obeyed.
  case songRefused(String)
  /// What was to go to another program and did not.
  case unsaid(String)
  /// What a controller that nobody named has set.
  case notRemembered(String, from: Address)
  /// A part of the surface that was missing is there.
  case opened(String)
  /// One is missing; it is looked for again and again.
  case missing(String)
  case portTaken(UInt16, instead: UInt16)

  /// What anybody on the network or a mad pedal can make us say is said seldom, for there is other news to read: so many of a
  /// kind at once, then so many a minute.
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

  /// nil: the user's own doing.
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

  /// Something that somebody might mend, or has just asked for.
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
    case .touchesLost: "MIDI and keys: too many at once, some are lost"
    case .stranger(let host, let areNamed):
      "OSC from \(host) is not obeyed: it is \(areNamed ? "not named" : "on none of this machine's networks")"
        + "; --osc-allow=\(host) allows it"
    case .anotherTactus(let source):
      "OSC: \(source) sends what it only shows, as another tactus does: it is not obeyed"
    case .unproven(let target):
      "OSC: \(target) has not shown that it hears tactus, and gets less; --osc-allow=\(target.address) sends it everything"
    case .notRemembered(let path, let host):
      "OSC: tactus does not remember \(path), which \(host) set; with --osc-allow=\(host) it does"
    case .opened(let words): words
    case .missing(let why): "\(why); trying again"
    case .portTaken(let port, let other): "port \(port) is in use by another program: OSC takes \(other)"
    }
  }
}

/// What happened since the start; for read-outs and tests.
public struct SurfaceCounters: Hashable, Sendable {
  public var datagrams = 0
  public var messages = 0
  /// Keys, knobs and pedals.
  public var midi = 0
  public var commands = 0
  public var refused = 0
  public var malformed = 0
  /// From addresses that are not allowed.
  public var strangers = 0
  /// Not looked at, because all together ask for more than we give.
  public var leftOut = 0
  /// Places of patterns that were looked at.
  public var patternSteps = 0
  public var sent = 0
  /// Messages to programs that did not ask.
  public var outward = 0
  /// Controllers that asked to be told, and are.
  public var subscribers = 0
}

/// Choices made before the surface opens.
public struct SurfaceSettings: Sendable {
  /// Where to listen. Port 0 picks a free one.
  public var listen = [
    Endpoint(.loopback, port: Table.port), Endpoint(Address.v6(high: 0, low: 1, scope: 0), port: Table.port),
  ]
  /// The port was asked for by name: if it is taken, it is waited for. Else the next free one is taken.
  public var isPortFixed = false
  /// How we are announced on the network; nil: not.
  public var serviceName: String?
  /// Avahi's command that does it.
  var announcer = "avahi-publish"
  /// Who may speak, besides this machine. Empty: everyone who can reach a listening address, and at 0.0.0.0 or :: the
  /// attached networks.
  public var allow: [AddressRange] = []
  public var table = Table.standard
  public var version = ""
  /// The addresses of klick, Ardour and jack_transport_link work too.
  public var aliases = true
  /// Numbers that stand for interfaces that were not there at the start, as scopes in `listen` and `targets`, and their names.
  public var awaited: [UInt32: String] = [:]
  /// Controllers that are told without asking.
  public var targets: [Peer] = []
  public var targetGroups: Group = [.state, .beat, .position]
  /// What is said to programs that did not ask, and when.
  public var outward: [OutwardLine] = []
  /// What keys, knobs and pedals move, as the user wrote it down, and as it was learned.
  public var bindings: [MIDIBinding] = []
  public var learned: [MIDIBinding] = []
  /// Called when what was learned has changed, on the surface's thread.
  public var keep: @Sendable ([MIDIBinding]) -> Void = { _ in }
  /// Called when another change is the next that waits for a beat, on the surface's thread; behind the orders of one that has come.
  public var expect: @Sendable (QueuedChange?) -> Void = { _ in }

  public init() {}
}
