// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import MIDIControl
import TactusChoices
import TactusOSC

/// One row of the table: an address below the root, its arguments, and its help for people.
public struct Node: Sendable {
  public enum Kind: String, Sendable {
    /// Set by a message with arguments, asked for without, and sent when it changes.
    case value
    /// Asked for without arguments, sent when it changes, never set.
    case reading
    /// Fires on no argument, T, I or a number from 0.5 on; a release does nothing. Its light has the same
    /// address.
    case trigger
    /// Set only: a place to go to, or an amount to move by.
    case order
    /// Sent to subscribers of its group, at musical moments.
    case feed
    /// A request to the surface itself.
    case verb
    /// Sent by the surface as an answer or by itself.
    case answer
  }

  enum Reach {
    case anyone, thisMachine
  }

  public let path: String
  public let kind: Kind
  /// Types of the value that is sent; for an order or a verb, of the arguments that it needs.
  public let parameters: [Parameter]
  /// Optional arguments after the parameters: "now", "beat" or "bar".
  public internal(set) var optional: [Parameter] = []
  /// Types of the values that follow `parameters` for each thing in a list.
  public internal(set) var each: [Parameter] = []
  public internal(set) var group = Group.state
  public let words: String
  /// Senders whose messages for this row are accepted.
  var reach = Reach.anyone
  /// Readable only by this machine, paired controllers and paired browsers.
  var isForPaired = false
  /// The choice of which this is the address.
  var choice: Choice?
  /// Name of the user's own output that the row belongs to.
  var output: String?
  /// A trigger that is made for a choice, to switch it or to give it a value.
  var isButton = false
  var read: (@Sendable (Reading) -> [Argument])?
  /// Sets the state to values that another tactus told at this address.
  var restore: (@Sendable (inout SurfaceState, [Value]) -> Void)?
  var write: (@Sendable ([Value], Reading) throws(Refusal) -> Intent)?

  public var isReadable: Bool { read != nil }
  public var isWritable: Bool { write != nil }
  /// OSC type tags of the value that is sent, or of the arguments for a row that sends nothing.
  public var typeTags: String { String(parameters.map(\.tag)) }

  /// The type of the argument at this place; nil: there is none.
  public func parameter(at place: Int) -> Parameter? {
    if place < parameters.count { return parameters[place] }
    return each.isEmpty ? nil : each[(place - parameters.count) % each.count]
  }

  /// Whether a message with this many arguments can be a value of the row.
  func fits(_ count: Int) -> Bool {
    let more = count - parameters.count
    return more == 0 || more > 0 && !each.isEmpty && more % each.count == 0
  }
}

/// Groups of values that a subscriber receives.
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

  /// Reads names separated by spaces or commas, or "all"; nil if one is unknown.
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

/// State of the surface itself, which belongs to no setting.
struct SurfaceMemory: Hashable, Sendable {
  var faderRange = 60.0...180.0
  var tempoStep = 1.0
  /// The bend that is held, and the amount that a button bends.
  var bentPercent = 0.0
  var bendStep = 3.0
  /// The session's tempo below the held bend, and the bent one.
  var bent: Bent?
  /// Whether taps are a drummer's, whose beat we follow.
  var followsTaps = false
  /// The tempo asked for last, until the session shows it: the next nudge starts from it.
  var expectedTempo: Double?
  var subscribers = 0
  var reach = OSCReach()
  /// Address to which the next event at the control port will be bound, and the last binding that was
  /// learned.
  var lesson = ""
  var learned = ""
  var learnedCount = 0
  var lastEvent = ""
  var errors = 0
  /// The song of the set list that was taken last, and the one that waits for its beat; empty: none.
  var song = ""
  var songWaiting = ""
  /// Machines that stood still and were started ahead for the song that waits.
  var outputsArmed: [String] = []
  /// Changes of the list of the user's own outputs, including changes of a kind.
  var outputChanges = 0
  /// Number of songs before the last one taken, if that one has been removed.
  var songsBehind = 0
  /// The user's own outputs as they were last asked for, until the program shows them: a second
  /// change in quick succession starts from these.
  var expectedOutputs: [String: NamedOutput] = [:]
}

struct Bent: Hashable, Sendable {
  var below: Double
  var during: Double
}

/// The values that rows read.
struct Reading {
  var state: SurfaceState
  var own: SurfaceMemory
  var version = ""

  var tempo: Double { own.expectedTempo ?? state.tempo.beatsPerMinute }
  /// The tempo that a relative change starts from: during a bend the one below it, to which the tempo
  /// returns.
  var tempoBelowBend: Double {
    guard let bent = own.bent, Tempo(tempo).clamped == Tempo(bent.during).clamped else { return tempo }
    return bent.below
  }
  func holding(_ choice: Choice) -> [Value] { choice.holding(state.choices) }
  /// nil: there is no such output.
  func output(_ name: String) -> NamedOutput? {
    own.expectedOutputs[name] ?? state.outputs.first { $0.name == name }
  }
}

/// The effect of a message on its row.
enum Intent {
  case command(Command)
  /// Passed on to the program at most 20 times a second.
  case tempo(Double, LaunchMoment)
  /// When the tap was made, if the sender knows.
  case tap(Micros?)
  case faderRange(ClosedRange<Double>)
  case tempoStep(Double)
  /// Per cent; 0 ends the bend.
  case bend(Double)
  case bendStep(Double)
  /// Milliseconds.
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
  /// The target's arguments for this row. If the row takes one text, several words become one.
  func said(by target: Target) -> [Argument] {
    guard target.arguments.count > 1, parameters.count == 1, case .text = parameters[0], kind != .trigger,
      kind != .value
    else { return target.arguments.map { .string($0) } }
    return [.string(target.arguments.joined(separator: " "))]
  }

  /// The values that another tactus told at this address; nil: they are none of this row's.
  func heard(_ arguments: [Argument]) -> [Value]? {
    let arguments = arguments.map(\.shortened)
    // A choice takes only what the program takes.
    if choice != nil { return try? accept(arguments) }
    guard fits(arguments.count) else { return nil }
    var values: [Value] = []
    for (place, argument) in arguments.enumerated() {
      guard let value = parameter(at: place)?.heard(argument) else { return nil }
      values.append(value)
    }
    return values
  }

  /// The arguments as values of this row's parameters. nil: the release of a trigger, which has no effect.
  func accept(_ arguments: [Argument]) throws(Refusal) -> [Value]? {
    switch kind {
    case .trigger: try press(arguments)
    case .value: try values(withoutPlus(arguments))
    case .order, .verb: try values(arguments)
    case .reading: throw .refused("can only be read")
    case .feed: throw .refused("is sent to subscribers of the group \(group.words)")
    case .answer: throw .refused("is only sent by \(Table.root), and is no command")
    }
  }

  /// Rows with a row below them that adds to their value.
  static let nudged: Set = ["tempo", "quantum", "click/offset"]

  /// Refuses `+5`, which some users type to add 5: a value is set.
  @discardableResult
  func withoutPlus(_ arguments: [Argument]) throws(Refusal) -> [Argument] {
    for case (let parameter, .string(let text)) in zip(parameters, arguments) where parameter.tag != "s" {
      guard text.hasPrefix("+"), Double(text) != nil else { continue }
      throw .type(
        "\(parameter.allowed), without a +" + (Self.nudged.contains(path) ? "; \(path)/nudge adds" : ""))
    }
    return arguments
  }

  /// No argument, T, I or a number from 0.5 on is a press. A word is the first optional parameter.
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
      // NaN counts as a release, too.
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
