// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
internal import LinkSystem
import TactusChoices
import TactusMIDI

/// Runs `SurfaceMachine` with real sockets and clocks, on a single thread: waits, passes input to the
/// machine, and carries out the machine's outputs.
final class SurfaceLoop {
  /// How many datagrams are read from one socket before other work gets its turn.
  static let readBatch = 512
  static let batch = 32
  /// The shortest pause between two attempts to handle queued datagrams whose budget has run out.
  static let pace = Micros(2000)
  /// How often the sockets are read during a flood: waking up for each datagram would cost more than
  /// reading it. The kernel's buffer of a socket has room for all that arrives in this time.
  static let readPace = Micros(1000)

  let shared: Shared
  private let listeners: OSCListeners
  private let outward: OutwardSockets
  private var machine: SurfaceMachine
  private var watched: [pollfd] = []
  private var inbox = Inbox(at: Clocks.read().host)
  private let notice: @Sendable (Notice) -> Void
  private let handler: @Sendable (Order) -> Reply
  private let keep: @Sendable ([MIDIBinding]) -> Void
  private let expect: @Sendable (QueuedChange?) -> Void
  private let buffer: UnsafeMutableRawBufferPointer

  init(
    _ settings: SurfaceSettings, state: SurfaceState, notice: @escaping @Sendable (Notice) -> Void,
    handler: @escaping @Sendable (Order) -> Reply
  ) {
    listeners = OSCListeners(settings, notice: notice)
    outward = OutwardSockets(notice: notice)
    self.notice = notice
    self.handler = handler
    keep = settings.keep
    expect = settings.expect
    shared = Shared(state, version: listeners.settings.version)
    machine = SurfaceMachine(listeners.settings, state: state, clocks: Clocks.read())
    buffer = .allocate(byteCount: 65_536, alignment: 8)
    tellWhere()
  }

  deinit { buffer.deallocate() }

  private func tellWhere() {
    let web = shared.mailbox.withLock { $0.web }
    let missing = listeners.missing + (web.failure.map { [$0] } ?? [])
    let reach = OSCReach(open: listeners.endpoints.map(\.description), missing: missing, query: web.query)
    machine.reach(reach, near: Interface.up().map(Neighbourhood.init), clocks: Clocks.read())
    shared.mailbox.withLock { $0.endpoints = listeners.endpoints }
  }

  func run() {
    while !step() { rest() }
    machine.close(clocks: Clocks.read())
    drain()
  }

  /// Waits until there is something to do. While queued datagrams wait for their budget, new datagrams are
  /// only read and sorted into the inbox.
  private func rest() {
    let begun = Clocks.read().host
    while true {
      let now = Clocks.read().host
      watched.removeAll(keepingCapacity: true)
      watched.append(pollfd(fd: shared.bell.descriptor, events: Int16(POLLIN), revents: 0))
      let isFlooded = !inbox.isEmpty
      for index in 0..<listeners.count where !isFlooded {
        guard let descriptor = listeners.descriptor(index) else { continue }
        watched.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
      }
      let turn = inbox.deadline.map { $0 <= now ? now : max($0, begun + Self.pace) } ?? machine.deadline
      let hands = shared.mailbox.withLock { $0.hands.deadline } ?? machine.deadline
      let due = min(machine.deadline, turn, hands)
      wait(until: isFlooded ? min(due, now + Self.readPace) : due, from: now)
      guard isFlooded, Clocks.read().host < due else { return }
      if watched[0].revents != 0 {
        shared.bell.drain()
        guard shared.hasOnlyMail else { return }
        takeMail()
      }
      for index in 0..<listeners.count { read(from: index) }
    }
  }

  /// Waits until there is something to read, or until the deadline. `poll` counts whole milliseconds, which
  /// is too coarse for a beat, so `nanosleep` waits for the rest of the last millisecond.
  private func wait(until deadline: Micros, from now: Micros) {
    let left = max(0, (deadline - now).count)
    let milliseconds = Int32(clamping: left / 1000)
    if poll(&watched, nfds_t(watched.count), milliseconds) == 0, milliseconds == 0 {
      var rest = timespec(tv_sec: 0, tv_nsec: Int(left % 1000 * 1000))
      nanosleep(&rest, nil)
    }
  }

  /// Does everything that is due now. Returns whether the surface is closing.
  private func step() -> Bool {
    shared.bell.drain()
    takeState()
    if shared.mailbox.withLock({ $0.hands.takeLost() }) > 0 { machine.note(.touchesLost) }
    obeyHands()
    let isElsewhere = shared.mailbox.withLock { $0.takeElsewhere() }
    if listeners.poll(at: Clocks.read().host, web: shared.mailbox.withLock { $0.web }) || isElsewhere {
      tellWhere()
    }
    takeMail()
    for index in 0..<listeners.count { read(from: index) }
    lookAtInbox()
    machine.leftOut(inbox.dropped + shared.mailbox.withLock { $0.mail.dropped })
    machine.tick(clocks: Clocks.read())
    drain()
    return shared.mailbox.withLock { mailbox in
      mailbox.counters = machine.counters
      mailbox.counters.subscribers = machine.guests
      return mailbox.isClosing
    }
  }

  /// Puts browsers' packets into the inbox, and removes browsers whose connections have ended.
  private func takeMail() {
    for item in shared.mailbox.withLock({ $0.mail.drain() }) {
      switch item {
      case .packet(let bytes, let peer):
        machine.browsers.insert(peer)
        inbox.put(bytes, from: peer, trust: machine.trust(in: peer), at: Clocks.read().host)
      case .gone(let peer):
        machine.gone(peer, clocks: Clocks.read())
        drain()
      }
    }
  }

  private func obeyHands() {
    var cost = 0
    while cost < Cost.datagram {
      let clocks = Clocks.read()
      guard let turn = shared.mailbox.withLock({ $0.hands.next(at: clocks.host) }) else { return }
      // Charge the wake-up only once for the whole batch.
      var spent = cost == 0 ? Cost.letter : 0
      switch turn.touch {
      case .midi(let message): spent += machine.receive(message, at: turn.time, clocks: clocks)
      case .key(let targets): spent += machine.press(targets, at: turn.time, clocks: clocks)
      }
      shared.mailbox.withLock { $0.hands.charge(spent, at: clocks.host) }
      cost += spent
      drain()
    }
  }

  private func read(from index: Int) {
    // Read the error queue here, too, and not only after a failed call: a send may already have fetched the
    // error and left an entry in the queue, which would make `poll` return at once for ever.
    for _ in 0..<Self.batch {
      guard let (target, isThere) = listeners.nextUnreachable(index) else { break }
      machine.unreachable(target, isThere: isThere, clocks: Clocks.read())
    }
    drain()
    for _ in 0..<Self.readBatch {
      switch listeners.receive(index, into: buffer) {
      case .datagram(let arrival):
        let peer = listeners.peer(arrival.from, at: index, arrival.info)
        inbox.put(
          UnsafeRawBufferPointer(rebasing: buffer[..<arrival.count]), from: peer,
          trust: machine.trust(in: peer),
          at: Clocks.read().host)
      case .failure: continue
      case .nothing: return
      }
    }
  }

  private func lookAtInbox() {
    var cost = 0
    while cost < Cost.datagram {
      let clocks = Clocks.read()
      guard let letter = inbox.next(at: clocks.host) else { return }
      let spent = letter.datagram.withUnsafeBytes { machine.receive($0, from: letter.peer, clocks: clocks) }
      inbox.charge(spent, for: letter, at: clocks.host)
      cost += Cost.letter + spent
      drain()
    }
  }

  private func takeState() {
    if let state = shared.takeState() { machine.update(state, clocks: Clocks.read()) }
  }

  /// Carries out the machine's outputs. The new state is read only once, after all orders, because comparing
  /// all values costs more than an order.
  private func drain() {
    var isOrdered = false
    let post = shared.mailbox.withLock { mailbox in
      // Publish the values before any packet is sent: a page that learns of a new output asks for the
      // output's addresses at once.
      mailbox.reading = machine.reading
      return mailbox.post
    }
    while let output = machine.nextOutput() {
      switch output {
      case .send(let bytes, let peer) where peer.isBrowser: post?(bytes, peer)
      case .send(let bytes, let peer):
        listeners.send(bytes, to: peer, trust: machine.trust(in: peer))
      case .outward(let bytes, let target): outward.send(bytes, to: target)
      case .order(let order):
        let verdict = handler(order)
        machine.settle(order, verdict, clocks: Clocks.read())
        isOrdered = true
      case .notice(let notice):
        self.notice(notice)
      case .learned(let bindings):
        keep(bindings)
      case .queued(let change):
        expect(change)
      }
    }
    guard isOrdered else { return }
    takeState()
    drain()
  }
}

extension Clocks {
  /// Reads Link's clock and the wall clock as close together as possible. [any]
  static func read() -> Clocks {
    let host = HostClock.micros()
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    return Clocks(host: host, unixSeconds: Int64(wall.tv_sec), nanoseconds: Int64(wall.tv_nsec))
  }
}
