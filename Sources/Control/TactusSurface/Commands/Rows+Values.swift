// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

// Read-outs whose values another tactus can restore: a field of the state, a fixed word, or several values.
extension Node {
  typealias Place<T> = WritableKeyPath<SurfaceState, T> & Sendable

  static func label(_ path: String, _ words: String, _ place: Place<String>) -> Node {
    label(path, words) { $0.state[keyPath: place] }.restoring { $0[keyPath: place] = $1[0].text }
  }

  static func measured(_ path: String, _ unit: String, _ words: String, _ place: Place<Double>) -> Node {
    measured(path, unit, words) { $0.state[keyPath: place] }.restoring { $0[keyPath: place] = $1[0].number }
  }

  static func count(_ path: String, _ unit: String, _ words: String, _ place: Place<Int>) -> Node {
    count(path, unit, words) { $0.state[keyPath: place] }.restoring { $0[keyPath: place] = $1[0].whole }
  }

  static func flag(_ path: String, _ words: String, _ place: Place<Bool>) -> Node {
    reading(path, .flag, words) { .flag($0.state[keyPath: place]) }
      .restoring { $0[keyPath: place] = $1[0].isOn }
  }

  /// A read-out that is one of a fixed set of words.
  static func state<T: StateWord>(_ path: String, _ words: String, _ place: Place<T>) -> Node {
    reading(path, T.parameter, words) { .word(Int($0.state[keyPath: place].rawValue)) }
      .restoring { $0[keyPath: place] = T(told: $1.first) }
  }

  /// A read-out of several values, followed by the values of each element of a list.
  static func readings(
    _ path: String, _ parameters: [Parameter], each: [Parameter] = [], _ words: String,
    read: @escaping Read<[Value]>
  ) -> Node {
    var row = Node(path: path, kind: .reading, parameters: parameters, words: words)
    row.each = each
    row.read = { encode(read($0), as: parameters, each: each) }
    return row
  }

  /// A read-out of a list of texts, preceded by their number.
  static func list(_ path: String, _ words: String, read: @escaping Read<[String]>) -> Node {
    readings(path, [.whole(0...10_000)], each: [.text(limit: 255)], words) { .list(read($0)) }
  }

  /// Turns values into arguments. A message must fit one datagram and has at most 64 arguments: list elements
  /// for which there is no room are left out.
  private static func encode(_ values: [Value], as parameters: [Parameter], each: [Parameter]) -> [Argument] {
    var arguments = zip(parameters, values).map { $0.argument($1) }
    var rest = values.dropFirst(parameters.count)
    var room = 1_200
    while !each.isEmpty, rest.count >= each.count {
      let thing = zip(each, rest).map { $0.argument($1) }
      rest = rest.dropFirst(each.count)
      room -= thing.reduce(0) { $0 + $1.room }
      guard room >= 0, arguments.count + thing.count <= 64 else { break }
      arguments += thing
    }
    return arguments
  }
}

extension Argument {
  /// The bytes that the argument takes in a message, with its type tag.
  fileprivate var room: Int {
    if case .string(let text) = self { text.utf8.count / 4 * 4 + 5 } else { 9 }
  }

  /// The double with the fewest digits that becomes this float32: 0.12, not 0.11999999731779099.
  var shortened: Argument {
    if case .float32(let value) = self { .float64(Double(value.description) ?? Double(value)) } else { self }
  }
}
