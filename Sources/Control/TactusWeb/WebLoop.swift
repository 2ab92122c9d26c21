// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface

/// The web server's thread: waits for its sockets, its bell and the next deadline, and handles them.
final class WebLoop {
  let settings: WebSettings
  let shared: WebShared
  let surface: OSCSurface
  let listeners: HTTPListeners
  var answers: Answers
  let doctor: Doctor
  /// Returns the secret that holds now; another process may change it at any time.
  let secret: @Sendable () -> Secret
  var secretDue = Micros.zero
  var pairing: Pairing
  var server: HTTPServer?
  var crowd = ConnectionPool()
  var counters = WebCounters()
  var budget = Budget(at: HostClock.micros())
  var near = Neighbourhood()
  var acceptingAgain = Micros.zero
  /// The processor time at the end of the last turn. `billed` is the part of this turn's time that has been
  /// charged already, or that was spent on output to browsers.
  private var turned = 0.0
  var billed = 0.0
  /// The processor time up to which requests have been charged to their hosts.
  var worked = 0.0
  var watched: [pollfd] = []
  /// The connections of the descriptors in `watched`, from the third descriptor on.
  var watchedSockets: [Connection] = []

  init(
    _ settings: WebSettings, secret: @escaping @Sendable () -> Secret, surface: OSCSurface,
    doctor examine: @escaping @Sendable () -> [UInt8]?, notice: @escaping @Sendable (Notice) -> Void
  ) {
    self.settings = settings
    self.secret = secret
    shared = WebShared(isOpenToNetworks: settings.isOpen)
    pairing = Pairing(secret())
    self.surface = surface
    listeners = HTTPListeners(settings, notice: notice)
    answers = Answers(settings)
    doctor = Doctor(examine, bell: shared.bell)
    server = HTTPServer(for: self)
    _ = lookAround()
  }

  func run() {
    while !lookAround() {
      rest()
      let now = HostClock.micros()
      let begun = Budget.spent()
      deliver(at: now)
      billed += Budget.spent() - begun
      listenToSockets(at: now)
      accept(at: now)
      serveRequests(at: now)
      sendAway(at: now)
      billTurn(at: now)
    }
    close()
  }

  /// Charges the loop's own time in this turn to what woke it: a WebSocket, a new connection or a request.
  private func billTurn(at now: Micros) {
    let spent = Budget.spent()
    defer { (turned, billed) = (spent, 0) }
    let cost = spent - turned - billed
    let callers = zip(watchedSockets, watched.dropFirst(2)).filter { $1.revents & Int16(POLLIN) != 0 }
      .map { $0.0 }
    if let caller = callers.first(where: { $0.trust == .stranger }) ?? callers.first {
      budget.gate.charge(cost, to: caller.trust, at: now)
    } else if watched[1].revents == 0, watched.dropFirst(2).contains(where: { $0.revents != 0 }) {
      budget.listeners.spend(cost, at: now)
    } else if watched[0].revents == 0 || watched[1].revents != 0 {
      budget.requests.spend(cost, at: now)
    }
  }

  // MARK: the mailbox

  /// Reads and updates the mailbox. Returns whether the loop must end.
  func lookAround() -> Bool {
    let now = HostClock.micros()
    let (isClosing, isOpen) = shared.mailbox.withLock { ($0.isClosing, $0.isOpenToNetworks) }
    if listeners.open(toNetworks: isOpen) { sendStrangersAway() }
    if listeners.poll(at: now, beside: surface.endpoints.first?.address) {
      near = Interface.up().map(Neighbourhood.init) ?? near
      let announced = listeners.announced
      surface.tell(
        WebReach(
          query: listeners.query, failure: listeners.queryFailure, queryPort: announced.query,
          pagePort: announced.page))
    }
    if now >= secretDue { heedSecret(at: now) }
    counters.wrongSecrets = pairing.wrong + pairing.refused
    counters.microseconds = Int(Budget.spent())
    counters.open = crowd.visitors.count
    counters.sockets = crowd.visitors.values.count { $0.socket != nil }
    shared.mailbox.withLock { mailbox in
      mailbox.endpoints = listeners.endpoints
      mailbox.queryEndpoint = listeners.queryEndpoint
      mailbox.missing = listeners.missing
      mailbox.counters = counters
    }
    return isClosing
  }

  /// Closes connections to an address at which the page is not served any more.
  func sendStrangersAway() {
    for visitor in crowd.visitors.values
    where visitor.listener == .page && !listeners.wants(visitor.reached.address) {
      visitor.socket?.sayGoodbye(1001)
      end(visitor)
    }
  }

  /// Takes over the present secret. A new secret ends every pairing, and the WebSocket of every paired
  /// browser.
  func heedSecret(at now: Micros) {
    secretDue = now + WebLimits.secretInterval
    let secret = secret()
    guard secret != pairing.secret else { return }
    pairing.forget(for: secret)
    for visitor in crowd.visitors.values where visitor.socket?.peer.isPairedBrowser == true {
      visitor.socket?.sayGoodbye(1008)
      end(visitor)
    }
  }

  func close() {
    for visitor in crowd.visitors.values {
      visitor.socket?.sayGoodbye(1001)
      end(visitor)
    }
    server?.close()
    server = nil
    shared.mailbox.withLock { mailbox in
      mailbox.endpoints = []
      mailbox.queryEndpoint = nil
    }
  }

  // MARK: waiting

  func rest() {
    let now = HostClock.micros()
    watched.removeAll(keepingCapacity: true)
    watchedSockets.removeAll(keepingCapacity: true)
    watched.append(pollfd(fd: shared.bell.descriptor, events: Int16(POLLIN), revents: 0))
    let mayServe = budget.requests.has(at: now)
    watched.append(pollfd(fd: mayServe ? server?.descriptor ?? -1 : -1, events: Int16(POLLIN), revents: 0))
    var again = budget.deadline(at: now)
    for visitor in turns() {
      guard let socket = visitor.socket else { continue }
      var events: Int16 = socket.wantsToWrite ? Int16(POLLOUT) : 0
      if mayListen(to: visitor, at: now) {
        events |= Int16(POLLIN)
        if socket.hasEarly { again = now }
      } else {
        let time = max(socket.mayReadAgain(at: now), now + Budget.pace)
        again = min(again ?? time, time)
      }
      // Leave out a socket without wanted events: poll would report a hang-up at once, again and again.
      watched.append(pollfd(fd: events == 0 ? -1 : socket.descriptor, events: events, revents: 0))
      watchedSockets.append(visitor)
    }
    if budget.listeners.has(at: now), crowd.takesMore, now >= acceptingAgain {
      for listener in listeners.listeners {
        watched.append(pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0))
      }
    }
    let libraryDue = mayServe ? server?.millisUntilDue.map { now + Micros(Int64($0) * 1000) } : nil
    let deadline = [
      again, libraryDue, crowd.deadline, listeners.deadline, listeners.servesPage ? secretDue : nil,
    ]
    .compactMap { $0 }.min()
    LinkSystem.wait(for: &watched, from: now, until: deadline)
  }

  /// The connections that are WebSockets, sorted by the time of their last read, the oldest first, so that
  /// all share the budget.
  private func turns() -> [Connection] {
    crowd.visitors.values.filter { $0.socket != nil }.sorted { $0.heard < $1.heard }
  }

  func mayListen(to visitor: Connection, at now: Micros) -> Bool {
    guard let socket = visitor.socket else { return false }
    return socket.mayRead(at: now) && budget.gate.has(visitor.trust, at: now)
      && budget.has(visitor.host, at: now)
  }

  func serveRequests(at now: Micros) {
    let begun = Budget.spent()
    worked = begun
    server?.resume()
    if budget.requests.has(at: now) { server?.run() }
    let cost = Budget.spent() - begun
    budget.requests.spend(cost, at: now)
    billed += cost
  }

  // MARK: the end of a connection

  func sendAway(at now: Micros) {
    for visitor in crowd.late(at: now) {
      if let socket = visitor.socket, !socket.isGone(at: now) { continue }
      counters.late += 1
      end(visitor)
    }
  }

  func end(_ visitor: Connection) {
    forget(visitor)
    visitor.end()
  }

  /// Forgets the connection's WebSocket, here and in the surface.
  func forget(_ visitor: Connection) {
    guard let socket = visitor.socket, let number = socket.peer.browserNumber else { return }
    visitor.socket = nil
    shared.mailbox.withLock { mailbox in
      mailbox.outboxes[number] = nil
      mailbox.full.remove(number)
    }
    if socket.form != nil { surface.leave(socket.peer) }
  }
}
