// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import ControlSurface

// A choice as an option and as a key of the files.
extension Option<Configuration> {
  init(_ choice: Choice) {
    self.init(
      choice.name, choice.letter, in: choice.section, Self.form(of: choice),
      isRemembered: choice.isRemembered, help: choice.help)
  }

  private static func form(of choice: Choice) -> Form<Configuration> {
    if choice.isFlag { return .flag(\.choices[isOn: choice]) }
    return .value(
      OptionValue(
        takes: Takes(placeholder: choice.placeholder, allowed: Allowed(choice)),
        store: { if let values = choice.values(of: $1) { choice.write(&$0.choices, values) } },
        read: { choice.read($0.choices).map { [choice.text($0)] } ?? [] },
        copy: { choice.copy($0.choices, &$1.choices) }))
  }
}

extension Settings {
  fileprivate subscript(isOn choice: Choice) -> Bool {
    get { choice.holding(self)[0].isOn }
    set { choice.write(&self, [.flag(newValue)]) }
  }
}

extension Choice {
  fileprivate var placeholder: String {
    if let written { return written.placeholder }
    return switch parameters[0] {
    case .number(_, let unit): unit.isEmpty ? "FACTOR" : unit.uppercased()
    case .whole(_, let unit): unit.isEmpty ? "N" : unit.uppercased()
    case .word(let words): words.joined(separator: "|")
    case .flag, .fader, .text, .exact, .micros: ""
    }
  }

  /// The words with what holds without it.
  fileprivate var help: String {
    let standard = read(Settings())
    var notes: [String] = []
    switch parameters[0] {
    case .flag where standard?[0].isOn == true: notes.append("default; --no-\(name) is without")
    case .number(let range, _): notes.append("\(shortest(range.lowerBound)) to \(shortest(range.upperBound))")
    case .whole(let range, _) where written == nil:
      notes.append("\(range.lowerBound) to \(range.upperBound)")
    case .flag, .fader, .whole, .word, .text, .exact, .micros: break
    }
    if !isFlag, let standard { notes.append("default: \(text(standard))") }
    return notes.isEmpty ? words : "\(words.dropLast()) (\(notes.joined(separator: "; ")))."
  }
}
