// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import MIDIControl
import OSC

/// One row of the table: an address below the root, what it takes and tells, and its words for people.
public struct Node: Sendable {
  public enum Kind: String, Sendable {
    /// Set it, be told when it changes, send it without arguments to ask.
    case value
    /// Told when it changes, asked without arguments, never set.
    case reading
    /// Fires on no argument, T, I or a number from 0.5 on; a release does nothing. Lit by its own address.
    case trigger
    /// Set only: a place to go to, an amount to move by.
    case order
    /// Told to those who subscribed its group, at musical moments.
    case feed
    /// Speaks with the surface itself.
    case verb
    /// Sent by the surface in answer or on its own account.
    case answer
  }

  enum Reach {
    case anyone, thisMachine
  }

  public let path: String
  public let kind: Kind
  /// What it is told as; for an order or a verb, what it takes.
  public let parameters: [Parameter]
  /// Taken after the parameters, if the sender likes: "now", "beat" or "bar".
  public internal(set) var optional: [Parameter] = []
  public internal(set) var group = Group.state
  public let words: String
  /// Of whom it is taken.
  var reach = Reach.anyone
  /// Told to this machine, to paired controllers and to paired browsers alone.
  var isForPaired = false
  /// The choice that it is the address of.
  var choice: Choice?
  /// The user's own output that it belongs to.
  var output: String?
  var read: (@Sendable (Reading) -> [Argument])?
  var write: (@Sendable ([Value], Reading) throws(Refusal) -> Intent)?

  public var isReadable: Bool { read != nil }
  public var isWritable: Bool { write != nil }
  /// OSC type tags as told, or as documented for what is only taken.
  public var typeTags: String { String(parameters.map(\.tag)) }
}

/// What a subscriber asks to be told.
public struct Group: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  public static let state = Group(rawValue: 1)
  public static let beat = Group(rawValue: 2)
  public static let phase = Group(rawValue: 4)
  public static let position = Group(rawValue: 8)
  public static let heartbeat = Group(rawValue: 16)
  public static let exact = Group(rawValue: 32)
  public static let names: [(name: String, group: Group)] = [
    ("state", .state), ("beat", .beat), ("phase", .phase), ("position", .position), ("heartbeat", .heartbeat),
    ("exact", .exact),
  ]

  /// Names separated by spaces or commas, or "all". nil when one is unknown.
  init?(words: some StringProtocol) {
    var groups: Group = []
    for word in words.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "+" }) {
      if word == "all" {
        groups = Group(rawValue: 63)
      } else if let known = Self.names.first(where: { $0.name == word }) {
        groups.insert(known.group)
      } else {
        return nil
      }
    }
    self = groups
  }

  package var words: String { Self.names.filter { contains($0.group) }.map(\.name).joined(separator: " ") }
}

/// What the surface itself remembers; part of no one's settings.
struct SurfaceMemory: Hashable, Sendable {
  var faderRange = 60.0...180.0
  var tempoStep = 1.0
  /// What a hand holds, and how much a button bends.
  var bentPercent = 0.0
  var bendStep = 3.0
  /// The session's tempo below the bend that a hand holds, and as the bend made it.
  var bent: Bent?
  /// Taps are a drummer's.
  var followsTaps = false
  /// The tempo asked for last, until the session shows it: the ground on which the next nudge stands.
  var expectedTempo: Double?
  var subscribers = 0
  var reach = ""
  /// What the next event at the control port is bound to, and what was bound last.
  var lesson = ""
  var learned = ""
  var learnedCount = 0
  var lastEvent = ""
  var errors = 0
  /// The song of the set list that was taken last, and the one that waits for its beat; empty: none.
  var song = ""
  var songWaiting = ""
  /// Machines that rested and were told to start with the song that waits.
  var outputsArmed: [String] = []
  /// How often the user's own outputs came, went or became something else.
  var outputChanges = 0
  /// Songs before the place of the one that was taken last, where that is gone.
  var songsBehind = 0
  /// The user's own outputs as they were asked for last, until the program shows them: of two settings at once each is the ground
  /// on which the next stands.
  var expectedOutputs: [String: OutputSettings] = [:]
}

struct Bent: Hashable, Sendable {
  var below: Double
  var during: Double
}

/// What a row reads from.
struct Reading {
  var state: SurfaceState
  var own: SurfaceMemory
  var version = ""

  var tempo: Double { own.expectedTempo ?? state.tempo.beatsPerMinute }
  /// The tempo that a relative change builds on: the one below a bend, since the bend ends when its hand lets go.
  var tempoBelowBend: Double {
    guard let bent = own.bent, Tempo(tempo).clamped == Tempo(bent.during).clamped else { return tempo }
    return bent.below
  }
  func holding(_ choice: Choice) -> [Value] { choice.holding(state.choices) }
  /// nil: there is no such output.
  func settings(ofOutput name: String) -> OutputSettings? {
    own.expectedOutputs[name] ?? state.outputs.first { $0.name == name }?.settings
  }
}

/// What a row makes of its arguments.
enum Intent {
  case command(Command)
  /// To be given to the program at most 20 times a second.
  case tempo(Double, LaunchMoment)
  /// When it was made, if the sender knows.
  case tap(Micros?)
  case faderRange(ClosedRange<Double>)
  case tempoStep(Double)
  /// In per cent; 0 lets go.
  case bend(Double)
  case bendStep(Double)
  /// In milliseconds.
  case jog(Double)
  case bendHome
  case followTaps(Bool)
  case learn(String)
  case forget(String)
  case outward(OutwardMessage)
  /// A song of the set list, by its title.
  case song(String, LaunchMoment)
  case verb(Verb)
}

enum Verb: String, Sendable, CaseIterable {
  case ping, query, subscribe, unsubscribe
  case midiList = "midi/list"
  case audioList = "audio/list"
  case proof
}

extension Node {
  /// What a target says to this row: several words are one text, where it takes one.
  func said(by target: Target) -> [Argument] {
    guard target.arguments.count > 1, parameters.count == 1, case .text = parameters[0], kind != .trigger,
      kind != .value
    else { return target.arguments.map { .string($0) } }
    return [.string(target.arguments.joined(separator: " "))]
  }

  /// The arguments as values of this row's parameters. nil: a trigger's release, which means nothing.
  func accept(_ arguments: [Argument]) throws(Refusal) -> [Value]? {
    switch kind {
    case .trigger: try press(arguments)
    case .value, .order, .verb: try values(arguments)
    case .reading: throw .refused("can only be read")
    case .feed: throw .refused("is sent to subscribers of the group \(group.words)")
    case .answer: throw .refused("is what \(Table.root) sends, and no command to it")
    }
  }

  /// No argument, T, I or a number from 0.5 on presses. A word is the first optional parameter.
  private func press(_ arguments: [Argument]) throws(Refusal) -> [Value]? {
    guard let first = arguments.first else { return [] }
    if case .string = first, first.number == nil {
      guard !optional.isEmpty else { throw .type("no argument, 1 or true, not \(first.words)") }
      return try values(of: optional, arguments)
    }
    switch first {
    case .impulse: break
    case .null: return nil
    case .other: throw .type("no argument, 1 or true, not \(first.words)")
    case .int32, .int64, .float32, .float64, .string, .truth:
      // NaN counts as a release too.
      guard let number = first.number, number >= 0.5 else { return nil }
    }
    return try values(of: optional, Array(arguments.dropFirst()))
  }

  private func values(_ arguments: [Argument]) throws(Refusal) -> [Value] {
    guard arguments.count >= parameters.count else {
      throw .type("\(parameters.count) arguments: \(parameters.map(\.allowed).joined(separator: "; "))")
    }
    return try values(of: parameters + optional, arguments)
  }

  private func values(of parameters: [Parameter], _ arguments: [Argument]) throws(Refusal) -> [Value] {
    guard arguments.count <= parameters.count else {
      throw .type(
        "at most \(parameters.count) argument\(parameters.count == 1 ? "" : "s"), not \(arguments.count)")
    }
    var values: [Value] = []
    for (parameter, argument) in zip(parameters, arguments) { values.append(try parameter.accept(argument)) }
    return values
  }
}
