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

  /// Below which all addresses lie, unless configured otherwise.
  public static let root = "tactus"
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

  public func id(_ path: String) -> NodeID? { places[path].map(NodeID.init(index:)) }
  public func row(_ id: NodeID) -> Node { rows[id.index] }

  /// The existing address that a mistyped one most resembles, if any does.
  func nearest(to path: String) -> String? {
    guard path.utf8.count <= 64 else { return nil }
    let best = rows.map { (row: $0, distance: editDistance($0.path, path)) }.min { $0.distance < $1.distance }
    guard let best, best.distance <= max(2, path.utf8.count / 3) else { return nil }
    return best.row.path
  }
}

func editDistance(_ left: String, _ right: String) -> Int {
  let left = Array(left.utf8)
  let right = Array(right.utf8)
  var row = Array(0...right.count)
  for (i, a) in left.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, b) in right.enumerated() {
      let above = row[j + 1]
      row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
      diagonal = above
    }
  }
  return row[right.count]
}
