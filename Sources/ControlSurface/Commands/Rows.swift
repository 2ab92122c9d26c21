// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

// How the rows of the table are written down.
extension Node {
  typealias Read<T> = @Sendable (Reading) -> T

  /// The address of a choice. For buttons, a flag has a trigger below it that switches it, and a word one for each, lit while it
  /// is chosen, and one that goes through them.
  static func rows(of choice: Choice) -> [Node] {
    let path = choice.path
    let parameters = choice.domain.parameters
    var value = Node(
      path: path, kind: .value, parameters: parameters, optional: [], group: .state, words: choice.words,
      read: { zip(parameters, choice.holding($0.state.choices)).map { $0.argument($1) } },
      write: { values, _ throws(Refusal) in
        try choice.domain.check(values)
        return .command(.choose(choice, values))
      })
    value.choice = choice
    switch choice.domain {
    case .flag:
      @Sendable func isOn(_ it: Reading) -> Bool { choice.holding(it.state.choices)[0].isOn }
      let toggle = trigger("\(path)/toggle", "Switches \(path).", lit: isOn) { _, it in
        .command(.choose(choice, [.flag(!isOn(it))]))
      }
      return [value, toggle]
    case .word(let words):
      let next = trigger("\(path)/next", "The next \(path), after the last the first.") { _, it in
        .command(.choose(choice, [.word((choice.holding(it.state.choices)[0].whole + 1) % words.count)]))
      }
      return [value, next]
        + words.enumerated().map { place, word in
          trigger(
            "\(path)/\(word)", "Sets \(path) to \(word).",
            lit: { choice.holding($0.state.choices) == [.word(place)] }
          ) { _, _ in .command(.choose(choice, [.word(place)])) }
        }
    case .number, .whole, .meter, .pattern: return [value]
    }
  }

  static func rows(of choices: Choice...) -> [Node] { choices.flatMap { rows(of: $0) } }

  /// The same choice as another kind of fader has it.
  static func face(
    of choice: Choice, _ path: String, _ range: ClosedRange<Double>, _ unit: String, _ words: String,
    shows: @escaping @Sendable (Double) -> Double, means: @escaping @Sendable (Double) -> Double
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: [.number(range, unit: unit)], optional: [], group: .state,
      words: words,
      read: { [.float32(Float(finite: shows(choice.holding($0.state.choices)[0].number)))] },
      write: { values, _ throws(Refusal) in
        .command(.choose(choice, [.number(means(values[0].number))]))
      })
  }

  static func flag(
    _ path: String, _ words: String, read: @escaping Read<Bool>, write: @escaping @Sendable (Bool) -> Command
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: [.flag], optional: [], group: .state, words: words,
      read: { [.float32(read($0) ? 1 : 0)] },
      write: { values, _ throws(Refusal) in .command(write(values[0].isOn)) })
  }

  static func reading(_ path: String, _ parameter: Parameter, _ words: String, read: @escaping Read<Argument>)
    -> Node
  {
    Node(
      path: path, kind: .reading, parameters: [parameter], optional: [], group: .state, words: words,
      read: { [read($0)] }, write: nil)
  }

  /// The same for a label.
  static func label(_ path: String, _ words: String, read: @escaping Read<String>) -> Node {
    reading(path, .text(limit: 255), words) { .string(read($0)) }
  }

  static func measured(_ path: String, _ unit: String, _ words: String, read: @escaping Read<Double>) -> Node
  {
    reading(path, .number(-1e9...1e9, unit: unit), words) { .float32(Float(finite: read($0))) }
  }

  static func count(_ path: String, _ unit: String, _ words: String, read: @escaping Read<Int>) -> Node {
    reading(path, .whole(0...Int(Int32.max), unit: unit), words) { .int32(Int32(clamping: read($0))) }
  }

  static func trigger(
    _ path: String, _ words: String, optional: [Parameter] = [], lit: Read<Bool>? = nil,
    fire: @escaping @Sendable ([Value], Reading) throws(Refusal) -> Intent
  ) -> Node {
    var light: Read<[Argument]>?
    if let lit { light = { [.float32(lit($0) ? 1 : 0)] } }
    return Node(
      path: path, kind: .trigger, parameters: [.flag], optional: optional, group: .state, words: words,
      read: light,
      write: fire)
  }

  static func order(
    _ path: String, _ parameters: [Parameter], _ words: String, optional: [Parameter] = [],
    write: @escaping @Sendable ([Value], Reading) throws(Refusal) -> Intent
  ) -> Node {
    Node(
      path: path, kind: .order, parameters: parameters, optional: optional, group: .state, words: words,
      read: nil,
      write: write)
  }

  static func feed(_ path: String, _ parameters: [Parameter], _ group: Group, _ words: String) -> Node {
    Node(
      path: path, kind: .feed, parameters: parameters, optional: [], group: group, words: words, read: nil,
      write: nil)
  }

  static func verb(_ verb: Verb, _ optional: [Parameter], _ words: String) -> Node {
    Node(
      path: verb.rawValue, kind: .verb, parameters: [], optional: optional, group: .state, words: words,
      read: nil,
      write: { _, _ throws(Refusal) in .verb(verb) })
  }

  static func answer(_ path: String, _ parameters: [Parameter], _ words: String) -> Node {
    Node(
      path: path, kind: .answer, parameters: parameters, optional: [], group: .state, words: words, read: nil,
      write: nil)
  }
}

extension Float {
  /// What a controller is told is never NaN or infinite.
  init(finite value: Double) {
    self = value.isFinite ? Float(min(max(value, -1e30), 1e30)) : 0
  }
}
