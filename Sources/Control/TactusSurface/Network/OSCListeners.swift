// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
internal import LinkSystem
import TactusOSC

/// The places at which the surface can be reached: its listening addresses, and its entries in the network's
/// directory.
///
/// Each place opens, fails and recovers on its own, and reports that. An address may appear after the start
/// (DHCP, a cable) or disappear, and another program may hold a port for a while. So all places are checked
/// again every two seconds.
final class OSCListeners {
  /// The shortest time between two starts of the program that announces tactus.
  static let announcementInterval = Micros(30_000_000)

  /// A place that is open, or the reason why it is not.
  private struct Listener<Thing> {
    var thing: Thing?
    var failure: String?
  }

  /// An announcement in the network's directory, and its port.
  private final class Entry {
    let announcement: Announcement
    let port: UInt16
    init?(_ service: Announcement.Service, port: UInt16, settings: SurfaceSettings) {
      guard
        let made = Announcement(
          service, name: settings.serviceName ?? "", port: port, command: settings.announcer)
      else { return nil }
      announcement = made
      self.port = port
    }
  }

  /// The settings; each `listen` address has the port that was actually opened.
  let settings: SurfaceSettings
  private let notice: @Sendable (Notice) -> Void
  private var addresses: [Listener<SocketBox>] = []
  private var routes: [SendRoute]
  /// The index of each controller in `settings.targets`: by the address that the user wrote, and by the
  /// present address if that differs.
  private let named: [Peer: Int]
  private var moved: [Endpoint: Int] = [:]
  private var entries: [Announcement.Service: Listener<Entry>] = [:]
  private var due = Micros.zero
  private var announcementDue = Micros.zero

  init(_ settings: SurfaceSettings, notice: @escaping @Sendable (Notice) -> Void) {
    self.notice = notice
    routes = settings.targets.map { SendRoute(to: $0.endpoint) }
    named = Dictionary(
      settings.targets.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
    let hosts = settings.listen.map(\.address)
    let wanted = settings.listen.first?.port ?? 0
    var port = wanted
    var tries = Self.open(hosts, port: port, settings)
    while !settings.isPortFixed, wanted != 0, port != 0, tries.contains(where: Self.isTaken) {
      port = ListenPolicy.port(after: port, wanted: wanted)
      tries = Self.open(hosts, port: port, settings)
    }
    for case .success(let box) in tries { port = box.socket.endpoint.port }
    var settings = settings
    settings.listen = hosts.map { Endpoint($0, port: port) }
    self.settings = settings
    if wanted != 0, port != wanted { notice(.portTaken(wanted, instead: port)) }
    for (host, result) in zip(hosts, tries) { addresses.append(listener(host, result, now: Listener())) }
    openWays()
  }

  // MARK: the open sockets

  /// The number of sockets: the listening sockets, followed by the controllers' own sockets.
  var count: Int { addresses.count + routes.count }
  func descriptor(_ index: Int) -> Int32? { box(index)?.socket.descriptor }

  private func box(_ index: Int) -> SocketBox? {
    index < addresses.count ? addresses[index].thing : routes[index - addresses.count].own
  }

  /// Returns the sender as a peer. A controller's own socket receives only from that controller.
  func peer(_ source: Endpoint, at index: Int, _ arrival: PacketInfo? = nil) -> Peer {
    var peer =
      index >= addresses.count
      ? settings.targets[index - addresses.count]
      : moved[source].map { settings.targets[$0] } ?? Peer(source, socket: index)
    peer.arrival = arrival
    return peer
  }

  var endpoints: [Endpoint] { addresses.compactMap { $0.thing?.socket.endpoint } }

  /// The addresses that are missing, each with the reason.
  var missing: [String] {
    let entries = self.entries.values.compactMap(\.failure)
    let unreached = routes.compactMap(\.failure)
    return addresses.compactMap(\.failure) + unreached + [String](Set(entries))
  }

  func receive(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) -> DatagramSocket.Received {
    box(index)?.socket.receive(into: buffer) ?? .nothing
  }

  func nextUnreachable(_ index: Int) -> (target: Endpoint, isThere: Bool)? {
    guard let (target, isThere) = box(index)?.socket.nextUnreachable() else { return nil }
    return (peer(target, at: index).endpoint, isThere)
  }

  func send(_ bytes: [UInt8], to peer: Peer, trust: Trust) {
    guard addresses.indices.contains(peer.socket) else { return }
    let number = named[peer]
    let route = number.map { routes[$0] }
    // If the controller's own socket is missing, use any open socket of the same address family.
    let listener =
      route?.own ?? addresses[route?.listener ?? peer.socket].thing
      ?? addresses.lazy.compactMap(\.thing).first {
        $0.socket.endpoint.address.isIPv6 == peer.endpoint.address.isIPv6
      }
    let own = peer.arrival.flatMap { $0.to.isOfMany ? nil : $0.to }
    let isSent = listener?.socket.send(
      bytes, to: route?.there ?? peer.endpoint, from: own, leaving: trust.leaves)
    if isSent == false, let number { routes[number].doubt() }
  }

  // MARK: opening and closing

  /// Checks all places again if that is due. Returns whether it was due.
  func poll(at now: Micros, web: WebReach) -> Bool {
    guard now >= due else { return false }
    due = now + ListenPolicy.interval
    for index in addresses.indices {
      let endpoint = settings.listen[index]
      if addresses[index].thing == nil {
        let found = Self.open([endpoint.address], port: endpoint.port, settings)
        addresses[index] = listener(endpoint.address, found[0], now: addresses[index])
        if let opened = addresses[index].thing { notice(.opened("OSC: \(opened.socket.endpoint)")) }
      } else if let here = addresses[index].thing?.socket.endpoint.address,
        let failure = ListenPolicy.loss(of: here)
      {
        addresses[index] = listener(endpoint.address, .failure(failure), now: addresses[index])
      }
    }
    openWays()
    announce(web, at: now)
    return true
  }

  private func openWays() {
    guard !routes.isEmpty else { return }
    let listening = addresses.map { $0.thing?.socket.endpoint }
    let interfaces = Interface.up() ?? []
    for index in routes.indices {
      let before = routes[index].failure
      routes[index].poll(listening: listening, interfaces: interfaces, settings)
      let now = routes[index].failure
      if let now, now != before { notice(.missing(now)) }
      if before != nil, now == nil { notice(.opened("OSC: sending to \(routes[index].there)")) }
    }
    let elsewhere = routes.enumerated().filter { $0.element.there != $0.element.target }
    moved = Dictionary(
      elsewhere.map { ($0.element.there, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  private static func open(
    _ hosts: [Address], port: UInt16, _ settings: SurfaceSettings
  ) -> [Result<SocketBox, OpenFailure>] {
    var port = port
    return hosts.map { host in
      do throws(OpenFailure) {
        let box = try SocketBox(settings.present(Endpoint(host, port: port)))
        port = box.socket.endpoint.port
        return .success(box)
      } catch {
        return .failure(error)
      }
    }
  }

  private static func isTaken(_ result: Result<SocketBox, OpenFailure>) -> Bool {
    if case .failure(let failure) = result { failure.code == EADDRINUSE } else { false }
  }

  private func listener(
    _ host: Address, _ result: Result<SocketBox, OpenFailure>, now listener: Listener<SocketBox>
  ) -> Listener<SocketBox> {
    switch result {
    case .success(let box): return Listener(thing: box)
    case .failure(let failure):
      return Listener(
        failure: ListenPolicy.isMissed(host, failure)
          ? reported(Self.words(failure), after: listener.failure) : nil)
    }
  }

  private static func words(_ failure: OpenFailure) -> String {
    failure.code == EADDRNOTAVAIL
      ? "OSC: can't listen at \(failure.endpoint.address): this machine does not have that address (yet)"
      : "no OSC: \(failure)"
  }

  private func reported(_ failure: String, after earlier: String?) -> String {
    if failure != earlier { notice(.missing(failure)) }
    return failure
  }

  /// Announces the surface if the network can reach it. A surface that listens on loopback alone is not
  /// announced.
  private func announce(_ web: WebReach, at now: Micros) {
    guard settings.serviceName != nil else { return }
    let port = endpoints.first { !$0.address.isLoopback }?.port
    keep(.osc, port: port, at: now)
    keep(.oscQuery, port: port == nil ? nil : web.queryPort, at: now)
    keep(.page, port: web.pagePort, at: now)
    if now >= announcementDue { announcementDue = now + Self.announcementInterval }
  }

  private func keep(_ service: Announcement.Service, port: UInt16?, at now: Micros) {
    guard let port else {
      entries[service] = nil
      return
    }
    let listener = entries[service] ?? Listener()
    if let entry = listener.thing, let why = entry.announcement.ended {
      // OSC and OSCQuery usually fail for the same reason, so report that reason only once.
      let known = listener.failure ?? entries[.osc]?.failure
      entries[service] = Listener(failure: reported("not announced: \(why)", after: known))
    } else if listener.thing?.port != port, listener.failure == nil || now >= announcementDue {
      // Keep the earlier failure until the next check shows that the restarted program still runs.
      entries[service] = Listener(
        thing: Entry(service, port: port, settings: settings), failure: listener.failure)
    } else if listener.thing != nil, listener.failure != nil {
      entries[service]?.failure = nil
      notice(.opened("announced as \"\(settings.serviceName ?? "")\""))
    }
  }
}
