// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusMIDI

/// A key of the keyboard.
public enum Key: Hashable, Sendable {
  case character(Unicode.Scalar)
  case up, down, left, right
  case pageUp, pageDown
  case home, enter, backspace, escape
}

extension Key: LosslessStringConvertible {
  /// The keys that are written as words. Escape can't be bound: it always cancels what the user has begun.
  static let words: [(name: String, key: Key)] = [
    ("space", .character(" ")), ("up", .up), ("down", .down), ("left", .left), ("right", .right),
    ("pageup", .pageUp), ("pagedown", .pageDown), ("home", .home), ("enter", .enter),
    ("backspace", .backspace),
  ]

  public static var names: [String] { words.map(\.name) }

  /// Parses a character, which is case-sensitive, or one of the words.
  public init?(_ text: String) {
    let text = text.split(separator: " ").joined()
    if let key = Self.words.first(where: { $0.name == text.lowercased() })?.key {
      self = key
    } else if let scalar = text.unicodeScalars.first, text.unicodeScalars.count == 1,
      (0x21...0x7E).contains(scalar.value)
    {
      self = .character(scalar)
    } else {
      return nil
    }
  }

  public var description: String {
    if let word = Self.words.first(where: { $0.key == self })?.name { return word }
    if case .character(let scalar) = self { return scalar == "\u{0C}" ? "Ctrl-L" : "\(scalar)" }
    return "Esc"
  }
}

public typealias KeyBinding = Binding<Key>

/// The meaning of each key, from the user's bindings and the standard bindings. It serves the view, its keys
/// page, the man page and docs/keys.md.
public struct KeyMap: Sendable {
  /// Actions about the view itself, which have no address.
  enum ViewAction: Sendable {
    case turn, code, redraw, tempo
  }

  public struct Row: Sendable {
    public let words: String
    /// The words for a narrow page, at most ten letters; nil: `words` are that short.
    var brief: String?
    public internal(set) var bindings: [KeyBinding]
    var viewAction: ViewAction?
    /// The words for the hint in the last row, and the number of keys to show with them.
    var hint: (words: String, keys: Int)?

    fileprivate static func keys(
      _ words: String, brief: String? = nil, hint: (words: String, keys: Int)? = nil, _ bindings: String...
    ) -> Row {
      Row(words: words, brief: brief, bindings: bindings.compactMap { KeyBinding($0) }, hint: hint)
    }

    fileprivate static func view(
      _ words: String, brief: String? = nil, _ action: ViewAction, hint: (words: String, keys: Int)? = nil,
      _ keys: String
    ) -> Row {
      Row(
        words: words, brief: brief, bindings: keys.unicodeScalars.map { KeyBinding(.character($0), []) },
        viewAction: action, hint: hint)
    }

    fileprivate var leaving: Row {
      Row(words: "leave this view", brief: "leave", bindings: bindings, hint: ("leave", 1))
    }

    /// All keys of this row, on one line.
    public func keys(named name: (Key) -> String) -> String {
      viewAction == .tempo ? "0-9" : bindings.map { name($0.event) }.joined(separator: " ")
    }

    /// The meaning in words, such as `tap tempo (tempo/tap)`. The addresses of several keys come in order,
    /// each once.
    public var meaning: String {
      let addresses = bindings.flatMap { $0.targets.map(\.description) }
      let each = addresses.indices.filter { !addresses[..<$0].contains(addresses[$0]) }.map { addresses[$0] }
      return each.isEmpty ? words : "\(words) (\(each.joined(separator: ", ")))"
    }

    /// This row in a Markdown table.
    public var markdown: String {
      "| " + (viewAction == .tempo ? "`0` to `9`" : bindings.map { "`\($0.event)`" }.joined(separator: " "))
        + " | \(meaning) |\n"
    }
  }

  public static let standard: [Row] = [
    .keys("start/stop", hint: ("start", 1), "space = toggle"),
    .keys("tap tempo", hint: ("tap", 1), "t = tempo/tap"),
    .keys("1 BPM", hint: ("tempo", 2), "up = tempo/nudge 1", "down = tempo/nudge -1"),
    .keys("1 BPM", "+ = tempo/nudge 1", "= = tempo/nudge 1", "- = tempo/nudge -1"),
    .keys("0.1 BPM", "left = tempo/nudge -0.1", "right = tempo/nudge 0.1"),
    .keys("10 BPM", "pageup = tempo/nudge 10", "pagedown = tempo/nudge -10"),
    .view("set tempo", .tempo, "0123456789"),
    .keys("rewind", "home = rewind"),
    .keys("where a stop leaves the song", brief: "stop at", "b = stop/at/next"),
    .keys("quantum", "[ = quantum/nudge -1", "] = quantum/nudge 1"),
    .keys("switch the leader", brief: "next lead", "l = lead/next"),
    .keys("Link", hint: ("Link", 1), "a = link/toggle"),
    .keys("sync", hint: ("sync", 1), "s = startstop/toggle", "g = song/sync/toggle"),
    .keys("click", hint: ("click", 1), "m = click/toggle"),
    .keys(
      "click 1 ms later, earlier", brief: "click 1 ms", ", = click/offset/nudge -1",
      ". = click/offset/nudge 1"),
    .keys("clock", hint: ("clock", 1), "c = clock/toggle"),
    .keys("pulse", "p = pulse/toggle"),
    .view("QR code, and back", brief: "QR code", .code, hint: ("page", 1), "w"),
    .keys("open or close the page", brief: "open page", "o = web/open/toggle"),
    .view("these keys, and back", brief: "these keys", .turn, hint: ("keys", 1), "?h"),
    .view("redraw", .redraw, "\u{0C}"),
    .keys("quit", "q = quit"),
  ]

  let rows: [Row]
  /// Whether the view shows a tactus that runs elsewhere and continues when the view ends.
  let isElsewhere: Bool

  /// A key that the user configured loses its standard meaning.
  public init(_ configured: [KeyBinding] = [], isElsewhere: Bool = false) {
    self.isElsewhere = isElsewhere
    let taken = Set(configured.map(\.event))
    rows =
      configured.map { Row(words: $0.targets.map(\.description).joined(separator: ", "), bindings: [$0]) }
      + Self.standard.compactMap { row in
        var row = row
        if isElsewhere, row.bindings.contains(where: { $0.isQuit }) { row = row.leaving }
        row.bindings.removeAll { taken.contains($0.event) }
        return row.bindings.isEmpty ? nil : row
      }
  }

  /// The key that decides what this key does. With Caps Lock on, a capital letter without a binding acts as
  /// its small letter; nil: no key is bound.
  func bound(_ key: Key) -> Key? {
    if isBound(key) { return key }
    guard case .character(let letter) = key, ("A"..."Z").contains(letter) else { return nil }
    let small = Key.character(Unicode.Scalar(UInt8(letter.value | 0x20)))
    return isBound(small) ? small : nil
  }

  private func isBound(_ key: Key) -> Bool { rows.contains { $0.bindings.contains { $0.event == key } } }

  /// The first key that sends this address and no other.
  public func key(of path: String) -> Key? {
    rows.flatMap(\.bindings).first { $0.targets.map(\.path) == [path] }?.event
  }

  /// The first key that is bound to this action.
  func key(for action: ViewAction) -> Key? { rows.first { $0.viewAction == action }?.bindings.first?.event }

  func viewAction(of key: Key) -> ViewAction? {
    rows.first { $0.bindings.contains { $0.event == key } }?.viewAction
  }

  func targets(of key: Key) -> [Target] {
    rows.flatMap(\.bindings).filter { $0.event == key }.flatMap(\.targets)
  }
}

extension KeyBinding {
  /// Whether the key ends the program, or only the view if the program runs elsewhere.
  fileprivate var isQuit: Bool { targets.map(\.path) == ["quit"] }
}
