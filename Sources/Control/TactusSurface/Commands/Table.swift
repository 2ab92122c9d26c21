// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// The one table of commands and state values. Dispatch, replies, help, man page, OSCQuery and layouts are
/// made from it. A value without a row here cannot be set, read or sent.
///
/// The table knows no socket and no liblo. To add a choice, see `Choice`. To add another command, add a case
/// of `Command` and a row in one of the `Table+` files.
public struct Table: Sendable {
  public static let standard = Table(
    session + far + audio + tempo + bend + transport + drift + click + clock + pulse + ownOutputs + set
      + songTitles + host
      + midi
      + outward + page
      + readings
      + feeds
      + conversation)

  /// The first part of all addresses.
  public static let root = "tactus"
  public static func address(_ path: String) -> String { "/\(root)/\(path)" }

  /// The part of an address below `/tactus/`; nil: the address does not begin with `/tactus/`.
  public static func path(of address: String) -> String? {
    address.hasPrefix("/\(root)/") ? String(address.dropFirst(root.count + 2)) : nil
  }

  /// The default OSC port: the one after Link's multicast port 20808. We know of no other music program that
  /// uses it.
  public static let port: UInt16 = 20809

  public let rows: [Node]
  let paths: [String]
  private let places: [String: Int]

  init(_ rows: [Node]) {
    self.rows = rows
    paths = rows.map(\.path)
    places = Dictionary(
      rows.enumerated().map { ($0.element.path, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  /// This table with one more choice.
  public func adding(_ choice: Choice) -> Table { Table(rows + Node.rows(of: choice)) }

  public var choices: [Choice] { rows.compactMap(\.choice) }

  /// The index of the row in `rows`.
  func place(of path: String) -> Int? { places[path] }
  public func row(_ path: String) -> Node? { places[path].map { rows[$0] } }

  /// The existing address that is most similar to a mistyped one; nil: none is similar enough.
  func nearest(to path: String) -> String? {
    // The first of two ports has no number in its address: click/offset is for both ports, click/2/offset for
    // the second.
    let unnumbered = path.split(separator: "/").filter { $0 != "1" }.joined(separator: "/")
    guard row(unnumbered) == nil else { return unnumbered }
    return path.nearest(among: paths) ?? ending(like: path)
  }

  /// The only address whose last part is similar to this word: midi/learn for "learn", click/volume for
  /// "volme".
  private func ending(like word: String) -> String? {
    let endings = paths.map { String($0.split(separator: "/").last ?? "") }
    guard !word.contains("/"), let end = word.nearest(among: endings) else { return nil }
    let found = zip(paths, endings).filter { $0.1 == end }
    return found.count == 1 ? found[0].0 : nil
  }
}

// Commands as a user types them: `tempo 131.5`, `start bar`, `/tactus/click/gain 0.5`.
extension Table {
  /// The message for these words, checked in the same way as the surface will check it. Addresses of other
  /// programs are passed on unchecked.
  public func message(_ words: [String]) throws(Refusal) -> Message {
    guard let first = words.first else { throw Refusal(.unknownAddress, "a command is missing") }
    let path = Self.path(of: first) ?? first
    guard let row = row(path) else {
      // Only the running program knows which outputs it has, and whether an output's setting reads `4` as a
      // number or as a word.
      if Self.ownOutput(path) != nil {
        return Message(Self.address(path), arguments: words.dropFirst().map { .string($0) })
      }
      if first.hasPrefix("/"), Aliases.find(first, in: self) != nil {
        return Message(first, arguments: words.dropFirst().map { argument($0, as: nil) })
      }
      let hint = nearest(to: path).map { ": do you mean \($0)?" } ?? ""
      throw Refusal(.unknownAddress, "there is no \(printable(path, limit: 80))" + hint)
    }
    if row.kind == .value { try row.withoutPlus(words.dropFirst().map { .string($0) }) }
    let parameters = row.kind == .trigger ? row.optional : row.parameters + row.optional
    // A fader may send a fraction for a whole number. A user who types a fraction has made an error.
    for (word, parameter) in zip(words.dropFirst(), parameters) where row.isWritable {
      guard parameter.value(of: word) == nil, let number = Double(word) else { continue }
      if case .whole = parameter {
        throw .range("a whole number, \(parameter.allowed), not \(brief(number))")
      }
      if case .beats = parameter { throw .range("\(parameter.allowed), not \(brief(number))") }
    }
    let arguments = words.dropFirst().enumerated().map { index, word in
      argument(word, as: index < parameters.count ? parameters[index] : nil)
    }
    if !(arguments.isEmpty && row.isReadable && row.kind != .trigger) { _ = try row.accept(arguments) }
    return Message(Self.address(path), arguments: arguments)
  }

  private func argument(_ word: String, as parameter: Parameter?) -> Argument {
    switch parameter {
    case .text: return .string(word)
    // Keep the word as text: as a number, it would be an index into the list of words.
    case .word(let words) where words.contains(word.lowercased()): return .string(word)
    case .number, .fader, .whole, .beats, .flag, .word, .exact, nil: break
    }
    if let number = Int32(word) { return .int32(number) }
    if let number = Double(word), number.isFinite { return .float64(number) }
    return .string(word)
  }
}
