// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// Where and to whom the control surface listens, as the command line says it.
struct SurfaceChoice: Equatable, Sendable {
  var isWanted = true
  var port = Int(Table.port)
  var isPortFixed = false
  var listen: [String] = []
  var allow: [String] = []
  var send: [String] = []
  var queryPort: Int?
  var serviceName: String?
  var aliases = true
}

extension Configuration {
  static let surfaceOptions: [Option<Configuration>] = [
    Option(
      "osc", in: .surface, .flag(\.surface.isWanted),
      help: "Be controlled by OSC (default), on this machine's loopback addresses. --no-osc is without."),
    Option(
      "osc-port", "o", in: .surface,
      .value(
        Value(placeholder: "PORT", allowed: .integer(1...65_535)) {
          $0.surface.port = Int($1) ?? Int(Table.port)
          $0.surface.isPortFixed = true
        }),
      help: "The UDP port (default: \(Table.port), or a free one if that is taken)."),
    Option(
      "osc-listen", in: .surface, .value(.several("ADDRESS", .address, \.surface.listen)),
      help: "Listen at this address too: one of this machine's, or 0.0.0.0 or :: for all. Can be repeated."),
    Option(
      "osc-allow", in: .surface, .value(.several("NETWORK", .network, \.surface.allow)),
      help: "Obey only this address or network (192.168.7.0/24), and this machine. Can be repeated."),
    Option(
      "osc-send", in: .surface, .value(.several("ADDRESS:PORT", .endpoint, \.surface.send)),
      help: "Tell this controller what happens without being asked. Can be repeated."),
    Option(
      "osc-query", in: .surface,
      .optionalValue(
        Value(placeholder: "PORT", allowed: .integer(0...65_535)) { $0.surface.queryPort = Int($1) },
        bare: "0"),
      help: "Describe all addresses over HTTP (OSCQuery), at this TCP port or a free one."),
    Option(
      "osc-name", in: .surface, .value(.text("NAME", upTo: 63, \.surface.serviceName)),
      help: "Announce it on the network under this name, where Avahi runs."),
    Option(
      "osc-aliases", in: .surface, .flag(\.surface.aliases),
      help: "Understand the addresses of klick, Ardour and jack_transport_link too (default)."),
  ]

  /// nil: not wanted.
  var surfaceSettings: SurfaceSettings? {
    guard surface.isWanted else { return nil }
    var settings = SurfaceSettings()
    let port = UInt16(clamping: surface.port)
    settings.listen = settings.listen.map { Endpoint($0.host, port: port) }
    let others = surface.listen.compactMap { Host($0) }.filter { !$0.isLoopback }
    // All addresses of a family have the loopback one among them.
    if others.contains(where: { $0.ipv4 == 0 }) { settings.listen.removeAll { $0.host.ipv4 != nil } }
    if others.contains(where: { $0.high == 0 && $0.low == 0 }) {
      settings.listen.removeAll { $0.host.ipv4 == nil }
    }
    settings.listen = others.map { Endpoint($0, port: port) } + settings.listen
    settings.isPortFixed = surface.isPortFixed
    settings.allow = surface.allow.compactMap { HostRange($0) }
    settings.targets = surface.send.compactMap { text in
      Endpoint(text).map { target in
        // From a socket of its family, and the network's rather than loopback's.
        let socket = settings.listen.firstIndex { ($0.host.ipv4 == nil) == (target.host.ipv4 == nil) } ?? 0
        return Peer(target, socket: socket)
      }
    }
    settings.query = surface.queryPort.map { UInt16(clamping: $0) }
    settings.serviceName = surface.serviceName
    settings.aliases = surface.aliases
    settings.version = Tactus.version
    return settings
  }
}

extension Value where Settings == Configuration {
  /// May be given several times; each is looked at before anything starts.
  fileprivate static func several(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Configuration, [String]> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: allowed) { $0[keyPath: place].append($1) }
  }
}
