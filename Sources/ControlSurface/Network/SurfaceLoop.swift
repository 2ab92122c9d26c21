// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import MIDIControl

/// The machine with real sockets and clocks: wait, hand it what came, carry out what it says. One thread runs it.
final class SurfaceLoop {
  /// Datagrams read from one socket, and looked at, before anything else gets its turn: a flood delays a beat by less
  /// than that.
  static let readBatch = 512
  static let batch = 32

  let endpoints: [Endpoint]
  let queryEndpoint: Endpoint?
  let shared: Shared
  private var sockets: [SocketBox] = []
  private var machine: SurfaceMachine
  private var inbox = Inbox()
  private var query: QueryServer?
  private let notice: @Sendable (Notice) -> Void
  private let handler: @Sendable (Order) -> Verdict
  private let keep: @Sendable ([MIDIBinding]) -> Void
  private let buffer: UnsafeMutableRawBufferPointer

  /// A socket may not be copied, an array's element must be.
  private final class SocketBox {
    let socket: DatagramSocket
    init(_ endpoint: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(bindingTo: endpoint) }
  }

  init(
    _ settings: SurfaceSettings, state: SurfaceState, notice: @escaping @Sendable (Notice) -> Void,
    handler: @escaping @Sendable (Order) -> Verdict
  ) throws(OpenFailure) {
    var settings = settings
    for index in settings.listen.indices {
      let wanted = settings.listen[index]
      do throws(OpenFailure) {
        sockets.append(try Self.open(wanted, settings: settings, isFirst: index == 0))
      } catch {
        // A machine without IPv6 is no reason not to start.
        guard wanted.host.ipv4 == nil, error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else {
          throw error
        }
      }
      // All addresses have one port: the first's, whichever it became.
      if index == 0, let opened = sockets.first?.socket.endpoint {
        for other in settings.listen.indices { settings.listen[other].port = opened.port }
      }
    }
    // Without any address it is there for keys and pedals alone.
    guard !sockets.isEmpty || settings.listen.isEmpty else {
      throw OpenFailure(
        endpoint: settings.listen.first ?? Endpoint(.loopback, port: 0), call: "socket", code: EAFNOSUPPORT)
    }
    endpoints = sockets.map { $0.socket.endpoint }
    settings.listen = endpoints
    if let wanted = settings.query, let first = endpoints.first {
      query = try QueryServer(Endpoint(first.host, port: wanted), settings: settings)
    }
    queryEndpoint = query?.endpoint
    self.notice = notice
    self.handler = handler
    keep = settings.keep
    shared = Shared(state)
    machine = SurfaceMachine(settings, state: state, clocks: Clocks.read())
    // Last: whoever fails to begin has nobody to give it back.
    buffer = .allocate(byteCount: 65_536, alignment: 8)
  }

  deinit { buffer.deallocate() }

  private static func open(_ wanted: Endpoint, settings: SurfaceSettings, isFirst: Bool) throws(OpenFailure)
    -> SocketBox
  {
    do throws(OpenFailure) {
      return try SocketBox(wanted)
    } catch {
      guard error.code == EADDRINUSE, isFirst, !settings.isPortFixed else { throw error }
      return try SocketBox(Endpoint(wanted.host, port: 0))
    }
  }

  func run() {
    var watched: [pollfd] = []
    while true {
      if step() { break }
      watched.removeAll(keepingCapacity: true)
      watched.append(pollfd(fd: shared.wakeUp, events: Int16(POLLIN), revents: 0))
      for box in sockets {
        watched.append(pollfd(fd: box.socket.descriptor, events: Int16(POLLIN), revents: 0))
      }
      query?.watch(&watched)
      wait(for: &watched, until: machine.deadline)
    }
    machine.close(clocks: Clocks.read())
    drain()
  }

  /// poll counts milliseconds, which is too coarse for a beat: the last of them is slept by the clock.
  private func wait(for watched: inout [pollfd], until deadline: Micros) {
    let left = inbox.isEmpty ? max(0, (deadline - Clocks.read().host).count) : 0
    let milliseconds = Int32(clamping: left / 1000)
    if poll(&watched, nfds_t(watched.count), milliseconds) == 0, milliseconds == 0 {
      var rest = timespec(tv_sec: 0, tv_nsec: Int(left % 1000 * 1000))
      nanosleep(&rest, nil)
    }
  }

  /// Everything that is to be done now. true: the end.
  private func step() -> Bool {
    var rings: UInt64 = 0
    while Glibc.read(shared.wakeUp, &rings, 8) == 8 {}
    takeState()
    for (message, time) in shared.takeMIDI() {
      machine.receive(message, at: time, clocks: Clocks.read())
      drain()
    }
    for index in sockets.indices { read(from: index) }
    lookAtInbox()
    machine.tick(clocks: Clocks.read())
    drain()
    query?.serve(machine.reading)
    return shared.mailbox.withLock { mailbox in
      let lost = mailbox.counters.midiLost
      mailbox.counters = machine.counters
      mailbox.counters.tooFast += inbox.dropped
      mailbox.counters.subscribers = machine.guests
      mailbox.counters.midiLost = lost
      return mailbox.isClosing
    }
  }

  private func read(from index: Int) {
    let box = sockets[index]
    // Not only after a failed call: a send may have fetched the error and left the queue, and poll would spin on it.
    for _ in 0..<Self.batch {
      guard let target = box.socket.nextUnreachable() else { break }
      machine.unreachable(target, clocks: Clocks.read())
    }
    drain()
    for _ in 0..<Self.readBatch {
      switch box.socket.receive(into: buffer) {
      case .datagram(let count, let source):
        inbox.put([UInt8](buffer[..<count]), from: Peer(source, socket: index))
      case .failure: continue
      case .nothing: return
      }
    }
  }

  private func lookAtInbox() {
    for _ in 0..<Self.batch {
      guard let (datagram, peer) = inbox.next() else { return }
      datagram.withUnsafeBytes { machine.receive($0, from: peer, clocks: Clocks.read()) }
      drain()
    }
  }

  private func takeState() {
    if let state = shared.takeState() { machine.update(state, clocks: Clocks.read()) }
  }

  private func drain() {
    while let output = machine.nextOutput() {
      switch output {
      case .send(let bytes, let peer):
        guard sockets.indices.contains(peer.socket) else { continue }
        sockets[peer.socket].socket.send(bytes, to: peer.endpoint)
      case .order(let order):
        let verdict = handler(order)
        machine.settle(order, verdict, clocks: Clocks.read())
        takeState()
      case .notice(let notice):
        self.notice(notice)
      case .learned(let bindings):
        keep(bindings)
      }
    }
  }
}

extension Clocks {
  /// Link's clock and the wall's, as near to each other as they can be read. [any]
  static func read() -> Clocks {
    var raw = timespec()
    var wall = timespec()
    clock_gettime(CLOCK_MONOTONIC_RAW, &raw)
    clock_gettime(CLOCK_REALTIME, &wall)
    return Clocks(
      host: Micros(Int64(raw.tv_sec) * 1_000_000 + Int64(raw.tv_nsec) / 1000),
      unixSeconds: Int64(wall.tv_sec),
      nanoseconds: Int64(wall.tv_nsec))
  }
}
