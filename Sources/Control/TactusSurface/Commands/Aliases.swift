// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// The program whose addresses a controller sends and receives.
public enum Dialect: String, Hashable, Sendable {
  case own, klick, ardour
}

/// An address of another program that stands for a row of ours, so that a controller made for that program
/// can control tactus.
struct Alias: Sendable {
  enum Meaning: Sendable {
    case row(String)
    /// A button: pressing it sets the row to this value.
    case press(String, Argument)
    case verb(Verb)
    /// Ardour's `/set_surface`, whose seventh parameter is the port.
    case ardourSurface
  }

  /// Whether the address is accepted from controllers (`taken`), sent to them (`told`), or both.
  enum Use: Sendable {
    case taken, told, both
  }

  let address: String
  let meaning: Meaning
  let dialect: Dialect
  let isTold: Bool
  let isTaken: Bool

  init(_ address: String, _ meaning: Meaning, _ dialect: Dialect = .own, _ use: Use = .taken) {
    self.address = address
    self.meaning = meaning
    self.dialect = dialect
    isTold = use != .taken
    isTaken = use != .told
  }
}

enum Aliases {
  static let all: [Alias] = klick + ardour + jacklink

  private static let klick: [Alias] = [
    Alias("/klick/ping", .verb(.ping), .klick),
    Alias("/klick/register_client", .verb(.subscribe), .klick),
    Alias("/klick/unregister_client", .verb(.unsubscribe), .klick),
    Alias("/klick/query", .verb(.query), .klick),
    Alias("/klick/quit", .row("quit"), .klick),
    Alias("/klick/metro/start", .press("click", .truth(true)), .klick),
    Alias("/klick/metro/stop", .press("click", .truth(false)), .klick),
    Alias("/klick/metro/active", .row("click"), .klick, .told),
    Alias("/klick/simple/set_tempo", .row("tempo"), .klick),
    Alias("/klick/simple/tempo", .row("tempo"), .klick, .told),
    Alias("/klick/simple/current_tempo", .row("tempo"), .klick, .told),
    Alias("/klick/simple/set_meter", .row("meter"), .klick),
    Alias("/klick/simple/meter", .row("meter"), .klick, .told),
    Alias("/klick/simple/tap", .row("tempo/tap"), .klick),
    Alias("/klick/simple/set_pattern", .row("click/pattern"), .klick),
    Alias("/klick/simple/pattern", .row("click/pattern"), .klick, .told),
    Alias("/klick/config/set_volume", .row("click/volume"), .klick),
    Alias("/klick/config/volume", .row("click/volume"), .klick, .told),
    Alias("/klick/config/set_sound", .row("click/sound"), .klick),
    Alias("/klick/config/sound", .row("click/sound"), .klick, .told),
  ]

  private static let ardour: [Alias] = [
    Alias("/set_surface", .ardourSurface, .ardour),
    Alias("/transport_play", .row("start"), .ardour, .both),
    Alias("/transport_stop", .row("stop"), .ardour, .both),
    Alias("/toggle_roll", .row("toggle"), .ardour, .both),
    Alias("/goto_start", .row("rewind"), .ardour),
    Alias("/toggle_click", .row("click/toggle"), .ardour, .both),
    Alias("/click/level", .row("click/volume"), .ardour, .both),
    Alias("/position/bbt", .row("position/bbt"), .ardour, .told),
    Alias("/position/time", .row("position/time"), .ardour, .told),
    Alias("/heartbeat", .row("heartbeat"), .ardour, .told),
    Alias("/refresh", .verb(.query), .ardour),
  ]

  private static let jacklink: [Alias] = [
    Alias("/jacklink/bpm", .row("tempo")),
    Alias("/jacklink/beattime", .row("locate")),
    Alias("/jacklink/sync", .row("startstop")),
    Alias("/jacklink/rolling", .row("jack/rolling")),
  ]

  private static let taken: [String: Alias] = Dictionary(
    all.filter(\.isTaken).map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })

  /// Returns the meaning of another program's address. klick's verbs are also accepted below `/tactus`.
  static func find(_ address: String, in table: Table = .standard) -> Alias? {
    if let alias = taken[address] { return alias }
    if address.hasPrefix("/set_surface/") { return taken["/set_surface"] }
    guard let path = Table.path(of: address) else { return nil }
    switch path {
    case "register_client": return Alias(address, .verb(.subscribe))
    case "unregister_client": return Alias(address, .verb(.unsubscribe))
    default: break
    }
    // klick puts `set_` before the last part of some addresses: /tactus/set_tempo for our tempo,
    // /tactus/click/set_volume for our click/volume.
    let last = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
    guard path[last...].hasPrefix("set_") else { return nil }
    let row = String(path[..<last] + path[last...].dropFirst(4))
    return table.place(of: row) == nil ? nil : Alias(address, .row(row))
  }

  /// The addresses under which subscribers of a dialect receive a row.
  static func translate(_ path: String, in dialect: Dialect) -> [String] {
    all.compactMap { alias in
      guard alias.isTold, alias.dialect == dialect, case .row(path) = alias.meaning else { return nil }
      return alias.address
    }
  }
}

extension Node {
  /// The row's arguments in the subscriber's dialect: klick sends the number of a sound, not its name.
  func translate(_ arguments: [Argument], in dialect: Dialect) -> [Argument] {
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
      guard let row = table.place(of: path) else { return }
      try obey(row, arguments, from: peer, at: time, dialect: alias.dialect)
    case .press(let path, let value):
      guard let row = table.place(of: path) else { return }
      if let number = arguments.first?.number, number < 0.5 { return }
      try obey(row, [value], from: peer, at: time, dialect: alias.dialect)
    case .verb(let verb):
      try obey(verb, arguments, from: peer, dialect: alias.dialect)
    case .ardourSurface:
      // The parameters are: bank, types, feedback, gain mode, send page, plug-in page, port, link set, link
      // id. A controller may send fewer. A controller that can send only one number puts the parameters into
      // the address.
      let inlined = address.split(separator: "/").dropFirst().map { Argument.string(String($0)) }
      let parameters = inlined.isEmpty ? arguments : Array(inlined)
      let port = parameters.count > 6 ? parameters[6].number ?? 0 : 0
      try obey(.subscribe, [.float64(port)], from: peer, dialect: .ardour)
    }
  }
}
