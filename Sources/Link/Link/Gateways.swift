// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem

/// The sockets on this machine's addresses. The addresses are scanned when the kernel announces a change,
/// when sockets break, and every few seconds in any case. [network]
struct Gateways: Sendable {
  private(set) var all: [GatewaySockets] = []
  /// Addresses that could not be opened, with the reasons; each scan tries them again.
  private(set) var refused: [(LocalAddress, SystemFailure)] = []
  /// The reason why there is no gateway, or only the gateway of the loopback address; nil if there is another
  /// gateway.
  private(set) var failure: SystemFailure? {
    didSet { status.isMute.store(failure != nil, ordering: .relaxed) }
  }
  /// Whether the addresses were scanned at least once since Link was turned on.
  private var hasLooked = false
  private(set) var neighbours = Neighbourhood()
  /// The networks of all interfaces, also of those that Link does not use.
  private(set) var machine = Neighbourhood()
  /// The time of the next scan; nil while Link is not on the network.
  private(set) var nextScan: Micros?
  let watch = AddressWatch()

  private let status: LinkStatus
  /// Names of the interfaces to use; nil: all.
  let allowed: Set<String>?
  private var absences = Absences()
  private var lastScan: Micros?
  private var number: UInt32 = 0

  /// Interval of scans without any announcement (facts: link 3.6).
  static var scanPeriod: Micros { Micros(5_000_000) }
  /// The least time between scans: `scanSpacing` however many changes the kernel announces, `repairSpacing`
  /// after sockets broke.
  static var scanSpacing: Micros { Micros(50_000) }
  static var repairSpacing: Micros { Micros(1_000_000) }

  init(_ status: LinkStatus, interfaces allowed: Set<String>?) {
    self.status = status
    self.allowed = allowed
  }

  /// Starts scanning: Link is on the network now.
  mutating func begin(at now: Micros) { nextScan = now }

  mutating func closeAll() {
    all.removeAll()
    refused.removeAll()
    failure = nil
    hasLooked = false
    absences = Absences()
    nextScan = nil
  }

  /// Whether a scan is due. `isNews`: the kernel has announced a change.
  mutating func isScanDue(isNews: Bool, at now: Micros) -> Bool {
    if isNews { hastenScan(at: now) }
    if all.contains(where: \.isBroken) { hastenScan(at: now, spacing: Self.repairSpacing) }
    return nextScan.map { $0 <= now } ?? false
  }

  /// Moves the next scan to an earlier time. If no scan is planned, Link is not on the network, and nothing
  /// happens.
  mutating func hastenScan(at now: Micros, spacing: Micros = Self.scanSpacing) {
    let earliest = lastScan.map { max($0 + spacing, now) } ?? now
    nextScan = nextScan.map { min($0, earliest) }
  }

  /// Notes that a scan starts now.
  mutating func beginScan(at now: Micros) {
    lastScan = now
    nextScan = now + Self.scanPeriod
  }

  mutating func learn(_ reason: SystemFailure) {
    if all.isEmpty { failure = reason }
  }

  /// Takes over the result of a scan. Returns the gateways to close: those whose address is missing for too
  /// long, and those with broken sockets at an existing address.
  mutating func learn(_ found: AddressScan.Found, at now: Micros) -> [GatewaySockets] {
    (neighbours, machine) = (found.neighbours, found.machine)
    refused = found.left.map { ($0, SystemFailure(call: "too many addresses", code: ENOBUFS)) }
    // A socket cannot send while its address is missing. Such a failure is forgiven, because we would lose
    // the peers if we reopened the socket.
    for back in all where absences.contains(back.local) && found.used.contains(back.local) { back.forgive() }
    let ended = absences.learn(found: found.used, open: all.map(\.local), limit: Limits.gateways, at: now)
    if let end = absences.nextEnd { nextScan = nextScan.map { min($0, end) } }
    return all.filter { ended.contains($0.local) || ($0.isBroken && !absences.contains($0.local)) }
  }

  mutating func close(_ gateway: GatewaySockets) { all.removeAll { $0 === gateway } }

  /// The addresses that have no gateway, with ids for new gateways.
  mutating func missing(of addresses: ArraySlice<LocalAddress>) -> [(LocalAddress, GatewayID)] {
    addresses.filter { local in !all.contains { $0.local == local } }.map { local in
      number &+= 1
      return (local, GatewayID(rawValue: number))
    }
  }

  mutating func adopt(_ opened: [AddressScan.Opened]) {
    for one in opened {
      switch one {
      case .open(let gateway): all.append(gateway)
      case .refused(let local, let reason): refused.append((local, reason))
      }
    }
    failure = reason
    hasLooked = true
  }

  /// The failure as an app sees it. Without an interface, Link works alone and waits for an interface.
  var shownFailure: Link.Failure? {
    if all.isEmpty, refused.isEmpty, hasLooked { return allowed == nil ? .noInterface : .noChosenInterface }
    return failure.map { Link.Failure($0) }
  }

  /// The reason why Link has no network: the first refused address; nil if a gateway leads out of this
  /// machine.
  private var reason: SystemFailure? {
    if all.isEmpty, refused.isEmpty, allowed != nil {
      return SystemFailure(call: "none of the chosen interfaces", code: ENODEV)
    }
    let isOut = all.contains { !$0.local.isLoopback }
    return isOut ? nil : refused.first { !$0.0.isLoopback || all.isEmpty }?.1
  }
}
