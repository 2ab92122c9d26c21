// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkWire

/// A route to a peer: an endpoint that the peer is said to have, behind one of our gateways.
///
/// A discovery datagram can be forged and name the endpoint of a stranger that never asked for anything. So
/// an endpoint first gets only short announcements without channels, each with a secret echo. If the endpoint
/// returns an echo, it has received our announcement, and belongs to the peer.
struct Receiver: Sendable {
  let node: NodeID
  let route: AudioRoute
  /// The session in which the peer claims to be.
  var session: SessionID
  /// The name that the peer announces.
  var name = ""
  let added: Micros
  /// The time at which this endpoint is dropped, or earlier if the peer's other endpoint answers. Set when a
  /// discovery datagram names another endpoint of the peer; otherwise nil.
  var supersededUntil: Micros?
  /// The time until which the endpoint counts as proven after its last answer; nil: it is not proven.
  private(set) var provenUntil: Micros?
  private var answered: Micros?
  /// Whether this is the route that we use for the peer.
  var isChosen = false

  var nextAnnouncement: Micros
  private var lastAnnouncement: Micros?
  /// The number of announcements with all our channels since the endpoint was proven.
  private var announced = 0
  private var unanswered = 0
  private var pings: [(echo: AudioEcho, sent: Micros)] = []
  var roundTrips = RoundTrips()
  var placeholder = PlaceholderNeed.unknown
  var messages: TokenBucket
  var announcements: TokenBucket

  init(_ node: NodeID, in session: SessionID, at route: AudioRoute, now: Micros) {
    self.node = node
    self.session = session
    self.route = route
    added = now
    nextAnnouncement = now
    messages = TokenBucket(perSecond: AudioLimits.messagesPerSecond, at: now)
    announcements = TokenBucket(perSecond: AudioLimits.announcementsPerSecond, at: now)
  }

  var hasOurChannels: Bool { announced > 0 }
  var wasPinged: Bool { !pings.isEmpty }

  func isProven(at now: Micros) -> Bool { provenUntil.map { now < $0 } ?? false }

  /// Whether the endpoint answered within `AudioLimits.answering`. If so, its peer cannot be at another
  /// endpoint.
  func isAnswering(at now: Micros) -> Bool {
    answered.map { now < $0 + AudioLimits.answering } ?? false
  }

  /// Whether both receivers stand for the same peer behind the same gateway, but with different endpoints. A
  /// peer has only one endpoint on a network, so one of the two is wrong.
  func isRival(of other: Receiver) -> Bool {
    node == other.node && route.gateway == other.route.gateway && route != other.route
  }

  func deadline(in session: SessionID) -> Micros? {
    var earliest = self.session == session ? nextAnnouncement : nil
    if let provenUntil { earliest = earliest.map { min($0, provenUntil) } ?? provenUntil }
    if let supersededUntil { earliest = earliest.map { min($0, supersededUntil) } ?? supersededUntil }
    return earliest
  }

  /// Announces a change as soon as the spacing allows (facts: link-audio 3.2).
  mutating func announceSoon(at now: Micros) {
    let earliest = lastAnnouncement.map { max(now, $0 + AudioRules.announcementSpacing) } ?? now
    nextAnnouncement = min(nextAnnouncement, earliest)
  }

  /// Records that an announcement is sent now. The announcement has this echo, and also all our channels if
  /// the endpoint has proven that it receives at its address.
  mutating func ping(_ echo: AudioEcho, at now: Micros) {
    if pings.count == AudioLimits.outstandingPings { pings.removeFirst() }
    pings.append((echo, now))
    announced = isProven(at: now) ? min(announced, 1000) + 1 : 0
    postpone(at: now)
  }

  /// Schedules the next announcement, after one was sent or held back by a limit.
  mutating func postpone(at now: Micros) {
    lastAnnouncement = now
    if wasPinged { unanswered = min(unanswered, 1000) + 1 }
    nextAnnouncement = now + period(at: now)
  }

  private func period(at now: Micros) -> Micros {
    if isProven(at: now) {
      return announced <= AudioLimits.firstAnnouncements
        ? AudioLimits.firstSpacing : AudioRules.announcementPeriod
    }
    if unanswered <= AudioLimits.firstPings { return AudioLimits.firstSpacing }
    return unanswered <= AudioLimits.eagerPings
      ? AudioRules.announcementPeriod : AudioLimits.patientPingSpacing
  }

  enum Answer { case stray, proven, provenAgain }

  /// Handles a returned echo. Each echo counts only once. The caller has checked that the echo came from this
  /// endpoint.
  mutating func receive(_ echo: AudioEcho, at now: Micros) -> Answer {
    guard let place = pings.firstIndex(where: { $0.echo == echo }) else { return .stray }
    roundTrips.add(now - pings[place].sent)
    pings.remove(at: place)
    unanswered = 0
    let wasProven = isProven(at: now)
    provenUntil = now + AudioLimits.proof
    answered = now
    if supersededUntil != nil { supersededUntil = now + AudioRules.lifetime }
    if !wasProven { nextAnnouncement = now }
    return wasProven ? .provenAgain : .proven
  }

  /// Makes the endpoint unproven if its proof has expired. Returns whether it has.
  mutating func lapse(at now: Micros) -> Bool {
    guard let provenUntil, provenUntil <= now else { return false }
    self.provenUntil = nil
    announced = 0
    return true
  }
}

/// The quality of a route, as the reference judges it (facts: link-audio 3.4).
public struct AudioMetrics: Hashable, Sendable, BitwiseCopyable {
  /// The mean round trip in microseconds; 0 before the first round trip.
  public var roundTrip: Double
  /// The standard deviation of the round trip in microseconds, plus up to 10,000 until ten round trips are
  /// known.
  public var jitter: Double

  /// The score of this route by the reference's formula. A higher score is better; 0 before the first round
  /// trip.
  public var quality: Double { roundTrip > 0 ? 1_000_000 / roundTrip / (1 + jitter) : 0 }

  /// Whether this route should replace the other route. `quality` cannot decide this, because ten
  /// microseconds of jitter halve it, and two equally good cables would replace each other again and again.
  func isClearlyBetter(than other: AudioMetrics) -> Bool {
    roundTrip > 0 && AudioLimits.betterWay * (roundTrip + jitter) < other.roundTrip + other.jitter
  }
}

/// The latest round trips.
struct RoundTrips: Sendable {
  private var times: [Double] = []

  mutating func add(_ time: Micros) {
    if times.count == AudioRules.roundTrips { times.removeFirst() }
    // A clock of whole microseconds can measure 0, which would make the quality infinite.
    times.append(max(1, Double(time.count)))
  }

  var metrics: AudioMetrics {
    guard !times.isEmpty else { return AudioMetrics(roundTrip: 0, jitter: 0) }
    let count = Double(times.count)
    let mean = times.reduce(0, +) / count
    let variance = times.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count
    let missing = 1 - count / Double(AudioRules.roundTrips)
    return AudioMetrics(roundTrip: mean, jitter: variance.squareRoot() + 10_000 * missing)
  }
}
