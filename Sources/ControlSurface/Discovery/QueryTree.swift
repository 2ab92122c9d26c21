// SPDX-License-Identifier: GPL-2.0-or-later

/// OSCQuery: the table as a tree that a controller can read to build its own page. Pure: a request in, an answer out.
struct QueryTree {
  let root: String
  let hostInfo: JSON

  private static let attributes = [
    "FULL_PATH", "CONTENTS", "TYPE", "ACCESS", "VALUE", "RANGE", "DESCRIPTION", "UNIT", "CLIPMODE",
  ]

  init(root: String, osc: Endpoint) {
    self.root = root
    let extensions: [(String, JSON)] =
      Self.attributes.dropFirst(3).map { ($0, .truth(true)) } + [("LISTEN", .truth(false))]
    hostInfo = .object([
      ("NAME", .text(root)), ("EXTENSIONS", .object(extensions)), ("OSC_IP", .text("\(osc.host)")),
      ("OSC_PORT", .whole(Int64(osc.port))), ("OSC_TRANSPORT", .text("UDP")),
    ])
  }

  struct Answer: Equatable {
    var status: Int
    var type = "application/json"
    var body = ""
  }

  func answer(path: String, query: String?, _ reading: Reading) -> Answer {
    if query == "HOST_INFO" { return Answer(status: 200, body: hostInfo.text) }
    guard let node = node(at: path) else { return Answer(status: 404) }
    switch query {
    case nil: return Answer(status: 200, body: .init(json(node, reading).text))
    case "HTML": return Answer(status: 200, type: "text/html; charset=utf-8", body: page(reading))
    case let attribute?:
      guard Self.attributes.contains(attribute) else { return Answer(status: 400) }
      guard let row = node.row else {
        // A container has a path and contents; of the rest nothing.
        let value = members(node, reading).first { $0.0 == attribute }
        return Answer(status: 200, body: JSON.object(value.map { [$0] } ?? []).text)
      }
      guard let value = members(node, reading).first(where: { $0.0 == attribute }) else {
        return Answer(status: attribute == "VALUE" && !row.isReadable ? 204 : 400)
      }
      return Answer(status: 200, body: JSON.object([value]).text)
    }
  }

  private struct Place {
    /// Below the root; nil is above it.
    var path: String?
    var full: String
    var row: Node?
  }

  private static let shown = Table.rows.filter { $0.kind != .verb && $0.kind != .answer }

  private func node(at path: String) -> Place? {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    if path == "/" || path.isEmpty { return Place(path: nil, full: "/", row: nil) }
    if path == "/" + root { return Place(path: "", full: path, row: nil) }
    guard path.hasPrefix("/\(root)/") else { return nil }
    let below = String(path.dropFirst(root.count + 2))
    let row = Self.shown.first { $0.path == below }
    guard row != nil || Self.shown.contains(where: { $0.path.hasPrefix(below + "/") }) else { return nil }
    return Place(path: below, full: path, row: row)
  }

  private func json(_ place: Place, _ reading: Reading) -> JSON { .object(members(place, reading)) }

  private func members(_ place: Place, _ reading: Reading) -> [(String, JSON)] {
    var members: [(String, JSON)] = [("FULL_PATH", .text(place.full))]
    if let row = place.row {
      members.append(("DESCRIPTION", .text(row.words)))
      members.append(("ACCESS", .whole(access(row))))
      members.append(("TYPE", .text(row.typeTags)))
      if let read = row.read { members.append(("VALUE", .list(read(reading).map(json)))) }
      members.append(("RANGE", .list(row.parameters.map(range))))
      if row.parameters.contains(where: { !$0.unit.isEmpty }) {
        members.append(("UNIT", .list(row.parameters.map { .text($0.unit) })))
      }
      members.append(("CLIPMODE", .list(row.parameters.map { .text($0.clips ? "both" : "none") })))
    }
    let children = children(of: place)
    if !children.isEmpty {
      members.append(("CONTENTS", .object(children.map { ($0.name, json($0.place, reading)) })))
    }
    return members
  }

  private func children(of place: Place) -> [(name: String, place: Place)] {
    guard let path = place.path else { return [(root, Place(path: "", full: "/" + root, row: nil))] }
    let prefix = path.isEmpty ? "" : path + "/"
    var names: [String] = []
    for row in Self.shown where row.path.hasPrefix(prefix) {
      let name = String(row.path.dropFirst(prefix.count).prefix { $0 != "/" })
      if names.last != name, !names.contains(name) { names.append(name) }
    }
    return names.compactMap { name in node(at: "/\(root)/\(prefix)\(name)").map { (name, $0) } }
  }

  private func access(_ row: Node) -> Int64 {
    switch row.kind {
    case .value: 3
    case .reading, .feed: 1
    case .trigger: row.isReadable ? 3 : 2
    case .order: 2
    case .verb, .answer: 0
    }
  }

  private func json(_ argument: Argument) -> JSON {
    switch argument {
    case .int32(let value): .whole(Int64(value))
    case .int64(let value): .whole(value)
    case .float32(let value): .number(Double("\(value)") ?? 0)
    case .float64(let value): .number(value)
    case .string(let text): .text(text)
    case .truth(let value): .truth(value)
    case .null, .impulse, .other: .null
    }
  }

  private func range(_ parameter: Parameter) -> JSON {
    switch parameter {
    case .number(let range, _):
      .object([("MIN", .number(range.lowerBound)), ("MAX", .number(range.upperBound))])
    case .fader, .flag: .object([("MIN", .number(0)), ("MAX", .number(1))])
    case .whole(let range, _):
      .object([("MIN", .whole(Int64(range.lowerBound))), ("MAX", .whole(Int64(range.upperBound)))])
    case .word(let words): .object([("VALS", .list(words.map { .text($0) }))])
    case .text, .exact, .micros: .object([])
    }
  }

  /// For a browser: the addresses and what they say now.
  private func page(_ reading: Reading) -> String {
    func escaped(_ text: String) -> String {
      text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"][$0] ?? String($0) }.joined()
    }
    let rows = Self.shown.map { row in
      let value = (row.read?(reading) ?? []).map { argument in
        if case .string(let text) = argument { text } else { argument.number.map(brief) ?? "" }
      }
      return "<tr><td><code>/\(root)/\(row.path)</code><td>\(escaped(value.joined(separator: " ")))<td>"
        + escaped(row.words)
    }
    return "<!DOCTYPE html><meta charset=utf-8><title>\(escaped(root))</title><h1>\(escaped(root))</h1>"
      + "<table><tr><th>Address<th>Value<th>Meaning\(rows.joined(separator: "\n"))</table>\n"
  }
}

extension Parameter {
  /// Out of range lands on the end, instead of being refused.
  var clips: Bool {
    switch self {
    case .fader: true
    case .number, .whole, .flag, .word, .text, .exact, .micros: false
    }
  }
}
