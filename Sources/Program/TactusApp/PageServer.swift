// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusOSC
import TactusSurface
import TactusTerminal
import TactusWeb

/// Runs the page's server while the page is wanted, and reports the page's addresses.
final class PageServer: Sendable {
  /// How often the addresses of this machine are looked up: they can change at any time.
  private static let interval = Micros(2_000_000)

  private struct State {
    var web: Web?
    var surface: OSCSurface?
    var configuration: Configuration?
    var isOpen = false
    var endpoints: [Endpoint] = []
    var next = Micros.zero
    var told: PageReach?
  }

  private let secrets: SecretFile
  private let held = Mutex(State())

  init(_ secrets: SecretFile) { self.secrets = secrets }

  /// Starts the server as configured. Browsers become controllers of `surface`. [control]
  func open(_ configuration: Configuration, at surface: OSCSurface?) {
    close()
    held.withLock { held in
      held.configuration = configuration
      held.surface = surface
      held.isOpen = configuration.choices.opensPage
      held.web = start(configuration, at: surface)
    }
  }

  private func start(_ configuration: Configuration, at surface: OSCSurface?) -> Web? {
    let settings = configuration.webSettings
    guard let surface, !settings.listen.isEmpty || settings.query != nil else { return nil }
    do throws(OpenFailure) {
      let web = try Web(
        settings, secret: { [secrets] in secrets.current() }, surface: surface, doctor: DoctorVisit.report
      ) { notice in
        if notice.isComplaint { Console.complain(notice.text) } else { Console.say(notice.text) }
      }
      if let query = web.queryEndpoint { Console.say("OSCQuery: http://\(query)/") }
      return web
    } catch {
      Console.complain("no page for browsers: \(error)")
      return nil
    }
  }

  /// Opens or closes the page to the network. [control]
  ///
  /// - Returns: the addresses at which the page can be reached, and why it is missing at others, if they were
  ///   looked up again; otherwise nil.
  func poll(isOpen: Bool, at now: Micros) -> (reach: PageReach, lacks: [String], isNew: Bool)? {
    held.withLock { held in
      if isOpen != held.isOpen { turn(&held, isOpen: isOpen) }
      let endpoints = held.web?.endpoints ?? []
      guard now >= held.next || endpoints != held.endpoints else { return nil }
      held.next = now + Self.interval
      held.endpoints = endpoints
      let isWanted = held.configuration?.surface.web != .off || isOpen
      let reach = isWanted ? PageReach(endpoints) : .off
      defer { held.told = reach }
      return (reach, held.web?.missing ?? [], reach != held.told ?? .off)
    }
  }

  private func turn(_ held: inout State, isOpen: Bool) {
    held.isOpen = isOpen
    held.next = .zero
    guard var configuration = held.configuration else { return }
    configuration.choices.opensPage = isOpen
    // Without `--web`, the server runs only while the page is open to the network.
    if configuration.surface.web == .off {
      held.web?.close()
      held.web = start(configuration, at: held.surface)
    } else {
      held.web?.open(toNetworks: isOpen)
    }
  }

  /// Stops the server, and says goodbye to all browsers. [any]
  func close() {
    let web = held.withLock { held in
      defer { (held.web, held.surface, held.configuration) = (nil, nil, nil) }
      return held.web
    }
    web?.close()
  }
}

extension PageReach {
  /// The limit for the text of all addresses together, in bytes.
  private static let longest = 200

  /// The reach of a server that listens at `endpoints`.
  init(_ endpoints: [Endpoint]) {
    let open = endpoints.filter { !$0.address.isLoopback }
    guard let first = open.first else {
      self = endpoints.first.map { .thisMachine("http://\($0)/") } ?? .closed
      return
    }
    let shown = open.flatMap { endpoint in
      endpoint.address.isEvery
        ? Reach.addresses(ofFamilyOf: endpoint.address).map { Endpoint($0, port: endpoint.port) } : [endpoint]
    }
    let named = shown.isEmpty ? nil : Self.localName.map { "\($0):\(first.port)" }
    var all = shown.filter { !$0.address.isIPv6 }.map(\.description)
    if let named { all.append(named) }
    all += shown.filter(\.address.isIPv6).map(\.description)
    var length = 0
    self = .network(
      all.map { "http://\($0)/" }.prefix { address in
        length += address.utf8.count + 2
        return length <= Self.longest
      })
  }

  /// This machine's mDNS name, if Avahi runs.
  private static var localName: String? {
    guard access("/run/avahi-daemon/socket", F_OK) == 0, let name = hostName?.lowercased() else { return nil }
    let own = name.prefix { $0 != "." }
    let isName =
      !own.isEmpty
      && own.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x2d }
    return isName ? own + ".local" : nil
  }
}
