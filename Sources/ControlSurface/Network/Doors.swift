// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import OSC

/// Where the surface can be reached: its addresses, OSCQuery, and its entry in the network's directory.
///
/// Each of them is optional: it opens, fails and returns alone, and says so. An address may come after us (DHCP, a cable)
/// or go, another program may hold a port for a while; all are looked at again, every two seconds.
final class Doors {
  static let interval = Micros(2_000_000)
  /// A program that has ended is not started again at once.
  static let announcementInterval = Micros(30_000_000)
  /// If the usual port is taken, so many after it are tried before any free one.
  static let nextPorts: UInt16 = 16

  /// What can be there or not, and why it is not.
  private struct Door<Thing> {
    var thing: Thing?
    var failure: String?
  }

  /// A socket may not be copied, an array's element must be.
  private final class SocketBox {
    let socket: DatagramSocket
    init(_ endpoint: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(bindingTo: endpoint) }
  }

  /// The same for what is announced.
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

  /// With the port that they all have.
  let settings: SurfaceSettings
  private let notice: @Sendable (Notice) -> Void
  private var addresses: [Door<SocketBox>] = []
  private var queryDoor = Door<QueryServer>()
  private var entries: [Announcement.Service: Door<Entry>] = [:]
  private var due = Micros.zero
  private var announcementDue = Micros.zero

  init(_ settings: SurfaceSettings, notice: @escaping @Sendable (Notice) -> Void) {
    self.notice = notice
    let hosts = settings.listen.map(\.address)
    let wanted = settings.listen.first?.port ?? 0
    var port = wanted
    var tries = Self.open(hosts, port: port)
    while !settings.isPortFixed, wanted != 0, port != 0, tries.contains(where: Self.isTaken) {
      port = port - wanted < Self.nextPorts && port < UInt16.max ? port + 1 : 0
      tries = Self.open(hosts, port: port)
    }
    for case .success(let box) in tries { port = box.socket.endpoint.port }
    var settings = settings
    settings.listen = hosts.map { Endpoint($0, port: port) }
    self.settings = settings
    if wanted != 0, port != wanted { notice(.portTaken(wanted, instead: port)) }
    for (host, result) in zip(hosts, tries) { addresses.append(door(host, result, now: Door())) }
    openQuery()
  }

  // MARK: what is there

  var count: Int { addresses.count }
  func descriptor(_ index: Int) -> Int32? { addresses[index].thing?.socket.descriptor }

  var endpoints: [Endpoint] { addresses.compactMap { $0.thing?.socket.endpoint } }
  var query: QueryServer? { queryDoor.thing }

  /// For people: where, and what is missing.
  var words: String {
    let open = endpoints.map(\.description) + (query.map { ["http://\($0.endpoint)/"] } ?? [])
    let entries = self.entries.values.compactMap(\.failure)
    let missing = addresses.compactMap(\.failure) + [queryDoor.failure].compactMap { $0 } + Set(entries)
    return ((open.isEmpty ? [] : [open.joined(separator: ", ")]) + missing).joined(separator: "; ")
  }

  func receive(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) -> DatagramSocket.Received {
    addresses[index].thing?.socket.receive(into: buffer) ?? .nothing
  }

  func nextUnreachable(_ index: Int) -> (target: Endpoint, isThere: Bool)? {
    addresses[index].thing?.socket.nextUnreachable()
  }

  func send(_ bytes: [UInt8], to peer: Peer, standing: Standing) {
    guard addresses.indices.contains(peer.socket) else { return }
    addresses[peer.socket].thing?.socket.send(bytes, to: peer.endpoint, leaving: standing.leaves)
  }

  // MARK: what comes and goes

  /// true: something was looked at again.
  func look(at now: Micros) -> Bool {
    guard now >= due else { return false }
    due = now + Self.interval
    for index in addresses.indices {
      let endpoint = settings.listen[index]
      if addresses[index].thing == nil {
        let found = Self.open([endpoint.address], port: endpoint.port)
        addresses[index] = door(endpoint.address, found[0], now: addresses[index])
        if let opened = addresses[index].thing { notice(.opened("OSC: \(opened.socket.endpoint)")) }
      } else if let failure = Self.loss(of: endpoint.address) {
        addresses[index] = door(endpoint.address, .failure(failure), now: addresses[index])
      }
    }
    let before = query?.endpoint
    openQuery()
    if let query, query.endpoint != before { notice(.opened("OSCQuery: http://\(query.endpoint)/")) }
    announce(at: now)
    return true
  }

  private static func open(_ hosts: [Address], port: UInt16) -> [Result<SocketBox, OpenFailure>] {
    var port = port
    return hosts.map { host in
      do throws(OpenFailure) {
        let box = try SocketBox(Endpoint(host, port: port))
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

  /// Nil while this machine has the address. A socket alone would not tell.
  private static func loss(of host: Address) -> OpenFailure? {
    guard !host.isLoopback, !host.isEvery else { return nil }
    do throws(OpenFailure) {
      _ = try DatagramSocket(bindingTo: Endpoint(host, port: 0))
      return nil
    } catch {
      return error.code == EADDRNOTAVAIL ? error : nil
    }
  }

  private func door(
    _ host: Address, _ result: Result<SocketBox, OpenFailure>, now door: Door<SocketBox>
  ) -> Door<SocketBox> {
    switch result {
    case .success(let box): return Door(thing: box)
    case .failure(let failure):
      // Nobody asked for IPv6's loopback, and a machine may be without.
      let isMissed =
        !host.isLoopback || !host.isIPv6
        || (failure.code != EAFNOSUPPORT && failure.code != EADDRNOTAVAIL)
      return Door(failure: isMissed ? told("no OSC: \(failure)", after: door.failure) : nil)
    }
  }

  private func told(_ failure: String, after earlier: String?) -> String {
    if failure != earlier { notice(.missing(failure)) }
    return failure
  }

  /// Beside the first address that is there.
  private func openQuery() {
    guard let wanted = settings.query, let address = endpoints.first?.address else {
      queryDoor = Door()
      return
    }
    guard query?.endpoint.address != address else { return }
    queryDoor.thing = nil
    do throws(OpenFailure) {
      let server = try QueryServer(Endpoint(address, port: wanted), settings: settings)
      queryDoor = Door(thing: server)
    } catch {
      queryDoor.failure = told("no OSCQuery: \(error)", after: queryDoor.failure)
    }
  }

  /// Nobody on the network could use what listens on loopback alone.
  private func announce(at now: Micros) {
    guard settings.serviceName != nil else { return }
    let port = endpoints.first { !$0.address.isLoopback }?.port
    keep(.osc, port: port, at: now)
    keep(.oscQuery, port: port == nil ? nil : query?.endpoint.port, at: now)
    if now >= announcementDue { announcementDue = now + Self.announcementInterval }
  }

  private func keep(_ service: Announcement.Service, port: UInt16?, at now: Micros) {
    guard let port else {
      entries[service] = nil
      return
    }
    let door = entries[service] ?? Door()
    if let entry = door.thing, let why = entry.announcement.ended {
      // The two have most reasons in common.
      let known = door.failure ?? entries[.osc]?.failure
      entries[service] = Door(failure: told("not announced: \(why)", after: known))
    } else if door.thing?.port != port, door.failure == nil || now >= announcementDue {
      // What was said before holds until it has been seen to stay.
      entries[service] = Door(thing: Entry(service, port: port, settings: settings), failure: door.failure)
    } else if door.thing != nil, door.failure != nil {
      entries[service]?.failure = nil
      notice(.opened("announced as \"\(settings.serviceName ?? "")\""))
    }
  }
}
