// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface

/// The listening sockets. Each address opens, fails and recovers on its own, with a notice; all are checked
/// again every two seconds.
final class HTTPListeners {
  final class Listener {
    let descriptor: Int32
    let endpoint: Endpoint
    let kind: Connection.Listener

    init(_ wanted: Endpoint, _ kind: Connection.Listener) throws(OpenFailure) {
      descriptor = try openSocket(wanted, SOCK_STREAM)
      setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
      do throws(OpenFailure) {
        endpoint = try bindSocket(descriptor, to: wanted)
        guard listen(descriptor, WebLimits.backlog) == 0 else {
          throw OpenFailure(endpoint: wanted, call: "listen", code: errno)
        }
      } catch {
        Glibc.close(descriptor)
        throw error
      }
      self.kind = kind
    }

    deinit { Glibc.close(descriptor) }
  }

  private struct Place {
    let host: Address
    var listener: Listener?
    var failure: String?
  }

  private let settings: WebSettings
  private let notice: (Notice) -> Void
  private var places: [Place] = []
  /// The sockets that listen for OSCQuery when there is no page.
  private var queries: [Place] = []
  /// The port that all addresses of the page have in common.
  private var port: UInt16
  private var isOpenToNetworks = false
  private var due = Micros.zero
  private var hasLooked = false

  init(_ settings: WebSettings, notice: @escaping (Notice) -> Void) {
    self.settings = settings
    self.notice = notice
    port = settings.listen.first?.port ?? WebSettings.port
    isOpenToNetworks = settings.isOpen
    places = wanted.map { Place(host: $0) }
    choosePort()
  }

  var listeners: [Listener] { places.compactMap(\.listener) + queries.compactMap(\.listener) }
  var servesPage: Bool { !places.isEmpty }
  var endpoints: [Endpoint] { places.compactMap { $0.listener?.endpoint } }
  var queryEndpoint: Endpoint? { queries.lazy.compactMap { $0.listener?.endpoint }.first }

  /// The address of OSCQuery; empty: OSCQuery has none.
  var query: String { queryEndpoint.map { "http://\($0)/" } ?? "" }
  /// Why OSCQuery has no address.
  var queryFailure: String? {
    queryEndpoint == nil ? queries.lazy.compactMap(\.failure).first : nil
  }

  /// For each address at which the page is missing, the reason.
  var missing: [String] { places.compactMap(\.failure) }

  /// The ports for mDNS: those that other machines can reach.
  var announced: (query: UInt16?, page: UInt16?) {
    let page = endpoints.first { !$0.address.isLoopback }?.port
    return (queryEndpoint?.port ?? page, settings.isAnnounced ? page : nil)
  }

  /// The addresses at which to listen. The wildcard address of a family replaces the family's other
  /// addresses.
  private var wanted: [Address] {
    let hosts = settings.listen.map(\.address)
    guard isOpenToNetworks, !hosts.isEmpty, !hosts.contains(.v4(0)) else { return hosts }
    return [.v4(0)] + hosts.filter { $0.isIPv6 }
  }

  private func choosePort() {
    guard !settings.isPortFixed, port != 0 else { return }
    let first = port
    while port != 0, wanted.contains(where: { Self.isTaken(Endpoint($0, port: port)) }) {
      port = ListenPolicy.port(after: port, wanted: first)
    }
  }

  private static func isTaken(_ endpoint: Endpoint) -> Bool {
    do throws(OpenFailure) {
      _ = try Listener(endpoint, .page)
      return false
    } catch {
      return error.code == EADDRINUSE
    }
  }

  // MARK: opening and closing

  /// Opens the page to this machine's networks or closes it, at once. Returns whether that changed anything.
  func open(toNetworks isOpen: Bool) -> Bool {
    guard isOpen != isOpenToNetworks else { return false }
    isOpenToNetworks = isOpen
    let before = places
    places = wanted.map { host in before.first { $0.host == host } ?? Place(host: host) }
    due = .zero
    return true
  }

  /// Whether the page should be reachable at this local address.
  func wants(_ reached: Address) -> Bool {
    wanted.contains {
      $0 == reached || ($0.isEvery && $0.isIPv6 == reached.isIPv6) || ($0.isLoopback && reached.isLoopback)
    }
  }

  var deadline: Micros? { places.isEmpty && settings.query == nil ? nil : due }

  /// Checks all sockets if that is due. Returns whether it was due.
  func poll(at now: Micros, beside surface: Address?) -> Bool {
    guard let due = deadline, now >= due else { return false }
    self.due = now + ListenPolicy.interval
    defer { hasLooked = true }
    for index in places.indices { poll(at: &places[index]) }
    lookAtQuery(surface)
    return true
  }

  private func poll(at place: inout Place) {
    if let listener = place.listener {
      guard ListenPolicy.loss(of: listener.endpoint.address) != nil else { return }
      place.listener = nil
    }
    do throws(OpenFailure) {
      let listener = try Listener(Endpoint(place.host, port: port), .page)
      port = listener.endpoint.port
      (place.listener, place.failure) = (listener, nil)
    } catch {
      if ListenPolicy.isMissed(place.host, error) {
        place.failure = reported("no page: \(error)", after: place.failure)
      }
    }
  }

  /// Opens OSCQuery at the surface's first address, and on this machine at the same port.
  private func lookAtQuery(_ address: Address?) {
    guard let port = settings.query, let address else {
      queries = []
      return
    }
    let hosts = [.loopback, .v4(0)].contains(address) ? [address] : [address, .loopback]
    if queries.map(\.host) != hosts {
      queries = hosts.map { host in queries.first { $0.host == host } ?? Place(host: host) }
    }
    for index in queries.indices where queries[index].listener == nil {
      do throws(OpenFailure) {
        let wanted = port == 0 ? queryEndpoint?.port ?? 0 : port
        let listener = try Listener(Endpoint(hosts[index], port: wanted), .query)
        if hasLooked { notice(.opened("OSCQuery: http://\(listener.endpoint)/")) }
        (queries[index].listener, queries[index].failure) = (listener, nil)
      } catch {
        queries[index].failure = reported("no OSCQuery: \(error)", after: queries[index].failure)
      }
    }
  }

  private func reported(_ failure: String, after earlier: String?) -> String {
    if failure != earlier { notice(.missing(failure)) }
    return failure
  }
}
