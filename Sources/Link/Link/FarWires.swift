// SPDX-License-Identifier: GPL-2.0-or-later
internal import FarLink
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem
internal import LinkWire

/// The connections to other rooms: two sockets, for IPv4 and IPv6, and the `Switchboard` that encrypts the
/// datagrams. Each room that has proven to have the key is a gateway of the session, and remains a gateway
/// while the connection is cut. [network]
struct FarWires: Sendable {
  enum Event {
    case opened(Gateway)
    case closed(GatewayID)
    /// An open gateway has a new correction or distance.
    case changed(Gateway)
    case arrived([UInt8], on: GatewayID, via: Channel, waited: Micros)
  }

  struct Wire: Sendable {
    let line: LineID
    var gateway: Gateway
  }

  private(set) var settings: FarSettings
  private(set) var board: Switchboard?
  private var sockets: [FarSocket] = []
  private var ways = FarWays()
  private let names: FarNames
  /// The numbers of the called rooms whose names have no address.
  private(set) var unknown: Set<Int> = []
  /// The last known endpoints of the called rooms.
  private(set) var places: [Int: [Endpoint]] = [:]
  let keyName: String?
  private(set) var wires: [Wire] = []
  private var number: UInt32 = 0
  private var nextTry: Micros?
  private var nextLook: Micros?
  private var random = SystemRandomNumberGenerator()
  private(set) var failure: SystemFailure?
  /// The sealed datagrams that are not sent yet, in order.
  private var outgoing: [Outgoing] = []

  static var retry: Micros { Micros(1_000_000) }
  /// The lowest id of a far gateway, larger than the id of any local gateway.
  private static var firstNumber: UInt32 { 1 << 31 }

  init(_ settings: FarSettings) {
    self.settings = settings
    names = FarNames(settings.calls.map(\.host))
    keyName = settings.isKeyPublic ? nil : settings.key.name(by: settings.cipher)
  }

  var isOpen: Bool { board != nil }

  /// The descriptors to poll.
  var inlets: [Inlet] { isOpen ? sockets.map { .far($0) } + [.names(names.descriptor)] : [] }

  var nextWake: Micros? {
    [nextTry, board?.nextDeadline, isOpen ? nextLook : nil].compactMap(\.self).min()
  }

  func owns(_ gateway: GatewayID) -> Bool { gateway.rawValue >= Self.firstNumber }

  /// The port for the sockets if it is time to open them, otherwise nil; 0: any port. If another program has
  /// the port, we retry.
  func portToOpen(at now: Micros) -> UInt16? {
    guard board == nil, nextTry.map({ $0 <= now }) ?? true else { return nil }
    return settings.port ?? 0
  }

  /// Takes the result of opening the sockets.
  mutating func adopt(_ opened: Result<[FarSocket], SystemFailure>, at now: Micros) {
    guard board == nil else { return }
    switch opened {
    case .success(let opened):
      sockets = opened
      (failure, nextTry) = (nil, nil)
    case .failure(let reason):
      (failure, nextTry) = (reason, now + Self.retry)
      return
    }
    board = Switchboard(
      key: settings.key, cipher: settings.cipher, accepts: settings.port != nil, using: &random, at: now)
    nextLook = now
  }

  /// Says goodbye to all rooms, and sends nothing afterwards. May run on any thread.
  mutating func hangUp(at now: Micros) {
    board?.hangUp(at: now)
    _ = flush()
    wires.removeAll()
  }

  mutating func close() {
    board = nil
    outgoing += sockets.map { .closed($0) }
    sockets.removeAll()
    ways.forgetAll()
    wires.removeAll()
    (nextTry, nextLook, failure) = (nil, nil, nil)
  }

  /// Takes a datagram of one of the sockets. `machine` has the addresses of all interfaces.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, _ arrival: UDPSocket.Arrival, of machine: Neighbourhood
  ) -> [Event] {
    guard board != nil, !settings.isKeyPublic || arrival.from.address.isPrivate else { return [] }
    let mayCall = mayCall(arrival, of: machine)
    let isCaller = board?.receive(
      bytes, from: arrival.from, mayCall: mayCall, at: HostClock.micros(), using: &random)
    if let own = arrival.to, isCaller ?? false, ways.own(for: arrival.from) != own {
      ways.note(arrival.from, own)
    }
    return flush(after: arrival)
  }

  /// Whether this datagram may be a call: only at the configured address (`FarSettings.door`), through the
  /// interface that has that address.
  private func mayCall(_ arrival: UDPSocket.Arrival, of machine: Neighbourhood) -> Bool {
    guard let door = settings.door else { return true }
    guard let to = arrival.to, to.scoped(0) == door.scoped(0) else { return false }
    return machine.owns(to, through: arrival.interface)
  }

  var outgoingCount: Int { outgoing.count }

  /// Moves the unsent datagrams to the end of `list`.
  mutating func takeOutgoing(_ list: inout [Outgoing]) {
    list += outgoing
    outgoing.removeAll(keepingCapacity: true)
  }

  /// Forgets local addresses from which a datagram could not be sent; they may be gone.
  mutating func forgetWays(to endpoints: [Endpoint]) {
    for endpoint in endpoints { ways.forget(endpoint) }
  }

  mutating func meetDeadlines(at now: Micros) -> [Event] {
    let events = poll(at: now)
    if let due = board?.nextDeadline, due <= now { board?.meetDeadlines(at: now, using: &random) }
    return events + flush()
  }

  /// Sends a packet to the room behind this gateway, if that room is connected.
  mutating func send(_ packet: Packet, on id: GatewayID, via channel: Channel, at now: Micros) {
    guard let wire = wires.first(where: { $0.gateway.id == id }) else { return }
    packet.withUnsafeBytes { board?.send($0, as: FarChannel(channel), on: wire.line, at: now) }
    _ = flush()
  }

  /// Looks up the names of the called rooms that do not answer.
  private mutating func poll(at now: Micros) -> [Event] {
    var events: [Event] = []
    if let board, let due = nextLook, due <= now {
      nextLook = now + Self.retry
      events = retell()
      let heard = board.views.filter(\.isProven).flatMap(\.calls)
      for number in settings.calls.indices where !heard.contains(number) { names.ask(number, at: now) }
    }
    for (number, addresses) in names.drain() {
      if addresses.isEmpty { unknown.insert(number) } else { unknown.remove(number) }
      if !addresses.isEmpty { places[number] = addresses }
      board?.call(number, at: addresses, at: now)
    }
    return events
  }

  private mutating func flush(after arrival: UDPSocket.Arrival? = nil) -> [Event] {
    var events: [Event] = []
    while let output = board?.nextOutput() {
      switch output {
      case .send(let bytes, let endpoint):
        send(bytes, to: endpoint, from: endpoint == arrival?.from ? arrival?.to : ways.own(for: endpoint))
      case .opened(let line):
        let wire = Wire(line: line, gateway: newGateway(of: calls(on: line)))
        wires.append(wire)
        events.append(.opened(wire.gateway))
      case .closed(let line):
        guard let place = wires.firstIndex(where: { $0.line == line }) else { continue }
        events.append(.closed(wires.remove(at: place).gateway.id))
      case .arrived(let bytes, let channel, let line):
        guard let wire = wires.first(where: { $0.line == line }) else { continue }
        events.append(
          .arrived(
            bytes, on: wire.gateway.id, via: channel == .measurement ? .measurement : .discovery,
            waited: arrival?.waited ?? .zero))
      }
    }
    return events
  }

  private mutating func send(_ bytes: [UInt8], to endpoint: Endpoint, from own: Address?) {
    guard let socket = sockets.first(where: { $0.isIPv6 == endpoint.address.isIPv6 }) else { return }
    outgoing.append(.far(bytes, to: endpoint, own: own, by: socket))
  }

  /// Makes a gateway. The session knows the other relay by an address of the discard prefix (RFC 6666), a
  /// different address for each room.
  private mutating func newGateway(of calls: [Int]) -> Gateway {
    number &+= 1
    let relay = Endpoint(.v6(high: 0x0100 << 48, low: UInt64(number), scope: 0), port: 1)
    return Gateway(
      id: GatewayID(rawValue: Self.firstNumber | number), address: relay.address, measurement: relay,
      far: FarWire(relay: relay, correction: correction(of: calls), distance: settings.distance))
  }

  /// The numbers of our calls that lead to the room at the other end of this connection.
  private func calls(on line: LineID) -> [Int] { board?.views.first { $0.id == line }?.calls ?? [] }

  func correction(of calls: [Int]) -> Micros {
    settings.correction + (calls.lazy.map { settings.calls[$0].correction }.first { $0 != .zero } ?? .zero)
  }

  /// Sets the values for all rooms, also for rooms that come later. `calls` has an additional correction for
  /// each called room.
  mutating func set(correction: Micros, distance: Beats, calls: [Micros]) -> [Event] {
    (settings.correction, settings.distance) = (correction, distance)
    for (number, correction) in zip(settings.calls.indices, calls) {
      settings.calls[number].correction = correction
    }
    return retell()
  }

  /// Updates the gateways whose correction or distance changed, because the user changed it or because a
  /// caller proved to be a room that we call.
  private mutating func retell() -> [Event] {
    var events: [Event] = []
    for place in wires.indices {
      var gateway = wires[place].gateway
      gateway.far?.correction = correction(of: calls(on: wires[place].line))
      gateway.far?.distance = settings.distance
      guard gateway.far != wires[place].gateway.far else { continue }
      wires[place].gateway = gateway
      events.append(.changed(gateway))
    }
    return events
  }

  func relay(of id: GatewayID) -> Endpoint? { wires.first { $0.gateway.id == id }?.gateway.far?.relay }

  /// Describes the room behind a relay's address; nil if the address belongs to no relay.
  func place(of address: Address) -> String? {
    guard let wire = wires.first(where: { $0.gateway.address == address }),
      let view = board?.views.first(where: { $0.id == wire.line })
    else { return nil }
    return view.peer.map { "another room (\($0.address))" }
  }
}

extension FarChannel {
  fileprivate init(_ channel: Channel) {
    self = channel == .measurement ? .measurement : .discovery
  }
}

extension Address {
  /// Whether the address is private: of a home network, a VPN, or this machine.
  var isPrivate: Bool {
    switch self {
    case .v4(let bits):
      bits >> 24 == 10 || bits >> 20 == 0xac1 || bits >> 16 == 0xc0a8 || bits >> 22 == 0x6440 >> 6
        || isLoopback
        || bits >> 16 == 0xa9fe
    case .v6(let high, _, _): high >> 57 == 0xfc >> 1 || isIPv6LinkLocal || isLoopback
    }
  }
}
