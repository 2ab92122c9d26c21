// SPDX-License-Identifier: GPL-2.0-or-later
import TactusMIDI
import TactusOSC
import TactusSurface
import TactusTerminal
import TactusWeb

/// The choices about OSC, OSCQuery and the page.
struct SurfaceChoice: Equatable, Sendable {
  var osc = PortChoice.on
  var listen: [String] = []
  var allow: [String] = []
  var send: [String] = []
  var out: [String] = []
  var query = PortChoice.off
  var serviceName: String?
  var aliases = true
  var web = PortChoice.off
  var webListen: [String] = []
}

/// Whether to listen, and at which port. `on` means the usual port, or a free port if the usual one is taken.
enum PortChoice: Equatable, OptionValueType {
  case off, on
  case at(UInt16)

  var port: UInt16? { if case .at(let port) = self { port } else { nil } }

  var texts: [String] { [port.map { "\($0)" } ?? "\(self)"] }
  mutating func parse(_ text: String) { self = text == "off" ? .off : UInt16(text).map { .at($0) } ?? .on }
}

extension Configuration {
  static let surfaceOptions: [Option<Configuration>] = [
    Option(
      "osc", "o", in: .surface, .value("PORT", .port, \.surface.osc, bare: "on"), reach: .start,
      help:
        "Listen for OSC from this machine, at this UDP port (default: \(Table.port), or the next free one). --no-osc "
        + "switches OSC off."),
    Option(
      "osc-listen", in: .surface, .value("ADDRESS", .address, \.surface.listen),
      reach: .start,
      help:
        "Listen for OSC at this address too, as soon as this machine has it; 0.0.0.0 or :: stands for all of them. Can be repeated."
    ),
    Option(
      "osc-allow", in: .surface, .value("NETWORK", .network, \.surface.allow),
      reach: .start,
      help:
        "Obey only this machine and this address or network (192.168.7.0/24), by OSC and OSCQuery; remember what it "
        + "sets, and send it everything. Can be repeated."),
    Option(
      "osc-send", in: .surface, .value("ADDRESS:PORT", .endpoint, \.surface.send),
      reach: .start, help: "Send this controller everything, although it has not subscribed. Can be repeated."
    ),
    Option(
      "osc-query", in: .surface, .value("PORT", .port, \.surface.query, bare: "on"), reach: .start,
      help: "Describe all addresses over HTTP (OSCQuery), at this TCP port or a free one (default: off)."),
    Option(
      "osc-name", in: .surface, .value("NAME", .text(63), \.surface.serviceName),
      reach: .start, help: "Announce OSC on the network under this name (needs Avahi)."),
    Option(
      "osc-aliases", in: .surface, .flag(\.surface.aliases),
      reach: .start, help: "Also accept the addresses of klick, Ardour and jack_transport_link (default)."),
  ]

  static let pageOptions: [Option<Configuration>] = [
    Option(
      "web", in: .page, .value("PORT", .port, \.surface.web, bare: "on"), reach: .start,
      help:
        "Serve a page for browsers on this machine, at this TCP port (default: off; without a port \(WebSettings.port), or "
        + "the next free one), and OSCQuery beside it."),
    Option(
      "web-listen", in: .page, .value("ADDRESS", .address, \.surface.webListen), reach: .start,
      help:
        "Serve the page at this address too, as soon as this machine has it; 0.0.0.0 or :: stands for all of them. Can be repeated."
    ),
  ]

  static let midiOptions: [Option<Configuration>] = [
    Option(
      "midi", in: .midi, .value("EVENT=COMMAND", .binding, \.bindings),
      reach: .start,
      help:
        "Bind a key, knob or pedal at the port control to a command: \"note 36 ch 10 = tap\", \"cc 64 = start\", "
        + "\"cc 7 = click/volume\", \"cc 1 = tempo 90..140\", \"note 40 = tempo 128 bar\". --help-osc lists the "
        + "commands. Can be repeated."),
    Option(
      "midi-learned", in: .midi, .value("EVENT=COMMAND", .binding, \.learned),
      reach: .start, isRemembered: true,
      help:
        "A binding that tactus learned by OSC (midi/learn) and remembers. It wins over --midi. Can be "
        + "repeated."
    ),
  ]

  /// - Parameter isElsewhere: whether the view shows a tactus on another machine, with the keys of this user.
  func keyMap(isElsewhere: Bool = false) -> KeyMap {
    KeyMap(keys.compactMap { KeyBinding($0) }, isElsewhere: isElsewhere)
  }

  var webSettings: WebSettings {
    var settings = WebSettings()
    settings.name = name
    settings.version = Tactus.version
    settings.allow = surface.allow.compactMap { AddressRange($0) }
    settings.query = surface.osc == .off || surface.query == .off ? nil : surface.query.port ?? 0
    settings.isAnnounced = surface.serviceName != nil
    settings.isPortFixed = surface.web.port != nil
    settings.isOpen = choices.opensPage
    guard surface.web != .off || settings.isOpen else { return settings }
    let port = surface.web.port ?? WebSettings.port
    var hosts = surface.webListen.compactMap { Address($0) }.filter { !$0.isLoopback }
    let families = hosts.filter(\.isEvery).map(\.isIPv6)
    hosts += [Address.loopback, .v6(high: 0, low: 1, scope: 0)].filter { !families.contains($0.isIPv6) }
    settings.listen = hosts.map { Endpoint($0, port: port) }
    return settings
  }

  /// The surface's settings. If OSC is off, they have no address, but keys and pedals work all the same.
  var surfaceSettings: SurfaceSettings {
    var settings = SurfaceSettings()
    settings.version = Tactus.version
    settings.bindings = bindings.compactMap { MIDIBinding($0) }
    settings.learned = learned.compactMap { MIDIBinding($0) }
    settings.outward = surface.out.compactMap { try? OutwardLine($0) }
    guard surface.osc != .off else {
      settings.listen = []
      return settings
    }
    let port = surface.osc.port ?? Table.port
    settings.listen = settings.listen.map { Endpoint($0.address, port: port) }
    let others = surface.listen.compactMap { settings.address($0) }.filter { !$0.isLoopback }
    // The wildcard address of a family (0.0.0.0 or ::) includes the family's loopback address.
    if others.contains(where: { $0 == .v4(0) }) { settings.listen.removeAll { !$0.address.isIPv6 } }
    if others.contains(where: { $0.isIPv6 && $0.isEvery }) {
      settings.listen.removeAll { $0.address.isIPv6 }
    }
    settings.listen = others.map { Endpoint($0, port: port) } + settings.listen
    settings.isPortFixed = surface.osc != .on
    settings.allow = surface.allow.compactMap { AddressRange($0) }
    settings.targets = surface.send.compactMap { text in
      guard let (host, port) = Endpoint.split(text), let address = settings.address(host) else { return nil }
      // Use the first socket of the target's family: the network's sockets come before those of loopback.
      let socket = settings.listen.firstIndex { $0.address.isIPv6 == address.isIPv6 } ?? 0
      return Peer(Endpoint(address, port: port), socket: socket)
    }
    settings.serviceName = surface.serviceName
    settings.aliases = surface.aliases
    return settings
  }
}

extension Configuration {
  /// The configuration while there is no JACK server: keys work, OSC and the page are off.
  var keysAlone: Configuration {
    var keys = self
    keys.surface.osc = .off
    keys.surface.web = .off
    keys.choices.opensPage = false
    return keys
  }
}

extension OSCSurface {
  /// Opens the surface that the configuration asks for. What can't be opened at once is reported and tried
  /// again.
  static func open(_ configuration: Configuration, for desk: CommandHandler) -> OSCSurface? {
    var settings = configuration.surfaceSettings
    settings.keep = { desk.remember($0) }
    settings.expect = { desk.expect($0) }
    do {
      let surface = try OSCSurface(
        settings, state: desk.state,
        notice: { notice in
          if notice.isComplaint { Console.complain(notice.text) } else { Console.say(notice.text) }
        },
        handler: { desk.obey($0) })
      desk.connect(surface)
      if !surface.endpoints.isEmpty {
        Console.say("OSC: " + surface.endpoints.map(\.description).joined(separator: ", "))
      }
      return surface
    } catch {
      Console.complain("no control surface: \(error)")
      return nil
    }
  }
}
