// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import BeatMath
import Glibc
internal import LinkSession
internal import Linux

/// This machine's addresses as far as Link uses them, and the sockets there: looked up again when the kernel announces a
/// change, when sockets break, and every few seconds all the same. [network]
struct Gateways: Sendable {
  private(set) var all: [GatewaySockets] = []
  /// Addresses that could not be opened, and why; tried again at each scan.
  private(set) var refused: [(LocalAddress, SystemFailure)] = []
  /// Why there is no gateway at all, or none but to this machine itself.
  private(set) var failure: SystemFailure? {
    didSet { status.isMute.store(failure != nil, ordering: .relaxed) }
  }
  private(set) var neighbours = Neighbourhood()
  /// All interfaces, also those that Link is not to use.
  private(set) var machine = Neighbourhood()
  /// nil while we are not on the network.
  private(set) var nextScan: Micros?
  let watch = AddressWatch()

  private let status: LinkStatus
  /// The interfaces to be on, by name; nil: all.
  let allowed: Set<String>?
  private var absences = Absences()
  private var lastScan: Micros?
  private var number: UInt32 = 0

  /// How often the machine's addresses are looked up, whatever the kernel announces (facts: link 3.6).
  static var scanPeriod: Micros { Micros(5_000_000) }
  /// And no more often than this, however many changes it announces, or sockets break as soon as they are opened.
  static var scanSpacing: Micros { Micros(50_000) }
  static var repairSpacing: Micros { Micros(1_000_000) }

  init(_ status: LinkStatus, interfaces allowed: Set<String>?) {
    self.status = status
    self.allowed = allowed
  }

  /// We are on the network from now on.
  mutating func begin(at now: Micros) { nextScan = now }

  mutating func closeAll() {
    all.removeAll()
    refused.removeAll()
    failure = nil
    absences = Absences()
    nextScan = nil
  }

  /// `isNews`: the kernel has announced a change.
  mutating func isScanDue(isNews: Bool, at now: Micros) -> Bool {
    if isNews { hastenScan(at: now) }
    if all.contains(where: \.isBroken) { hastenScan(at: now, spacing: Self.repairSpacing) }
    return nextScan.map { $0 <= now } ?? false
  }

  /// Only while there is a scan to come, which is while we are on the network.
  mutating func hastenScan(at now: Micros, spacing: Micros = Self.scanSpacing) {
    let earliest = lastScan.map { max($0 + spacing, now) } ?? now
    nextScan = nextScan.map { min($0, earliest) }
  }

  /// The next look is under way.
  mutating func beginScan(at now: Micros) {
    lastScan = now
    nextScan = now + Self.scanPeriod
  }

  mutating func learn(_ reason: SystemFailure) {
    if all.isEmpty { failure = reason }
  }

  /// Takes over what a look around has found. Returns the gateways that are to be closed now: those whose
  /// address is missing for too long, and those whose sockets broke at an address that is there.
  mutating func learn(_ found: AddressScan.Found, at now: Micros) -> [GatewaySockets] {
    (neighbours, machine) = (found.neighbours, found.machine)
    refused = found.left.map { ($0, SystemFailure(call: "too many addresses", code: ENOBUFS)) }
    // Without its address no socket can send. That is over, and opening again would lose the peers.
    for back in all where absences.contains(back.local) && found.used.contains(back.local) { back.forgive() }
    let ended = absences.learn(found: found.used, open: all.map(\.local), limit: Limits.gateways, at: now)
    if let end = absences.nextEnd { nextScan = nextScan.map { min($0, end) } }
    return all.filter { ended.contains($0.local) || ($0.isBroken && !absences.contains($0.local)) }
  }

  mutating func close(_ gateway: GatewaySockets) { all.removeAll { $0 === gateway } }

  /// Where a gateway is missing, and the name that it will have.
  mutating func missing(of addresses: ArraySlice<LocalAddress>) -> [(LocalAddress, GatewayID)] {
    addresses.filter { local in !all.contains { $0.local == local } }.map { local in
      number &+= 1
      return (local, GatewayID(rawValue: number))
    }
  }

  mutating func take(_ opened: [AddressScan.Opened]) {
    for one in opened {
      switch one {
      case .open(let gateway): all.append(gateway)
      case .refused(let local, let reason): refused.append((local, reason))
      }
    }
    failure = reason
  }

  /// Why we are on no network: of what was refused, the first, unless a gateway leads further than this machine.
  private var reason: SystemFailure? {
    if all.isEmpty, refused.isEmpty, allowed != nil {
      return SystemFailure(call: "none of the chosen interfaces", code: ENODEV)
    }
    let isOut = all.contains { !$0.local.isLoopback }
    return isOut ? nil : refused.first { !$0.0.isLoopback || all.isEmpty }?.1
  }
}
