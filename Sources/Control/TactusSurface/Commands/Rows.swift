// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Constructors for the rows of the table.
extension Node {
  typealias Read<T> = @Sendable (Reading) -> T
  typealias Write = @Sendable ([Value], Reading) throws(Refusal) -> Intent

  /// The row of a choice, and triggers below it for buttons. A flag has one trigger, which switches it. A
  /// word has a trigger for each value, lit while the value is chosen, and a trigger that steps through the
  /// values.
  private static func valueAndButtons(of choice: Choice) -> [Node] {
    let path = choice.path
    let parameters = choice.parameters
    var value = Node.value(path, parameters, choice.words) {
      $0.holding(choice)
    } write: {
      values, _ throws(Refusal) in
      try choice.check(values)
      return .command(.choose(choice, values))
    }
    value.choice = choice
    // The row `quantum/kind` restores the quantum, since it also says whether the user chose the value.
    if choice != .quantum { value.restore = { choice.write(&$0.choices, $1) } }
    switch parameters[0] {
    case .flag:
      let toggle = trigger("\(path)/toggle", "Switches \(path).", lit: { $0.holding(choice)[0].isOn }) {
        _, it in
        .command(.choose(choice, [.flag(!it.holding(choice)[0].isOn)]))
      }
      return [value, toggle]
    case .word(let words):
      let next = trigger("\(path)/next", "Sets \(path) to its next value; after the last comes the first.") {
        _, it in
        .command(.choose(choice, [.word((it.holding(choice)[0].whole + 1) % words.count)]))
      }
      return [value, next]
        + words.enumerated().map { place, word in
          trigger(
            "\(path)/\(word)", "Sets \(path) to \(word).", lit: { $0.holding(choice) == [.word(place)] }
          ) { _, _ in .command(.choose(choice, [.word(place)])) }
        }
    case .beats(_, let word):
      let back = trigger(
        "\(path)/\(word)", "Sets \(path) to \(word).", lit: { choice.read($0.state.choices) == [.word(0)] }
      ) { _, _ in .command(.choose(choice, [.word(0)])) }
      return [value, back]
    case .number, .fader, .whole, .text, .exact: return [value]
    }
  }

  static func rows(of choices: Choice...) -> [Node] { choices.flatMap { rows(of: $0) } }

  static func rows(of choice: Choice) -> [Node] {
    valueAndButtons(of: choice).map { row in
      var row = row
      row.reach = choice.reach
      row.isButton = row.kind == .trigger
      return row
    }
  }

  /// A second row for a choice, in another unit: for example a volume in decibels.
  static func face(
    of choice: Choice, _ path: String, _ parameter: Parameter, _ words: String,
    shows: @escaping @Sendable (Double) -> Double, means: @escaping @Sendable (Double) -> Double
  ) -> Node {
    value(path, [parameter], words) {
      [.number(shows($0.holding(choice)[0].number))]
    } write: { values, _ in
      .command(.choose(choice, [.number(means(values[0].number))]))
    }
  }

  static func value(
    _ path: String, _ parameters: [Parameter], _ words: String, optional: [Parameter] = [],
    read: @escaping Read<[Value]>, write: @escaping Write
  ) -> Node {
    Node(
      path: path, kind: .value, parameters: parameters, optional: optional, words: words,
      read: { zip(parameters, read($0)).map { $0.argument($1) } }, write: write)
  }

  static func flag(
    _ path: String, _ words: String, read: @escaping Read<Bool>, write: @escaping @Sendable (Bool) -> Command
  ) -> Node {
    value(path, [.flag], words) {
      [.flag(read($0))]
    } write: { values, _ in
      .command(write(values[0].isOn))
    }
  }

  static func reading(_ path: String, _ parameter: Parameter, _ words: String, read: @escaping Read<Value>)
    -> Node
  {
    Node(
      path: path, kind: .reading, parameters: [parameter], words: words,
      read: { [parameter.argument(read($0))] })
  }

  /// A read-out of a text, for a label.
  static func label(_ path: String, _ words: String, limit: Int = 255, read: @escaping Read<String>) -> Node {
    reading(path, .text(limit: limit), words) { .text(read($0)) }
  }

  /// A label that only paired controllers and paired browsers can read.
  static func privateLabel(_ path: String, _ words: String, read: @escaping Read<String>) -> Node {
    label(path, words, read: read).forPaired
  }

  /// This row, readable by paired controllers and paired browsers only. The row's words say so.
  var forPaired: Node {
    var row = self
    row.isForPaired = true
    row.words += " Only paired controllers and browsers can read it."
    return row
  }

  static func measured(_ path: String, _ unit: String, _ words: String, read: @escaping Read<Double>) -> Node
  {
    reading(path, .number(-1e9...1e9, unit: unit), words) { .number(read($0)) }
  }

  static func count(_ path: String, _ unit: String, _ words: String, read: @escaping Read<Int>) -> Node {
    reading(path, .whole(0...Int(Int32.max), unit: unit), words) { .whole(read($0)) }
  }

  /// This row, with the function that restores its value in a view of another tactus.
  func restoring(_ restore: @escaping @Sendable (inout SurfaceState, [Value]) -> Void) -> Node {
    var row = self
    row.restore = restore
    return row
  }

  static func trigger(
    _ path: String, _ words: String, optional: [Parameter] = [], lit: Read<Bool>? = nil,
    fire: @escaping Write
  ) -> Node {
    var trigger = Node(
      path: path, kind: .trigger, parameters: [.flag], optional: optional, words: words, write: fire)
    if let lit { trigger.read = { [.float32(lit($0) ? 1 : 0)] } }
    return trigger
  }

  static func order(
    _ path: String, _ parameters: [Parameter], _ words: String, optional: [Parameter] = [],
    from reach: Reach = .anyone, write: @escaping Write
  ) -> Node {
    var order = Node(
      path: path, kind: .order, parameters: parameters, optional: optional, words: words, write: write)
    order.reach = reach
    return order
  }

  static func feed(_ path: String, _ parameters: [Parameter], _ group: Group, _ words: String) -> Node {
    Node(path: path, kind: .feed, parameters: parameters, group: group, words: words)
  }

  static func verb(_ verb: Verb, _ optional: [Parameter], _ words: String) -> Node {
    Node(
      path: verb.rawValue, kind: .verb, parameters: [], optional: optional, words: words,
      write: { _, _ throws(Refusal) in .verb(verb) })
  }

  static func answer(_ path: String, _ parameters: [Parameter], _ words: String) -> Node {
    Node(path: path, kind: .answer, parameters: parameters, words: words)
  }
}

extension Float {
  /// A finite float for a controller, which is never sent NaN or infinity.
  init(finite value: Double) {
    self = value.isFinite ? Float(min(max(value, -1e30), 1e30)) : 0
  }
}
