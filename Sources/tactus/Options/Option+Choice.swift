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
    if choice.domain == .flag { return .flag(\.choices[isOn: choice]) }
    return .value(
      OptionValue(
        placeholder: choice.placeholder, allowed: .domain(choice.domain),
        forget: { choice.copy(Choices.Settings(), &$0.choices) },
        store: { if let values = choice.domain.values(of: $1) { choice.write(&$0.choices, values) } },
        read: { choice.read($0.choices).map { [choice.domain.text($0)] } ?? [] }))
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
    switch domain {
    case .flag: ""
    case .number(_, let unit): unit.isEmpty ? "FACTOR" : unit.uppercased()
    case .whole(_, let unit): unit.isEmpty ? "N" : unit.uppercased()
    case .word(let words): words.joined(separator: "|")
    case .meter: "N/UNIT"
    case .pattern: "LETTERS"
    }
  }

  /// The words with what holds without it.
  fileprivate var help: String {
    let standard = read(Settings())
    var notes: [String] = []
    switch domain {
    case .flag where standard?[0].isOn == true: notes.append("default; --no-\(name) is without")
    case .number(let range, _): notes.append("\(shortest(range.lowerBound)) to \(shortest(range.upperBound))")
    case .whole(let range, _): notes.append("\(range.lowerBound) to \(range.upperBound)")
    case .flag, .word, .meter, .pattern: break
    }
    if domain != .flag, let standard { notes.append("default: \(domain.text(standard))") }
    return notes.isEmpty ? words : "\(words.dropLast()) (\(notes.joined(separator: "; ")))."
  }
}
