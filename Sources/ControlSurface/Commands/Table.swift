// SPDX-License-Identifier: GPL-2.0-or-later

/// The one table of commands and state values. Dispatch, replies, help, man page, OSCQuery and the layouts are made
/// from it; nothing is settable, askable or told that is not a row here.
///
/// It knows no socket and no liblo. To add a choice: `Choice`. Any other command: a case of `Command`, a row in one of the `Table+`
/// files.
public struct Table: Sendable {
  public static let standard = Table(
    session + tempo + transport + drift + click + clock + pulse + host + midi + readings + feeds
      + conversation)

  /// Below which all addresses lie.
  public static let root = "tactus"
  public static func address(_ path: String) -> String { "/\(root)/\(path)" }

  /// What is below the root. nil: it is not below it.
  public static func path(of address: String) -> String? {
    address.hasPrefix("/\(root)/") ? String(address.dropFirst(root.count + 2)) : nil
  }

  /// Link's own multicast port is 20808; this is the next, and used by no other music program known to us.
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

  /// With another choice in it.
  public func adding(_ choice: Choice) -> Table { Table(rows + Node.rows(of: choice)) }

  public var choices: [Choice] { rows.compactMap(\.choice) }

  /// Of a row in `rows`.
  func place(of path: String) -> Int? { places[path] }
  public func row(_ path: String) -> Node? { places[path].map { rows[$0] } }

  /// The existing address that a mistyped one most resembles, if any does.
  func nearest(to path: String) -> String? { path.nearest(among: paths) }
}
