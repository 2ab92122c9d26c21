// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC

/// OSCQuery: the table as a tree, from which a controller can build its own page. Pure: a request goes in, an
/// answer comes out. Everything except the values is encoded only once.
package struct QueryTree: Sendable {
  private let top: Branch
  private let shown: [Node]
  private let table: Table
  /// The names of the user's own outputs that are in the tree.
  private let outputs: [String]

  private static let attributes = [
    "FULL_PATH", "CONTENTS", "TYPE", "ACCESS", "VALUE", "RANGE", "DESCRIPTION", "UNIT", "CLIPMODE", "TAGS",
    "TITLE",
  ]

  /// A node and its subtree.
  private struct Branch: Sendable {
    var name: String
    var row: Node?
    /// The attributes as pieces of JSON. A nil piece is the gap for the value, which each request reads.
    var members: [(name: String, text: String?)] = []
    var branches: [Branch] = []
  }

  package init(table: Table = .standard) { self.init(table, with: []) }

  private init(_ base: Table, with own: [NamedOutput]) {
    let table = base.with(own)
    self.table = base
    outputs = Table.shape(of: own)
    shown = table.rows.filter { $0.kind != .verb && $0.kind != .answer }
    var below = Branch(name: Table.root)
    for row in shown {
      Self.insert(row, row.path.split(separator: "/")[...], into: &below)
    }
    var top = Branch(name: "", branches: [below])
    Self.describe(&top, at: "")
    self.top = top
  }

  /// Rebuilds the tree if outputs were added or removed.
  package mutating func follow(_ snapshot: SurfaceSnapshot) {
    let own = snapshot.reading.state.lists.outputs
    if Table.shape(of: own) != outputs { self = QueryTree(table, with: own) }
  }

  package struct Answer: Equatable {
    package var status: Int
    package var type = "application/json"
    package var body = ""
  }

  /// The values for an answer, and whether the asking peer is paired.
  private struct Asked {
    let reading: Reading
    let isPaired: Bool

    func values(of row: Node) -> [Argument] {
      guard isPaired || !row.isForPaired else {
        return row.parameters.map { $0.tag == "s" ? .string("") : $0.argument(.number(0)) }
      }
      return row.read?(reading) ?? []
    }
  }

  /// Our address by which the asking peer reached us, and our ports. nil: OSC is off.
  package struct Place {
    let host: Address
    let osc: UInt16?
    let web: UInt16

    package init(host: Address = .loopback, osc: UInt16? = Table.port, web: UInt16) {
      self.host = host
      self.osc = osc
      self.web = web
    }
  }

  /// - Parameter isPaired: whether the answer includes the rows that only paired peers can read.
  package func answer(
    path: String, query: String?, _ snapshot: SurfaceSnapshot, at place: Place, isPaired: Bool = false
  ) -> Answer {
    let reading = Asked(reading: snapshot.reading, isPaired: isPaired)
    if query == "HOST_INFO" { return Answer(status: 200, body: hostInfo(place)) }
    guard let branch = branch(at: path) else { return Answer(status: 404) }
    var body = ""
    switch query {
    case nil: write(branch, reading, to: &body)
    case "HTML": return Answer(status: 200, type: "text/html; charset=utf-8", body: page(reading))
    case "CONTENTS" where !branch.branches.isEmpty:
      body = "{"
      writeContents(branch, reading, to: &body)
      body += "}"
    case let attribute?:
      guard Self.attributes.contains(attribute) else { return Answer(status: 400) }
      guard let member = branch.members.first(where: { $0.name == attribute }) else {
        // A container has no attributes except its path and its contents.
        guard let row = branch.row else { return Answer(status: 200, body: "{}") }
        return Answer(status: attribute == "VALUE" && !row.isReadable ? 204 : 400)
      }
      body = "{\"\(member.name)\":\(text(of: member, branch.row, reading))}"
    }
    return Answer(status: 200, body: body)
  }

  private func hostInfo(_ place: Place) -> String {
    let extensions = (Self.attributes.dropFirst(3) + ["LISTEN", "IGNORE"]).map { ($0, "true") }
    let host = JSON5.quoted("\(place.host)")
    let osc = place.osc.map {
      [("OSC_IP", host), ("OSC_PORT", "\($0)"), ("OSC_TRANSPORT", JSON5.quoted("UDP"))]
    }
    return Self.object(
      [("NAME", JSON5.quoted(Table.root)), ("EXTENSIONS", Self.object(extensions))] + (osc ?? [])
        + [("WS_IP", host), ("WS_PORT", "\(place.web)")])
  }

  private static func insert(_ row: Node, _ names: ArraySlice<Substring>, into branch: inout Branch) {
    guard let name = names.first else {
      branch.row = row
      return
    }
    let place = branch.branches.firstIndex { $0.name == name } ?? branch.branches.count
    if place == branch.branches.count { branch.branches.append(Branch(name: String(name))) }
    insert(row, names.dropFirst(), into: &branch.branches[place])
  }

  private static func describe(_ branch: inout Branch, at path: String) {
    func add(_ name: String, _ value: String?) { branch.members.append((name, value)) }
    add("FULL_PATH", JSON5.quoted(path.isEmpty ? "/" : path))
    if let row = branch.row {
      // TITLE is our own attribute: the page shows it.
      add("TITLE", JSON5.quoted(row.title))
      add("DESCRIPTION", JSON5.quoted(row.words))
      add("ACCESS", "\(access(row))")
      // A list has no fixed types: they are described together with the values, when it is read.
      let fixed = row.each.isEmpty ? row.parameters : nil
      add("TYPE", fixed.map { describe("TYPE", $0) })
      if row.isReadable { add("VALUE", nil) }
      add("RANGE", fixed.map { describe("RANGE", $0) })
      if (row.parameters + row.each).contains(where: { !$0.unit.isEmpty }) {
        add("UNIT", fixed.map { describe("UNIT", $0) })
      }
      add("CLIPMODE", fixed.map { describe("CLIPMODE", $0) })
      // A switch, a trigger and a number can have the same OSC type and range, so a tag distinguishes them.
      let isSwitch =
        row.kind != .trigger && row.parameters.contains { if case .flag = $0 { true } else { false } }
      add("TAGS", list((["\(row.kind)"] + (isSwitch ? ["switch"] : [])).map(JSON5.quoted)))
    }
    for index in branch.branches.indices {
      describe(&branch.branches[index], at: "\(path)/\(branch.branches[index].name)")
    }
  }

  private func branch(at path: String) -> Branch? {
    guard path.utf8.count <= PacketCheck.addressLimit, path.utf8.first == UInt8(ascii: "/") else {
      return nil
    }
    var branch = top
    for name in path.split(separator: "/") {
      guard let next = branch.branches.first(where: { $0.name == name }) else { return nil }
      branch = next
    }
    return branch
  }

  private func write(_ branch: Branch, _ reading: Asked, to text: inout String) {
    var separator = "{"
    for member in branch.members {
      text += separator
      text += "\"\(member.name)\":"
      text += self.text(of: member, branch.row, reading)
      separator = ","
    }
    if !branch.branches.isEmpty {
      text += ","
      writeContents(branch, reading, to: &text)
    }
    text += "}"
  }

  private func writeContents(_ branch: Branch, _ reading: Asked, to text: inout String) {
    text += "\"CONTENTS\":"
    var separator = "{"
    for next in branch.branches {
      text += separator
      text += "\"\(next.name)\":"
      write(next, reading, to: &text)
      separator = ","
    }
    text += "}"
  }

  private static func describe(_ attribute: String, _ parameters: [Parameter]) -> String {
    switch attribute {
    case "TYPE": JSON5.quoted(String(parameters.map(\.tag)))
    case "UNIT": list(parameters.map { JSON5.quoted($0.unit) })
    case "CLIPMODE": list(parameters.map { $0.clips ? "\"both\"" : "\"none\"" })
    default: list(parameters.map(range))
    }
  }

  private func text(of member: (name: String, text: String?), _ row: Node?, _ reading: Asked) -> String {
    if let text = member.text { return text }
    let values = row.map(reading.values) ?? []
    guard member.name != "VALUE" else { return Self.list(values.map(json)) }
    return Self.describe(member.name, values.indices.compactMap { row?.parameter(at: $0) })
  }

  private static func access(_ row: Node) -> Int {
    switch row.kind {
    case .value: 3
    case .reading, .feed: 1
    case .trigger: row.isReadable ? 3 : 2
    case .order: 2
    case .verb, .answer: 0
    }
  }

  // The argument as JSON. A float always has a decimal point, because readers may infer the type from it.
  private func json(_ argument: Argument) -> String {
    switch argument {
    case .int32(let value): "\(value)"
    case .int64(let value): "\(value)"
    case .float32(let value): value.isFinite ? "\(value)" : "null"
    case .float64(let value): value.isFinite ? "\(value)" : "null"
    case .string(let text): JSON5.quoted(text)
    case .truth(let value): "\(value)"
    case .null, .impulse, .other: "null"
    }
  }

  private static func range(_ parameter: Parameter) -> String {
    switch parameter {
    case .number(let range, _), .beats(let range, _):
      object([("MIN", "\(range.lowerBound)"), ("MAX", "\(range.upperBound)")])
    case .fader, .flag: object([("MIN", "0.0"), ("MAX", "1.0")])
    case .whole(let range, _): object([("MIN", "\(range.lowerBound)"), ("MAX", "\(range.upperBound)")])
    case .word(let words): object([("VALS", list(words.map(JSON5.quoted)))])
    case .text, .exact: "{}"
    }
  }

  private static func list(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }

  private static func object(_ members: [(String, String)]) -> String {
    "{" + members.map { "\(JSON5.quoted($0.0)):\($0.1)" }.joined(separator: ",") + "}"
  }

  /// An HTML page of the tree for a browser: addresses and their values.
  private func page(_ reading: Asked) -> String {
    func escaped(_ text: String) -> String {
      var shown = ""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "&": shown += "&amp;"
        case "<": shown += "&lt;"
        case ">": shown += "&gt;"
        case "\"": shown += "&quot;"
        default: shown.unicodeScalars.append(scalar)
        }
      }
      return shown
    }
    let rows = shown.map { row in
      let value = reading.values(of: row).map { argument in
        if case .string(let text) = argument { text } else { argument.number.map(brief) ?? "" }
      }
      return "<tr><td><code>\(Table.address(row.path))</code><td>\(escaped(value.joined(separator: " ")))<td>"
        + escaped(row.words)
    }
    return "<!DOCTYPE html><meta charset=utf-8><title>\(Table.root)</title><h1>\(Table.root)</h1>"
      + "<table><tr><th>Address<th>Value<th>Meaning\(rows.joined(separator: "\n"))</table>\n"
  }
}

extension Parameter {
  /// Whether a value out of range becomes the nearest end of the range instead of being refused.
  var clips: Bool {
    switch self {
    case .fader: true
    case .number, .whole, .beats, .flag, .word, .text, .exact: false
    }
  }
}
