// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// Measures the offset of another session's clock from our host clock, by about a hundred pings to one of its
/// peers (facts: link 4.3).
///
/// Each pong compares the peer's time with the middle of our round trip. From the second pong on, it also
/// compares our time with the middle of the peer's round trip. A datagram counts as arrived when the kernel
/// gets it, not when a busy machine reads it. The result is the median of all comparisons. A pong counts only
/// if it comes from the measured peer and repeats an unanswered ping: duplicates, replays and strangers
/// change nothing.
///
/// Ableton's library gives up after five lost datagrams in total, and so can hardly ever join over a network
/// that loses one datagram in ten. We give up after five lost datagrams in a row, or after a higher limit in
/// total, and use the points that a long measurement has collected.
struct Measurement {
  struct Ping: Equatable {
    let host: Micros
    let previousGhost: Micros?
    /// The time for which the pong before this ping lay unread. The middle of the peer's round trip is the
    /// middle of the time from that pong's arrival to this ping.
    var waited = Micros.zero
  }

  enum Step {
    /// The pong answers none of our pings.
    case stray
    case ask(Ping)
    /// The measurement is complete. Its last ping is sent all the same, as Ableton's library does.
    case finished(GhostMap, Ping)
    case failed
  }

  enum AfterTimeout {
    case ask(Ping)
    case finished(GhostMap)
    case failed
  }

  let session: SessionID
  let source: Source
  let gateway: GatewayID
  /// The peer's endpoint: pings go there and pongs come from there.
  let endpoint: Endpoint
  /// The uptime at which an unanswered ping counts as lost.
  private(set) var deadline: Micros
  private(set) var points: [Double] = []
  private var outstanding: [Ping] = []
  private var retriesInARow = 0
  private var retries = 0
  private var pongs = 0

  init(
    of session: SessionID, from source: Source, gateway: GatewayID, endpoint: Endpoint, uptime: Micros
  ) {
    self.session = session
    self.source = source
    self.gateway = gateway
    self.endpoint = endpoint
    deadline = uptime + Rules.pingTimeout
  }

  /// The first ping of a chain of pings and pongs, sent at the start or after a timeout.
  mutating func open(at now: Micros) -> Ping {
    ask(Ping(host: now, previousGhost: nil))
  }

  private mutating func ask(_ ping: Ping) -> Ping {
    if outstanding.count == Limits.outstandingPings { outstanding.removeFirst() }
    outstanding.append(ping)
    return ping
  }

  /// Handles a pong, which arrived at the host time `now` less `waited`.
  mutating func receive(_ pong: Pong, waited: Micros = .zero, at now: Micros, uptime: Micros) -> Step {
    let answered = outstanding.firstIndex {
      $0.host == pong.host && ($0.previousGhost ?? .zero) == pong.previousGhost
    }
    guard let answered else { return .stray }
    let ping = outstanding.remove(at: answered)
    pongs += 1
    guard pong.session == session, pongs <= Limits.pongs else { return .failed }
    let next = ask(Ping(host: now, previousGhost: pong.ghost, waited: waited))
    add(pong, to: ping, at: now - waited)
    retriesInARow = 0
    deadline = uptime + Rules.pingTimeout
    return points.count > Rules.pointTarget ? .finished(result, next) : .ask(next)
  }

  private mutating func add(_ pong: Pong, to ping: Ping, at arrival: Micros) {
    guard pong.ghost != .zero, pong.host != .zero else { return }
    let ghost = Double(pong.ghost.count)
    points.append(ghost - (Double(pong.host.count) + Double(arrival.count)) / 2)
    guard pong.previousGhost != .zero else { return }
    let middle = Double(ping.host.count) - Double(ping.waited.count) / 2
    points.append((Double(pong.previousGhost.count) + ghost) / 2 - middle)
  }

  /// The next step when no pong came before the deadline.
  mutating func timeOut(at now: Micros, uptime: Micros) -> AfterTimeout {
    if retriesInARow < Rules.retryBudget && retries < Limits.retries {
      retriesInARow += 1
      retries += 1
      deadline = uptime + Rules.pingTimeout
      return .ask(open(at: now))
    }
    return points.count >= Limits.enoughPoints ? .finished(result) : .failed
  }

  private var result: GhostMap {
    GhostMap(intercept: Micros(rounding: points.median))
  }
}

extension [Double] {
  /// The middle value, or the mean of the two middle values; zero if the list is empty.
  var median: Double {
    guard !isEmpty else { return 0 }
    let ordered = sorted()
    let middle = count / 2
    return count % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2
  }
}

extension LinkSession {
  /// Starts queued measurements, up to the limit.
  mutating func startWaitingMeasurements() {
    while measurements.count < Limits.measurements, let session = peers.sessions.takeWaiting(at: uptime.now) {
      measure(session)
    }
  }

  /// Starts a measurement of a session; it replaces a running measurement of that session.
  mutating func measure(_ target: SessionID) {
    let asked = guide(to: target)?.sighting
    if let asked, isFar(asked.gateway) { return awaitRelay(target, asked) }
    guard let asked, let endpoint = asked.endpoint else {
      measurementFailed(of: target, node: asked?.state.node)
      return
    }
    measurements.removeAll { $0.session == target }
    var measurement = Measurement(
      of: target, from: Source(asked), gateway: asked.gateway, endpoint: endpoint,
      uptime: uptime.now)
    send(measurement.open(at: now), for: measurement)
    measurements.append(measurement)
  }

  private mutating func send(_ ping: Measurement.Ping, for measurement: Measurement) {
    emit(
      .send(
        encodePing(host: ping.host, previousGhost: ping.previousGhost), to: .endpoint(measurement.endpoint),
        on: measurement.gateway, via: .measurement))
  }

  mutating func receive(_ pong: Pong, from source: Endpoint, on gateway: GatewayID, waited: Micros) {
    for place in measurements.indices
    where measurements[place].gateway == gateway && measurements[place].endpoint == source {
      switch measurements[place].receive(pong, waited: waited, at: now, uptime: uptime.now) {
      case .stray:
        continue
      case .ask(let ping):
        send(ping, for: measurements[place])
      case .finished(let map, let ping):
        let done = measurements.remove(at: place)
        send(ping, for: done)
        measurementSucceeded(done, map)
      case .failed:
        let done = measurements.remove(at: place)
        measurementFailed(of: done.session, node: done.source.node)
      }
      return
    }
    counters.strayPongs += 1
  }

  mutating func repeatUnansweredPings() {
    var place = 0
    while place < measurements.count {
      guard measurements[place].deadline <= uptime.now else {
        place += 1
        continue
      }
      switch measurements[place].timeOut(at: now, uptime: uptime.now) {
      case .ask(let ping):
        send(ping, for: measurements[place])
        place += 1
      case .finished(let map):
        let done = measurements.remove(at: place)
        measurementSucceeded(done, map)
      case .failed:
        let done = measurements.remove(at: place)
        measurementFailed(of: done.session, node: done.source.node)
      }
    }
  }

  mutating func abandonMeasurements(on gateway: GatewayID) {
    let lost = measurements.filter { $0.gateway == gateway }
    measurements.removeAll { $0.gateway == gateway }
    for measurement in lost { measurementFailed(of: measurement.session, node: measurement.source.node) }
    let waiting = awaited
    awaited = []
    for session in waiting { measure(session) }
  }
}
