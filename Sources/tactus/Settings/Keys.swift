// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5
import OSC

/// The options as the keys of a file: the long names, with values in JSON5.
///
/// Strict, because a typing error in a file is found on stage otherwise: an unknown key, a wrong type or a number out
/// of range is refused with the line and what is allowed. null stands for what holds without the key.
struct Keys<Settings> {
  struct Fault: Error, Equatable {
    let line: Int
    /// `"bpm" takes a number from 20 to 999, not "fast"`
    let text: String
  }

  let options: [Option<Settings>]

  init(_ options: [Option<Settings>]) {
    self.options = options.filter { option in
      if case .answer = option.form { false } else { option.reach != .typed }
    }
  }

  func apply(_ document: JSON5.Element, to settings: inout Settings) throws(Fault) {
    guard case .object(let members) = document.value else {
      throw Fault(line: document.line, text: "holds \(document.value.kind) instead of { key: value, ... }")
    }
    for member in members {
      guard let option = options.first(where: { $0.long == member.name }) else {
        throw Fault(
          line: member.line, text: "unknown key \"\(member.name.shortened)\"" + hint(for: member.name))
      }
      try apply(member.element, to: option, of: &settings)
    }
  }

  private func hint(for name: String) -> String {
    if name.hasPrefix("no-"),
      let option = options.first(where: { $0.long == name.dropFirst(3) && $0.off != nil })
    {
      return ": say \"\(option.long)\": false"
    }
    return name.nearest(among: options.map(\.long)).map { ": do you mean \"\($0)\"?" } ?? ""
  }

  private func apply(
    _ element: JSON5.Element, to option: Option<Settings>, of settings: inout Settings
  ) throws(Fault) {
    if element.value == .null { return }
    switch option.form {
    case .answer: break
    case .flag(let place):
      guard case .boolean(let on) = element.value else { throw fault(element, option, "true or false") }
      settings[keyPath: place] = on
    case .value(let value):
      guard let clear = value.clear else {
        guard let text = value.allowed.text(from: element.value) else {
          throw fault(element, option, value.allowed.words)
        }
        return value.store(&settings, text)
      }
      guard case .array(let elements) = element.value else {
        throw fault(element, option, "a list [...], each of it \(value.allowed.words)")
      }
      clear(&settings)
      for element in elements {
        guard let text = value.allowed.text(from: element.value) else {
          throw fault(element, option, "a list, each of it \(value.allowed.words)")
        }
        value.store(&settings, text)
      }
    case .optionalValue(let value, let bare):
      switch element.value {
      case .boolean(true): value.store(&settings, bare)
      case .boolean(false) where option.off != nil: option.off?(&settings)
      case let other:
        guard let text = value.allowed.text(from: other) else {
          throw fault(
            element, option, value.allowed.words + (option.off == nil ? " or true" : ", true or false"))
        }
        value.store(&settings, text)
      }
    }
  }

  private func fault(_ element: JSON5.Element, _ option: Option<Settings>, _ words: String) -> Fault {
    let found =
      switch element.value {
      case .string(let text): "\"\(text.shortened)\""
      case .number(_, let written): written.shortened
      case .boolean(let on): "\(on)"
      case .null, .array, .object: element.value.kind
      }
    if case .value(let value) = option.form, case .string(let text) = element.value {
      let why = value.allowed.because(text)
      if !why.isEmpty { return Fault(line: element.line, text: "\"\(option.long)\": \(found)\(why)") }
    }
    return Fault(line: element.line, text: "\"\(option.long)\" takes \(words), not \(found)")
  }

  /// What these keys would have to say to get what is there now.
  func values(of settings: Settings) -> [(key: String, value: JSON5)] {
    options.map { ($0.long, value(of: $0, in: settings)) }
  }

  func value(of option: Option<Settings>, in settings: Settings) -> JSON5 {
    switch option.form {
    case .answer: return .null
    case .flag(let place): return .boolean(settings[keyPath: place])
    case .value(let value), .optionalValue(let value, _):
      let values = value.read(settings).map { value.allowed.value(of: $0) }
      return value.clear == nil ? values.first ?? .null : .list(values)
    }
  }
}

extension String {
  /// What a stranger wrote, as far as it fits in a line, without what a terminal would obey.
  var shortened: String { printable(self, limit: 60) }
}
