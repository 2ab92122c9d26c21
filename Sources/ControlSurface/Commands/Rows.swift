// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

// How the rows of the table are written down.
extension Node {
  typealias Read<T> = @Sendable (Reading) -> T

  /// A value of one number, and nothing more to it.
  static func number(
    _ path: String, _ range: ClosedRange<Double>, _ unit: String, _ words: String,
    read: @escaping Read<Double>,
    write: @escaping @Sendable (Double) -> Command
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: [.number(range, unit: unit)], optional: [], group: .state,
      words: words,
      read: { [.float32(Float(finite: read($0)))] },
      write: { values, _ throws(Refusal) in .command(write(values[0].number)) })
  }

  static func whole(
    _ path: String, _ range: ClosedRange<Int>, _ unit: String, _ words: String, read: @escaping Read<Int>,
    write: @escaping @Sendable (Int) -> Command
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: [.whole(range, unit: unit)], optional: [], group: .state,
      words: words,
      read: { [.int32(Int32(clamping: read($0)))] },
      write: { values, _ throws(Refusal) in .command(write(values[0].whole)) })
  }

  static func flag(
    _ path: String, _ words: String, read: @escaping Read<Bool>, write: @escaping @Sendable (Bool) -> Command
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: [.flag], optional: [], group: .state, words: words,
      read: { [.float32(read($0) ? 1 : 0)] },
      write: { values, _ throws(Refusal) in .command(write(values[0].isOn)) })
  }

  /// A choice: told as the word, and one trigger below it for each word, lit while chosen, for buttons.
  static func choice<Choice: Word>(
    _ path: String, _ words: String, read: @escaping Read<Choice>,
    write: @escaping @Sendable (Choice) -> Command
  ) -> [Node] {
    let choices = Choice.all
    let value = Node(
      path: path, kind: .value, parameters: [.word(choices.map(\.word))], optional: [], group: .state,
      words: words,
      read: { [.string(read($0).word)] },
      write: { values, _ throws(Refusal) in .command(write(choices[values[0].whole])) })
    return [value]
      + choices.map { choice in
        trigger("\(path)/\(choice.word)", "Sets \(path) to \(choice.word).", lit: { read($0) == choice }) {
          _, _ in
          .command(write(choice))
        }
      }
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
