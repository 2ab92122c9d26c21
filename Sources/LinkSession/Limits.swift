// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The protocol's own numbers. The section is that of the protocol's fact sheet.
enum Rules {
  /// 3.2: an Alive this often, and never two state datagrams closer than the spacing on one gateway.
  static var alivePeriod: Micros { Micros(250_000) }
  static var stateSpacing: Micros { Micros(50_000) }
  /// 3.4: how long after its time to live a silent peer is still believed.
  static var expiryGrace: Micros { Micros(1_000_000) }
  /// 4.3: pings are repeated after this long, this often in a row.
  static var pingTimeout: Micros { Micros(50_000) }
  static var retryBudget: Int { 5 }
  /// 4.3: a measurement is complete when it has more points than this.
  static var pointTarget: Int { 100 }
  /// 4.5: the session that we joined is measured again this often.
  static var remeasurePeriod: Micros { Micros(30_000_000) }
  /// 7.4: ghost times nearer than this count as equal, and the smaller id wins.
  static var joinTolerance: Micros { Micros(500_000) }
}

/// What we add to the protocol so that no network, however hostile, makes the machine grow, stall or run wild.
/// Whatever goes over a limit is dropped and counted in `Counters`.
public enum Limits {
  /// Addresses of this machine in use at once.
  public static var gateways: Int { 32 }
  /// Peers remembered, each as often as there are gateways through which it is seen.
  public static var sightings: Int { 4096 }
  /// Of these, how many may belong to other sessions: the rest is kept for peers of our own, which therefore
  /// can't be crowded out by invented strangers.
  package static var foreignSightings: Int { 2048 }
  /// Of these, how many one host may claim to be.
  package static var sightingsPerAddress: Int { 256 }
  /// Other sessions remembered.
  public static var sessions: Int { 2048 }
  /// Other sessions measured at once; the rest wait in line.
  package static var measurements: Int { 16 }
  /// A session that could not be measured twice waits for the first of these before it is measured again, and
  /// twice as long after each further failure. Without a failure for the last of these its failures are
  /// forgotten.
  package static var firstPause: Micros { Micros(250_000) }
  package static var longestPause: Micros { Micros(8_000_000) }
  static var failureMemory: Micros { Micros(20_000_000) }
  /// Pings of one measurement that may still be answered.
  package static var outstandingPings: Int { 8 }
  /// Pings repeated in one measurement in all.
  package static var retries: Int { 100 }
  /// Pongs of one measurement: those that carry no time add no point, and it must end all the same.
  package static var pongs: Int { 250 }
  /// A measurement that falls silent with at least so many points counts with what it has.
  package static var enoughPoints: Int { 20 }
  /// What a thread needs to read a datagram on a machine that is not busy, at most.
  package static var wakeUp: Micros { Micros(500) }
  /// Responses and pongs a gateway sends in a second; a thousand peers need 4,000 Responses.
  package static var responsesPerSecond: Int { 8_000 }
  package static var pongsPerSecond: Int { 50_000 }
  /// Responses to one host in a second: enough for ten programs that announce themselves four times a second.
  package static var responsesPerHost: Int { 40 }
  /// Hosts that get a Response in one second.
  package static var respondents: Int { 4096 }
  /// Responses put the next Alive off, but not beyond this after the last: who is not heard for five seconds is
  /// forgotten.
  package static var longestSilence: Micros { Micros(1_000_000) }
  /// Own earlier node ids whose late datagrams are recognised.
  package static var formerNodes: Int { 8 }
  /// No session is older: three years. Who has been in one for so long goes on in the next, which is younger by half of that: older
  /// than what newcomers bring, and what is started in it is later than what nobody ever started.
  package static var farthestTime: Micros { Micros(100_000_000_000_000) }
  static var yearsLeftBehind: Micros { Micros(50_000_000_000_000) }
  /// No beat is farther from zero: what 64 bits hold, without what three years at `horizonTempo` add.
  package static var farthestBeat: Beats { Beats(micros: .max - 1 << 51) }
  /// The limit on beats grows at this tempo, which is above the highest, so that nothing that was within it leaves it.
  static var horizonTempo: Tempo { Tempo(1_000) }
  /// A session of our own that would begin farther from zero begins that many rounds nearer to it.
  package static var beatsCarriedOn: Beats { Beats(micros: 100_000_000_000_000) }
  /// A timeline begins where it was changed, or as far ahead of the session's beat as somebody says; not farther than
  /// has a time in 64 bits at the lowest tempo.
  package static var timelineLead: Beats { Beats(micros: 1 << 61) }
  /// A start or stop is stamped with the session's time; one from farther ahead would bar all later ones.
  package static var startStopLead: Micros { Micros(5_000_000) }
  /// How much sooner than the reference does we measure our session again, at random.
  package static var remeasureSpread: Micros { Micros(5_000_000) }
  /// A clock is passed on by so many peers at most; what comes from farther goes round in a circle.
  package static var clockSteps: UInt8 { 6 }
  /// A peer that has another to ask waits so long before it does, and so much longer, at random, for each member: with a
  /// thousand, not all ask one at once.
  package static var guideSettles: Micros { Micros(500_000) }
  package static var remeasureSpacing: Micros { Micros(50_000) }
  /// After a failure, it is tried again so soon; the reference waits for its next turn, and drifts.
  package static var remeasureRetry: Micros { Micros(5_000_000) }
  /// The longest time that a user's change waits for a doubted clock. A measurement takes some 0.2 s.
  package static var longestDoubt: Micros { Micros(1_000_000) }
  /// Two readings of our session's clock that differ by more are of two clocks: more than a poor network makes of one.
  package static var clockTolerance: Micros { Micros(50_000) }
  /// A session that stays beside ours although one of the two should have yielded is measured again after this
  /// long, and up to twice as long, so that two peers do not do it together.
  package static var reconsiderPeriod: Micros { Micros(2_000_000) }
  /// The same where clocks cannot tell yet which of the two should have yielded.
  package static var doubtfulPeriod: Micros { Micros(500_000) }
  /// How much the border between an older and an equally old session moves with each look.
  package static var borderStep: Micros { Micros(50_000) }
  package static var borderSteps: Int { 5 }
  /// With peers of the reference's there it moves by no more than clocks are measured wrong by: theirs never moves.
  package static var mixedBorderStep: Micros { Micros(2_000) }
  /// After so many looks that changed nothing nobody will move any more.
  static var looksInVain: Int { 12 }
  /// So much older is the session in which all meet then: more than any of the two is older than the other.
  static var leadOfMeeting: Micros { Micros(2_000_000) }
  /// Who says goodbye and is heard again within this did not leave: a little more than the period of Alives.
  package static var farewellGrace: Micros { Micros(300_000) }
  /// Who did not ask us for the time for so long has somebody else to ask: half as long again as the period of measurements.
  package static var independence: Micros { Micros(45_000_000) }
  /// A relay is asked for its clock this often, and this often while it does not answer; so often our clock is moved.
  package static var farPings: Micros { Micros(50_000) }
  package static var farLook: Micros { Micros(250_000) }
  /// Its answers that are remembered: almost two minutes of them.
  package static var farExchanges: Int { 2048 }
  /// With so many the clock is good enough to join a session by.
  package static var farEnough: Int { 64 }
  /// Pings to it that may still be answered: those of the last six seconds.
  package static var farOutstanding: Int { 128 }
  /// So many answers in a row that cannot be: one of the clocks has stepped.
  package static var farContradictions: Int { 16 }
  /// Who has not answered for so long is not waited for.
  package static var farSilence: Micros { Micros(5_000_000) }
  /// A corrected clock runs faster or slower by one part in so many, which nobody hears: 120 BPM are
  /// 119.88 for so long.
  package static var farSlew: Int64 { 1_000 }
  /// A correction that is chosen while it plays comes in this slowly: both sides together leave a fifth of `farSlew` for the crystals.
  package static var farCorrectionSlew: Int64 { 2_500 }
  /// After so much of it our followers are told.
  package static var farNews: Micros { Micros(2_000) }
  /// Expired peers are looked for at most this often.
  package static var pruneSpacing: Micros { Micros(50_000) }
  /// When there is no room for a newcomer, who has been silent for so long has to go, and another host may take
  /// its name; real peers speak four times a second, most invented ones once.
  package static var crowdedExpiry: Micros { Micros(1_500_000) }
  /// Outputs that wait when a caller does not drain them.
  public static var outputs: Int { 4096 }
}

/// What was dropped, and why. Nothing in here is an error of ours.
public struct Counters: Hashable, Sendable, BitwiseCopyable {
  /// Datagrams that came in, whatever became of them.
  public var received = 0
  /// Not Link, broken, too long: refused by `LinkWire`.
  public var malformed = 0
  /// From ourselves, under this or a former id.
  public var own = 0
  /// Through a gateway that is not open, or while disabled.
  public var closedGateway = 0
  /// A timeline, start/stop or ghost time that no peer in its senses can have.
  public var implausible = 0
  /// More peers, or sessions, or gateways, than the limits allow.
  public var crowdedOut = 0
  /// Responses and pongs that were not sent because a gateway had its fill.
  public var unanswered = 0
  /// Something said in a peer's name by another host than the peer's.
  public var forged = 0
  /// A pong that answers no ping of ours.
  public var strayPongs = 0
  /// Measurements of a session's clock that too few pongs came for.
  public var measurementsFailed = 0
  /// Measurements of a session's clock that told its time.
  public var measurementsDone = 0
  /// Commits of an app or audio thread that belonged to a session which we had left by then, or were absurd.
  public var staleCommits = 0
  /// Outputs beyond `Limits.outputs`, which the caller did not take in time.
  public var outputsDropped = 0
  /// The host clock went back, or we were not run for longer than we asked.
  public var clockSteps = 0
  /// Sessions of others that we went over to.
  public var joins = 0
  /// Sessions that we founded: when Link was switched on, when all others had left, when ours could not go on.
  public var resets = 0

  /// All zero: nothing has happened yet.
  public init() {}
}

/// What is remembered at the moment.
package struct Load: Hashable, Sendable {
  package var gateways: Int
  package var sightings: Int
  package var sessions: Int
  package var measurements: Int
}
