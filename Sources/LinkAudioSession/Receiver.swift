// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import BeatMath
internal import LinkWire

/// One way to a peer: an endpoint that it is said to have, behind one of our gateways.
///
/// Anybody can say in a datagram of discovery where a peer's audio socket is, also that it is a stranger's who never asked for
/// anything. So an endpoint first gets nothing but short announcements without channels. Only when it has repeated what was
/// in one of them is it the peer's: that can only be known where it was sent.
struct Receiver: Sendable {
  let node: NodeID
  let route: AudioRoute
  /// The peer's, by its own word.
  var session: SessionID
  /// What the peer calls itself.
  var name = ""
  let added: Micros
  /// The peer is said to be elsewhere; it goes when that is proven, or at this time.
  var supersededUntil: Micros?
  /// It has answered, and may be believed until then.
  private(set) var provenUntil: Micros?
  private var answered: Micros?
  /// Of the ways to its peer, the one that is used.
  var isChosen = false

  var nextAnnouncement: Micros
  private var lastAnnouncement: Micros?
  /// How often it was sent all our channels since it was proven.
  private var announced = 0
  private var unanswered = 0
  private var pings: [(echo: AudioEcho, sent: Micros)] = []
  var roundTrips = RoundTrips()
  var messages: Allowance
  var announcements: Allowance

  init(_ node: NodeID, in session: SessionID, at route: AudioRoute, now: Micros) {
    self.node = node
    self.session = session
    self.route = route
    added = now
    nextAnnouncement = now
    messages = Allowance(perSecond: AudioLimits.messagesPerSecond, at: now)
    announcements = Allowance(perSecond: AudioLimits.announcementsPerSecond, at: now)
  }

  var hasOurChannels: Bool { announced > 0 }
  var wasPinged: Bool { !pings.isEmpty }

  func isProven(at now: Micros) -> Bool { provenUntil.map { now < $0 } ?? false }

  /// It was believed a moment ago, and that its peer is elsewhere can't be true.
  func isAnswering(at now: Micros) -> Bool {
    answered.map { now < $0 + AudioLimits.answering } ?? false
  }

  /// Another socket of the same peer behind the same gateway: a peer has one.
  func isRival(of other: Receiver) -> Bool {
    node == other.node && route.gateway == other.route.gateway && route != other.route
  }

  func deadline(in session: SessionID) -> Micros? {
    var earliest = self.session == session ? nextAnnouncement : nil
    if let provenUntil { earliest = earliest.map { min($0, provenUntil) } ?? provenUntil }
    if let supersededUntil { earliest = earliest.map { min($0, supersededUntil) } ?? supersededUntil }
    return earliest
  }

  /// A change is said as soon as the spacing allows (facts: link-audio 3.2).
  mutating func announceSoon(at now: Micros) {
    let earliest = lastAnnouncement.map { max(now, $0 + AudioRules.announcementSpacing) } ?? now
    nextAnnouncement = min(nextAnnouncement, earliest)
  }

  /// What it is to repeat, with all our channels if it is proven.
  mutating func ping(_ echo: AudioEcho, at now: Micros) {
    if pings.count == AudioLimits.outstandingPings { pings.removeFirst() }
    pings.append((echo, now))
    announced = isProven(at: now) ? min(announced, 1000) + 1 : 0
    postpone(at: now)
  }

  /// After an announcement, or one that was not allowed: the next.
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

  /// Each echo counts once, and only from where it was sent to: the caller sees to that.
  mutating func hear(_ echo: AudioEcho, at now: Micros) -> Answer {
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

  /// Whether it just stopped being believed.
  mutating func lapse(at now: Micros) -> Bool {
    guard let provenUntil, provenUntil <= now else { return false }
    self.provenUntil = nil
    announced = 0
    return true
  }
}

/// How good a way is, as the reference judges it (facts: link-audio 3.4).
public struct AudioMetrics: Hashable, Sendable, BitwiseCopyable {
  /// Microseconds, there and back; 0 without any.
  public var roundTrip: Double
  /// Microseconds, and up to 10,000 more while there are only a few.
  public var jitter: Double

  /// More is better; 0 without any.
  public var quality: Double { roundTrip > 0 ? 1_000_000 / roundTrip / (1 + jitter) : 0 }

  /// Whether this way is worth leaving the other. Not by `quality`, which ten microseconds of jitter halve: two equally good
  /// cables would be changed all the time.
  func isClearlyBetter(than other: AudioMetrics) -> Bool {
    roundTrip > 0 && AudioLimits.betterWay * (roundTrip + jitter) < other.roundTrip + other.jitter
  }
}

/// The last round trips.
struct RoundTrips: Sendable {
  private var times: [Double] = []

  mutating func add(_ time: Micros) {
    if times.count == AudioRules.roundTrips { times.removeFirst() }
    // Nobody answers in no time: a clock of whole microseconds only says so.
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
