// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import LinkSession
public import LinkWire

// The invariant: time only moves in `run(until:)`, from one event to the next, and every machine is drained
// after every input. We do not simulate what would cost much time and change nothing for Link.

/// A simulated world for `LinkSession` machines: one true time, a clock for each machine, networks between
/// them.
///
/// The world has no sockets, no threads and no real clock. Everything follows from the seed and from the
/// caller's calls, so a run can be repeated to the last packet. Queues, bandwidth and address resolution are
/// not simulated. Time only moves in ``run(for:)`` and ``run(until:)``. A world belongs to one thread.
public final class LinkWorld {
  private enum Happening {
    case delivery(Delivery)
    case wake(Int32)
    case plan(Int32)
  }

  /// True time since the world began. No machine sees it.
  public private(set) var now = Micros.zero
  /// The conditions of every network; a change affects only what is sent later.
  public var conditions: NetworkConditions
  /// The peers, indexed by the numbers that `addPeer` returned; peers without power stay in the list.
  public internal(set) var peers: [Peer] = []
  /// The interfaces, indexed by the numbers that `plug` returned; interfaces without power stay in the list.
  public internal(set) var interfaces: [Interface] = []
  /// Called after each publish with the peer, the state before and after, and whether a commit caused it.
  public var onPublish:
    ((_ peer: Int, _ before: SessionSnapshot, _ after: SessionSnapshot, _ isOwn: Bool) -> Void)?
  /// Called for every datagram sent, before the network loses, delays or doubles it.
  public var onSend: ((_ packet: Packet, _ from: Int, _ to: LinkSession.Destination, Channel) -> Void)?
  /// Datagrams that peers and guests have sent; a datagram to the multicast group counts once.
  public private(set) var datagramsSent = 0
  /// Datagrams that reached enabled peers; a datagram to the multicast group counts for each receiver.
  public private(set) var datagramsDelivered = 0

  var dice: Dice
  private var queue = EventQueue<Happening>()
  private var slab = PacketSlab()
  private var plans: [((LinkWorld) -> Void)?] = []
  private var freePlans: [Int32] = []
  /// The conditions of the connections between rooms, by the index of the segment that stands for the
  /// connection.
  var farConditions: [Int: FarConditions] = [:]
  /// Replaces `conditions` if it is set. Returns the delay of a datagram from one interface to another now;
  /// nil: the datagram does not arrive.
  var path: ((_ sender: Int, _ target: Int, _ dice: inout Dice) -> Micros?)?
  private var segments: [[Int]] = []
  private var endpoints: [Endpoint: Int] = [:]
  private(set) var guests: [Int: any Guest] = [:]
  var isCommitting = false

  /// The guests that follow the rules of Ableton's library.
  var references: [ReferencePeer] { guests.keys.sorted().compactMap { guests[$0] as? ReferencePeer } }

  /// An empty world. The same seed and the same calls lead to the same events.
  public init(seed: UInt64, conditions: NetworkConditions = NetworkConditions()) {
    dice = Dice(seed: seed)
    self.conditions = conditions
  }

  /// Adds a disabled machine without an address, whose host clock shows
  /// `host` now. 120 BPM replaces a tempo that is not a number. Returns its index in `peers`.
  @discardableResult
  public func addPeer(
    tempo: Double = 120, host: Micros = Micros(1_000_000), partsPerMillion: Double = 0
  ) -> Int {
    addPeer(tempo: tempo, host: host, partsPerMillion: partsPerMillion, isRelay: false)
  }

  /// Adds a disabled machine without an address. A relay may be connected to relays of other rooms.
  @discardableResult
  package func addPeer(
    tempo: Double = 120, host: Micros = Micros(1_000_000), partsPerMillion: Double = 0, isRelay: Bool
  ) -> Int {
    let clock = DriftingClock(host: host, at: now, partsPerMillion: partsPerMillion)
    // `Link` also replaces NaN by 120 BPM.
    let tempo = tempo.isNaN ? 120 : tempo
    let machine = LinkSession(tempo: Tempo(tempo), seed: dice.next(), isRelay: isRelay, at: host)
    peers.append(Peer(machine: machine, clock: clock, snapshot: machine.snapshot, isRelay: isRelay))
    drain(peers.count - 1)
    return peers.count - 1
  }

  /// Gives the peer a new address on that network. If the peer is enabled, it opens a gateway there.
  @discardableResult
  public func plug(_ peer: Int, intoSegment segment: Int = 0) -> Int {
    let index = connect(peer, toSegment: segment)
    peers[peer].interfaces.append(index)
    if peers[peer].machine.isEnabled { open(index) }
    return index
  }

  /// Gives a guest an address on that network. The guest calls `send` to send datagrams.
  @discardableResult
  public func plug(_ guest: any Guest, intoSegment segment: Int = 0) -> Int {
    let index = connect(-1, toSegment: segment)
    guests[index] = guest
    return index
  }

  private func connect(_ peer: Int, toSegment segment: Int) -> Int {
    let index = interfaces.count
    // Use the addresses of 10/8 that do not end in .0 or .255.
    let address = Address.v4(0x0a00_0000 | UInt32(index / 250) << 8 | UInt32(index % 250 + 1))
    let interface = Interface(
      peer: peer, address: address, discovery: Endpoint(address, port: 40_000),
      measurement: Endpoint(address, port: 50_000), segment: segment)
    interfaces.append(interface)
    endpoints[interface.discovery] = index
    endpoints[interface.measurement] = index
    while segments.count <= segment { segments.append([]) }
    segments[segment].append(index)
    return index
  }

  func open(_ index: Int) {
    let gateway = Gateway(
      id: GatewayID(rawValue: UInt32(index)), address: interfaces[index].address,
      measurement: interfaces[index].measurement, far: farWire(of: index))
    handle(.gatewayOpened(gateway), by: interfaces[index].peer)
  }

  /// The peer's host clock now, in microseconds.
  public func host(of peer: Int) -> Micros { peers[peer].clock.host(at: now) }

  /// Gives the peer's machine an input; does nothing while its power is off.
  public func handle(_ input: LinkSession.Input, by peer: Int) {
    guard peers[peer].isRunning else { return }
    peers[peer].machine.handle(input, at: host(of: peer))
    drain(peer)
  }

  /// Runs `body` at that time of the world.
  public func plan(at time: Micros, _ body: @escaping (LinkWorld) -> Void) {
    let place = freePlans.popLast() ?? Int32(plans.count)
    if Int(place) < plans.count { plans[Int(place)] = body } else { plans.append(body) }
    queue.put(.plan(place), at: time < now ? now : time)
  }

  /// Processes everything that is due until `end`, in order. Afterwards `now` is `end`.
  public func run(until end: Micros) {
    while let time = queue.nextTime, time <= end, let next = queue.removeFirst() {
      now = time
      switch next {
      case .delivery(let delivery): deliver(delivery)
      case .wake(let peer): wake(Int(peer))
      case .plan(let index):
        let body = plans[Int(index)]
        plans[Int(index)] = nil
        freePlans.append(index)
        body?(self)
      }
    }
    now = now < end ? end : now
  }

  /// Processes everything that is due within `duration`, in order.
  public func run(for duration: Micros) { run(until: now + duration) }

  private func wake(_ peer: Int) {
    guard peers[peer].isRunning, let due = peers[peer].wakeAt, due <= now else { return }
    peers[peer].wakeAt = nil
    peers[peer].machine.handle(.deadline, at: host(of: peer))
    drain(peer)
  }

  func drain(_ peer: Int) {
    while true {
      switch peers[peer].machine.nextOutput() {
      case .send(let packet, let destination, let gateway, let channel):
        send(packet, from: Int(gateway.rawValue), to: destination, via: channel)
      case .publish(let snapshot):
        let before = peers[peer].snapshot
        peers[peer].snapshot = snapshot
        onPublish?(peer, before, snapshot, isCommitting)
      case .event(let event):
        peers[peer].events.append((now, event))
      case .audioPeer: break  // no peer here has an audio socket
      case .sleep(let deadline):
        sleep(peer, until: deadline)
        return
      }
    }
  }

  func schedule(_ peer: Int) {
    peers[peer].wakeAt = nil
    drain(peer)
  }

  /// Plans a wake-up of the machine, unless an earlier wake-up is planned: a machine that wakes too early
  /// sleeps again.
  private func sleep(_ peer: Int, until deadline: Micros?) {
    guard let deadline else {
      peers[peer].wakeAt = nil
      return
    }
    let time = max(peers[peer].clock.world(at: deadline), now)
    if let planned = peers[peer].wakeAt, planned <= time, planned >= now { return }
    peers[peer].wakeAt = time
    queue.put(.wake(Int32(peer)), at: time)
  }

  /// Sends a datagram from the interface `sender`.
  public func send(
    _ packet: Packet, from sender: Int, to destination: LinkSession.Destination, via channel: Channel
  ) {
    onSend?(packet, sender, destination, channel)
    datagramsSent += 1
    guard interfaces[sender].isUp, interfaces[sender].hasCable else { return }
    switch destination {
    case .group:
      let listeners = segments[interfaces[sender].segment]
      let slot = slab.keep(packet, uses: 1)
      for target in listeners where target != sender {
        transmit(slot, from: sender, to: target, onto: .discovery)
      }
      _ = slab.release(slot)
    case .endpoint(let endpoint):
      guard let target = endpoints[endpoint] else { return }
      let slot = slab.keep(packet, uses: 1)
      transmit(
        slot, from: sender, to: target,
        onto: endpoint == interfaces[target].discovery ? .discovery : .measurement, via: channel)
      _ = slab.release(slot)
    }
  }

  private func transmit(
    _ slot: Int32, from sender: Int, to target: Int, onto channel: Channel, via outgoing: Channel = .discovery
  ) {
    let far = farConditions[interfaces[sender].segment]
    guard interfaces[target].isUp, interfaces[target].hasCable,
      interfaces[target].part == interfaces[sender].part,
      interfaces[target].segment == interfaces[sender].segment, !dice.chance(far?.loss ?? conditions.loss)
    else { return }
    let copies = dice.chance(conditions.duplication) ? 2 : 1
    for _ in 0..<copies {
      var delay = far?.delay(isThere: sender < target, &dice) ?? conditions.delay
      if let path {
        guard let taken = path(sender, target, &dice) else { return }
        delay = taken
      }
      if far == nil && conditions.jitter > .zero { delay = delay + dice.duration(upTo: conditions.jitter) }
      if dice.chance(conditions.reordering) { delay = delay + dice.duration(upTo: conditions.holdUp) }
      slab.retain(slot)
      let flags: UInt8 = (channel == .measurement ? 1 : 0) | (outgoing == .measurement ? 2 : 0)
      let delivery = Delivery(
        target: Int32(target), sender: Int32(sender), packet: slot, channel: flags)
      queue.put(.delivery(delivery), at: now + delay)
    }
  }

  private func deliver(_ delivery: Delivery) {
    let packet = slab.release(delivery.packet)
    let target = Int(delivery.target)
    let peer = interfaces[target].peer
    guard interfaces[target].isUp, interfaces[target].hasCable else { return }
    let sender = interfaces[Int(delivery.sender)]
    let source = delivery.channel & 2 != 0 ? sender.measurement : sender.discovery
    let channel: Channel = delivery.channel & 1 != 0 ? .measurement : .discovery
    if let guest = guests[target] {
      return guest.receive(packet, from: source, on: target, via: channel, in: self)
    }
    guard peers[peer].machine.isEnabled else { return }
    datagramsDelivered += 1
    let host = peers[peer].clock.host(at: now)
    packet.withUnsafeBytes { bytes in
      peers[peer].machine.receive(
        bytes, from: source, on: GatewayID(rawValue: UInt32(target)), via: channel, at: host)
    }
    drain(peer)
  }

  /// Passes bytes to a peer, from any address, without the network.
  public func inject(_ bytes: [UInt8], from source: Endpoint, into interface: Int, via channel: Channel) {
    let peer = interfaces[interface].peer
    guard peer >= 0, peers[peer].isRunning else { return }
    bytes.withUnsafeBytes { bytes in
      peers[peer].machine.receive(
        bytes, from: source, on: GatewayID(rawValue: UInt32(interface)), via: channel, at: host(of: peer))
    }
    drain(peer)
  }
}
