// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

extension Node {
  /// The arguments as values of this row's parameters. nil: a trigger's release, which means nothing.
  func accept(_ arguments: [Argument]) throws(Refusal) -> [Value]? {
    switch kind {
    case .trigger: try press(arguments)
    case .value, .order, .verb: try values(arguments)
    case .reading: throw .refused("is told, and cannot be set")
    case .feed: throw .refused("is told to subscribers of the group \(group.words)")
    case .answer: throw .refused("is sent by \(Table.root) and means nothing to it")
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
