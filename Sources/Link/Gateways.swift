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
  /// nil while we are not on the network.
  private(set) var nextScan: Micros?
  let watch = AddressWatch()

  private let status: LinkStatus
  private var lastScan: Micros?
  private var number: UInt32 = 0

  /// How often the machine's addresses are looked up, whatever the kernel announces (facts: link 3.6).
  static var scanPeriod: Micros { Micros(5_000_000) }
  /// And no more often than this, however many changes it announces, or sockets break as soon as they are opened.
  static var scanSpacing: Micros { Micros(50_000) }
  static var repairSpacing: Micros { Micros(1_000_000) }

  init(_ status: LinkStatus) { self.status = status }

  /// We are on the network from now on.
  mutating func begin(at now: Micros) { nextScan = now }

  mutating func closeAll() {
    all.removeAll()
    refused.removeAll()
    failure = nil
    nextScan = nil
  }

  mutating func isScanDue(at now: Micros) -> Bool {
    if watch.drain() { hastenScan(at: now) }
    if all.contains(where: \.isBroken) { hastenScan(at: now, spacing: Self.repairSpacing) }
    return nextScan.map { $0 <= now } ?? false
  }

  /// Only while there is a scan to come, which is while we are on the network.
  mutating func hastenScan(at now: Micros, spacing: Micros = Self.scanSpacing) {
    let earliest = lastScan.map { max($0 + spacing, now) } ?? now
    nextScan = nextScan.map { min($0, earliest) }
  }

  /// The addresses to be on. nil: without a descriptor to ask with, what is known stays so.
  mutating func lookUp(at now: Micros) -> [LocalAddress]? {
    lastScan = now
    nextScan = now + Self.scanPeriod
    guard let interfaces = Interface.up()?.filter(\.isRunning) else {
      if all.isEmpty { failure = SystemFailure(call: "getifaddrs", code: errno) }
      return nil
    }
    neighbours = Neighbourhood(interfaces)
    let (used, left) = LocalAddress.gateways(on: interfaces, limit: Limits.gateways)
    refused = left.map { ($0, SystemFailure(call: "too many addresses", code: ENOBUFS)) }
    return Array(used)
  }

  /// Those whose address has gone or whose sockets are broken.
  func stale(beside addresses: [LocalAddress]) -> [GatewaySockets] {
    all.filter { $0.isBroken || !addresses.contains($0.local) }
  }

  mutating func close(_ gateway: GatewaySockets) { all.removeAll { $0 === gateway } }

  /// Those that were missing.
  mutating func open(_ addresses: [LocalAddress]) -> [GatewaySockets] {
    var opened: [GatewaySockets] = []
    for local in addresses where !all.contains(where: { $0.local == local }) {
      do throws(SystemFailure) {
        number &+= 1
        opened.append(try GatewaySockets(local, id: GatewayID(rawValue: number)))
      } catch {
        refused.append((local, error))
      }
    }
    all += opened
    failure = reason
    return opened
  }

  /// Why we are on no network: of what was refused, the first, unless a gateway leads further than this machine.
  private var reason: SystemFailure? {
    let isOut = all.contains { !$0.local.isLoopback }
    return isOut ? nil : refused.first { !$0.0.isLoopback || all.isEmpty }?.1
  }
}
