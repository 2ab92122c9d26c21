// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

// Commands as somebody types them: `tempo 131.5`, `start bar`, `/tactus/click/gain 0.5`.
extension Table {
  /// The message that the words mean, checked as the surface will check it. Neighbours' addresses are passed on.
  public func message(_ words: [String]) throws(Refusal) -> Message {
    guard let first = words.first else { throw Refusal(.unknownAddress, "a command is missing") }
    let path = Self.path(of: first) ?? first
    guard let row = row(path) else {
      if first.hasPrefix("/"), Aliases.find(first, in: self) != nil {
        return Message(first, arguments: words.dropFirst().map { argument($0, as: nil) })
      }
      let hint = nearest(to: path).map { ": do you mean \($0)?" } ?? ""
      throw Refusal(.unknownAddress, "there is no \(printable(path, limit: 80))" + hint)
    }
    let parameters = row.kind == .trigger ? row.optional : row.parameters + row.optional
    let arguments = words.dropFirst().enumerated().map { index, word in
      argument(word, as: index < parameters.count ? parameters[index] : nil)
    }
    if !(arguments.isEmpty && row.isReadable && row.kind != .trigger) { _ = try row.accept(arguments) }
    return Message(Self.address(path), arguments: arguments)
  }

  private func argument(_ word: String, as parameter: Parameter?) -> Argument {
    switch parameter {
    case .text: return .string(word)
    case .number, .fader, .whole, .flag, .word, .exact, .micros, nil: break
    }
    if let number = Int32(word) { return .int32(number) }
    if let number = Double(word), number.isFinite { return .float64(number) }
    return .string(word)
  }
}
