// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC

/// A row of the table: an address below the root, its arguments, and its help for people.
public struct Node: Sendable {
  public enum Kind: String, Sendable {
    /// A message with arguments sets the row, and a message without arguments reads the row.
    case value
    /// A message without arguments reads the row. A changed value is sent. No message sets the row.
    case reading
    /// Fires on no argument, T, I or a number from 0.5 on; a release does nothing. The trigger's light has
    /// the same address.
    case trigger
    /// A row that is only set and never read: a position to go to, or an amount to move by.
    case order
    /// A message that is sent at musical moments to the subscribers of its group.
    case feed
    /// A request to the surface itself, such as subscribe.
    case verb
    /// A message that the surface sends by itself or in answer to another message.
    case answer
  }

  enum Reach {
    case anyone, thisMachine
  }

  public let path: String
  public let kind: Kind
  /// The types of the values that tactus sends; for an order or a verb, of its arguments.
  public let parameters: [Parameter]
  /// Optional arguments after the parameters: "now", "beat" or "bar".
  public internal(set) var optional: [Parameter] = []
  /// The types of the values that follow `parameters` for each element of a list.
  public internal(set) var each: [Parameter] = []
  public internal(set) var group = Group.state
  public internal(set) var words: String
  /// The senders whose messages for this row are accepted.
  var reach = Reach.anyone
  /// Whether only this machine, paired controllers and paired browsers can read the row.
  var isForPaired = false
  /// The choice that the row shows and sets; nil: the row belongs to no choice.
  var choice: Choice?
  /// The name of the user's own output to which the row belongs.
  var output: String?
  /// Whether the row is a trigger that switches a choice or gives it a value.
  var isButton = false
  var read: (@Sendable (Reading) -> [Argument])?
  /// Sets the state to the values that another tactus sent for this address.
  var restore: (@Sendable (inout SurfaceState, [Value]) -> Void)?
  var write: (@Sendable ([Value], Reading) throws(Refusal) -> Intent)?

  public var isReadable: Bool { read != nil }
  public var isWritable: Bool { write != nil }
  /// The OSC type tags of the values that tactus sends; if it sends none, of the row's arguments.
  public var typeTags: String { String(parameters.map(\.tag)) }

  /// The type of the argument at this place; nil: there is no such argument.
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

/// The groups of values to which a controller can subscribe.
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

  /// Reads group names separated by spaces or commas, or "all"; nil: a name is unknown.
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

/// The state of the surface itself that belongs to no setting: more than 20 values that share no owner.
struct SurfaceMemory: Hashable, Sendable {
  var faderRange = 60.0...180.0
  var tempoStep = 1.0
  /// The bend that is held now, and the bend of one press of a button, both in per cent.
  var bentPercent = 0.0
  var bendStep = 3.0
  /// The tempo before the held bend, and the bent tempo that the session has now.
  var bent: Bent?
  /// Whether the taps are a drummer's, whose beat tactus follows.
  var followsTaps = false
  /// The tempo that was requested last, until the session shows it. A nudge before that starts from here.
  var expectedTempo: Double?
  var subscribers = 0
  var reach = OSCReach()
  /// The address to which the next event at the control port will be bound, and the last learned binding.
  var lesson = ""
  var learned = ""
  var learnedCount = 0
  var lastEvent = ""
  var errors = 0
  /// The title of the current song of the set list, and of the song that waits for its beat or bar; empty:
  /// none.
  var song = ""
  var songWaiting = ""
  /// The tempo that waits for its beat, in BPM; 0: none.
  var tempoWaiting = 0.0
  /// Stopped clocks that the surface has started in advance for the waiting song.
  var outputsArmed: [String] = []
  /// A counter: how often the list of the user's own outputs has changed, including changes of an output's
  /// kind.
  var outputChanges = 0
  /// The number of songs before the current song, if the current song was removed from the set list.
  var songsBehind = 0
  /// The user's own outputs as requested last, until the program shows them. If a second change comes
  /// before that, it starts from these outputs.
  var expectedOutputs: [String: NamedOutput] = [:]
}

struct Bent: Hashable, Sendable {
  var below: Double
  var during: Double
}

/// The values that a row's `read` uses.
struct Reading {
  var state: SurfaceState
  var own: SurfaceMemory
  var version = ""

  var tempo: Double { own.expectedTempo ?? state.tempo.beatsPerMinute }
  /// The tempo from which a relative change starts. During a bend it is the tempo before the bend, to which
  /// the session returns.
  var tempoBelowBend: Double {
    guard let bent = own.bent, Tempo(tempo).clamped == Tempo(bent.during).clamped else { return tempo }
    return bent.below
  }
  func holding(_ choice: Choice) -> [Value] { choice.holding(state.choices) }
  /// The output with this name, as requested last; nil: there is none.
  func output(_ name: String) -> NamedOutput? {
    own.expectedOutputs[name] ?? state.lists.outputs.first { $0.name == name }
  }
}

/// The request that a message to a row makes.
enum Intent {
  case command(Command)
  /// A tempo. The program gets at most 20 a second.
  case tempo(Double, LaunchMoment)
  /// A tap, with the time at which it was made if the sender knows that time.
  case tap(Micros?)
  case faderRange(ClosedRange<Double>)
  case tempoStep(Double)
  /// A bend in per cent; 0 ends the bend.
  case bend(Double)
  case bendStep(Double)
  /// A turn of the jog wheel, in milliseconds.
  case jog(Double)
  case bendHome
  case followTaps(Bool)
  case learn(String)
  case forget(String)
  case outward(OutwardMessage)
  /// A song of the set list, by its title, and when to take it.
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
  /// The target's arguments for this row. For a row with a single text, all words are joined to one text.
  func said(by target: Target) -> [Argument] {
    guard target.arguments.count > 1, parameters.count == 1, case .text = parameters[0], kind != .trigger,
      kind != .value
    else { return target.arguments.map { .string($0) } }
    return [.string(target.arguments.joined(separator: " "))]
  }

  /// The values that another tactus sent for this address; nil: they do not fit this row.
  func heard(_ arguments: [Argument]) -> [Value]? {
    let arguments = arguments.map(\.shortened)
    // For a choice, accept exactly what the program would accept.
    if choice != nil { return try? accept(arguments) }
    guard fits(arguments.count) else { return nil }
    var values: [Value] = []
    for (place, argument) in arguments.enumerated() {
      guard let value = parameter(at: place)?.heard(argument) else { return nil }
      values.append(value)
    }
    return values
  }

  /// The arguments as values of this row. nil: a trigger was released, which has no effect.
  func accept(_ arguments: [Argument]) throws(Refusal) -> [Value]? {
    switch kind {
    case .trigger: try press(arguments)
    case .value: try values(withoutPlus(divided(arguments)))
    case .order, .verb: try values(arguments)
    case .reading: throw .refused("can only be read")
    case .feed: throw .refused("is sent to subscribers of the group \(group.words)")
    case .answer: throw .refused("is only sent by \(Table.root), and is no command")
    }
  }

  /// Splits a text such as 7/8, for the meter, into two whole numbers.
  private func divided(_ arguments: [Argument]) -> [Argument] {
    guard parameters.count == 2, case (.whole, .whole) = (parameters[0], parameters[1]),
      case .string(let text)? = arguments.first, text.contains("/")
    else { return arguments }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    return parts.map { .string(String($0)) } + arguments.dropFirst()
  }

  /// Rows with a `nudge` row below them, which adds to their value.
  static let nudged: Set = ["tempo", "quantum", "click/offset"]

  /// Refuses `+5`, which some users type to add 5: a plain row sets a value.
  @discardableResult
  func withoutPlus(_ arguments: [Argument]) throws(Refusal) -> [Argument] {
    for case (let parameter, .string(let text)) in zip(parameters, arguments) where parameter.tag != "s" {
      guard text.hasPrefix("+"), Double(text) != nil else { continue }
      throw .type(
        "\(parameter.allowed), without a +" + (Self.nudged.contains(path) ? "; \(path)/nudge adds" : ""))
    }
    return arguments
  }

  /// Reads a press: no argument, T, I or a number from 0.5 on. A word is the value of the first optional
  /// parameter.
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
      // A number below 0.5 is a release, and so is NaN.
      guard let number = first.number, number >= 0.5 else { return nil }
    }
    return try values(of: optional, Array(arguments.dropFirst()))
  }

  private func values(_ arguments: [Argument]) throws(Refusal) -> [Value] {
    guard arguments.count >= parameters.count else {
      let count = parameters.count == 1 ? "1 argument" : "\(parameters.count) arguments"
      throw .type("\(count): \(parameters.map(\.allowed).joined(separator: "; "))")
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
