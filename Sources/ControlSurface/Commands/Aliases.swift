// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Whose addresses a controller speaks, and is told in.
public enum Dialect: String, Hashable, Sendable {
  case own, klick, ardour
}

/// Addresses of neighbours that mean a row of ours, so that what controls them controls us.
struct Alias: Sendable {
  enum Meaning: Sendable {
    case row(String)
    /// A press that sets the row to this.
    case press(String, Argument)
    case verb(Verb)
    /// Ardour's `/set_surface`: the eighth parameter is the port.
    case ardourSurface
  }

  let address: String
  let meaning: Meaning
  var dialect = Dialect.own
  /// Told to controllers of this dialect as well as taken.
  var isTold = false
  var isTaken = true
}

enum Aliases {
  static let all: [Alias] = klick + ardour + jacklink

  private static let klick: [Alias] = [
    Alias(address: "/klick/ping", meaning: .verb(.ping), dialect: .klick),
    Alias(address: "/klick/register_client", meaning: .verb(.subscribe), dialect: .klick),
    Alias(address: "/klick/unregister_client", meaning: .verb(.unsubscribe), dialect: .klick),
    Alias(address: "/klick/query", meaning: .verb(.query), dialect: .klick),
    Alias(address: "/klick/quit", meaning: .row("quit"), dialect: .klick),
    Alias(address: "/klick/metro/start", meaning: .press("click", .truth(true)), dialect: .klick),
    Alias(address: "/klick/metro/stop", meaning: .press("click", .truth(false)), dialect: .klick),
    Alias(
      address: "/klick/metro/active", meaning: .row("click"), dialect: .klick, isTold: true, isTaken: false),
    Alias(address: "/klick/simple/set_tempo", meaning: .row("tempo"), dialect: .klick),
    Alias(
      address: "/klick/simple/tempo", meaning: .row("tempo"), dialect: .klick, isTold: true, isTaken: false),
    Alias(
      address: "/klick/simple/current_tempo", meaning: .row("tempo"), dialect: .klick, isTold: true,
      isTaken: false),
    Alias(address: "/klick/simple/set_meter", meaning: .row("meter"), dialect: .klick),
    Alias(
      address: "/klick/simple/meter", meaning: .row("meter"), dialect: .klick, isTold: true, isTaken: false),
    Alias(address: "/klick/simple/tap", meaning: .row("tempo/tap"), dialect: .klick),
    Alias(address: "/klick/simple/set_pattern", meaning: .row("click/pattern"), dialect: .klick),
    Alias(
      address: "/klick/simple/pattern", meaning: .row("click/pattern"), dialect: .klick, isTold: true,
      isTaken: false),
    Alias(address: "/klick/config/set_volume", meaning: .row("click/volume"), dialect: .klick),
    Alias(
      address: "/klick/config/volume", meaning: .row("click/volume"), dialect: .klick, isTold: true,
      isTaken: false),
    Alias(address: "/klick/config/set_sound", meaning: .row("click/sound"), dialect: .klick),
    Alias(
      address: "/klick/config/sound", meaning: .row("click/sound"), dialect: .klick, isTold: true,
      isTaken: false),
  ]

  private static let ardour: [Alias] = [
    Alias(address: "/set_surface", meaning: .ardourSurface, dialect: .ardour),
    Alias(address: "/transport_play", meaning: .row("start"), dialect: .ardour, isTold: true),
    Alias(address: "/transport_stop", meaning: .row("stop"), dialect: .ardour, isTold: true),
    Alias(address: "/toggle_roll", meaning: .row("toggle"), dialect: .ardour, isTold: true),
    Alias(address: "/goto_start", meaning: .row("rewind"), dialect: .ardour),
    Alias(address: "/toggle_click", meaning: .row("click/toggle"), dialect: .ardour, isTold: true),
    Alias(address: "/click/level", meaning: .row("click/volume"), dialect: .ardour, isTold: true),
    Alias(
      address: "/position/bbt", meaning: .row("position/bbt"), dialect: .ardour, isTold: true, isTaken: false),
    Alias(
      address: "/position/time", meaning: .row("position/time"), dialect: .ardour, isTold: true,
      isTaken: false),
    Alias(address: "/heartbeat", meaning: .row("heartbeat"), dialect: .ardour, isTold: true, isTaken: false),
    Alias(address: "/refresh", meaning: .verb(.query), dialect: .ardour),
  ]

  private static let jacklink: [Alias] = [
    Alias(address: "/jacklink/bpm", meaning: .row("tempo")),
    Alias(address: "/jacklink/beattime", meaning: .row("locate")),
    Alias(address: "/jacklink/sync", meaning: .row("startstop")),
    Alias(address: "/jacklink/rolling", meaning: .row("jack/rolling")),
  ]

  private static let taken: [String: Alias] = Dictionary(
    all.filter(\.isTaken).map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })

  /// What a neighbour's address means, klick's verbs below our own root included.
  static func find(_ address: String, root: String, in table: Table = .standard) -> Alias? {
    if let alias = taken[address] { return alias }
    if address.hasPrefix("/set_surface/") { return taken["/set_surface"] }
    let prefix = "/\(root)/"
    guard address.hasPrefix(prefix) else { return nil }
    let path = address.dropFirst(prefix.count)
    switch path {
    case "register_client": return Alias(address: address, meaning: .verb(.subscribe))
    case "unregister_client": return Alias(address: address, meaning: .verb(.unsubscribe))
    default: break
    }
    // klick says set_x where we say x: /tactus/set_tempo, /tactus/click/set_volume.
    let last = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
    guard path[last...].hasPrefix("set_") else { return nil }
    let row = String(path[..<last] + path[last...].dropFirst(4))
    return table.id(row) == nil ? nil : Alias(address: address, meaning: .row(row))
  }

  /// The addresses at which a dialect is told a row.
  static func told(_ path: String, in dialect: Dialect) -> [String] {
    all.compactMap { alias in
      guard alias.isTold, alias.dialect == dialect, case .row(path) = alias.meaning else { return nil }
      return alias.address
    }
  }
}

extension Node {
  /// klick counts its sounds.
  func told(_ arguments: [Argument], in dialect: Dialect) -> [Argument] {
    guard dialect == .klick, case .word(let words)? = parameters.first,
      case .string(let word)? = arguments.first, let place = words.firstIndex(of: word)
    else { return arguments }
    return [.int32(Int32(place))]
  }
}

extension SurfaceMachine {
  mutating func obey(
    _ alias: Alias, _ arguments: [Argument], address: String, from peer: Peer, at time: Micros
  ) throws(Refusal) {
    switch alias.meaning {
    case .row(let path):
      guard let id = table.id(path) else { return }
      try obey(id.index, arguments, from: peer, at: time, dialect: alias.dialect)
    case .press(let path, let value):
      guard let id = table.id(path) else { return }
      if let number = arguments.first?.number, number < 0.5 { return }
      try obey(id.index, [value], from: peer, at: time, dialect: alias.dialect)
    case .verb(let verb):
      try obey(verb, arguments, from: peer, dialect: alias.dialect)
    case .ardourSurface:
      // bank, types, feedback, gain mode, send page, plug-in page, port, link set, link id; fewer are allowed, and a
      // controller that can send one number only writes them into the address.
      let inlined = address.split(separator: "/").dropFirst().map { Argument.string(String($0)) }
      let parameters = inlined.isEmpty ? arguments : Array(inlined)
      let port = parameters.count > 6 ? parameters[6].number ?? 0 : 0
      try obey(.subscribe, [.float64(port)], from: peer, dialect: .ardour)
    }
  }
}
