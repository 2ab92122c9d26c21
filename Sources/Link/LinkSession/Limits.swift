// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The protocol's own numbers. Each comment begins with the number of a section in docs/facts/link.md.
enum Rules {
  /// 3.2: the period of Alives, and the least time between two state datagrams on one gateway.
  static var alivePeriod: Micros { Micros(250_000) }
  static var stateSpacing: Micros { Micros(50_000) }
  /// 3.4: how long we keep a silent peer after its time to live.
  static var expiryGrace: Micros { Micros(1_000_000) }
  /// 4.3: the time after which an unanswered ping is repeated, and the most repetitions in a row.
  static var pingTimeout: Micros { Micros(50_000) }
  static var retryBudget: Int { 5 }
  /// 4.3: a measurement with more points than this is complete.
  static var pointTarget: Int { 100 }
  /// 4.5: the period at which a peer measures the session that it joined.
  static var remeasurePeriod: Micros { Micros(30_000_000) }
  /// 7.4: sessions whose ghost times differ by less than this are equally old, and the smaller id wins.
  static var joinTolerance: Micros { Micros(500_000) }
}

/// Limits that we add to the protocol, so that no network, however hostile, makes the machine grow, stall or
/// jump. Input beyond a limit is dropped and counted in `Counters`.
public enum Limits {
  /// The most local addresses in use at once.
  public static var gateways: Int { 32 }
  /// The most peers that are remembered; a peer seen through two gateways counts twice.
  public static var sightings: Int { 4096 }
  /// The most table entries for peers of other sessions. The rest of `sightings` is reserved for peers of our
  /// own session, so that invented peers cannot displace them.
  package static var foreignSightings: Int { 2048 }
  /// The most table entries for peers of one host, which may claim to be many peers.
  package static var sightingsPerAddress: Int { 256 }
  /// The most other sessions that are remembered.
  public static var sessions: Int { 2048 }
  /// The most other sessions that are measured at once; further sessions wait in a queue.
  package static var measurements: Int { 16 }
  /// Pauses before a session whose measurement failed is measured again: `firstPause` after its second
  /// failure, twice as long after each further failure up to `longestPause`. Failures are forgotten after
  /// `failureMemory` without a new failure.
  package static var firstPause: Micros { Micros(250_000) }
  package static var longestPause: Micros { Micros(8_000_000) }
  static var failureMemory: Micros { Micros(20_000_000) }
  /// The most unanswered pings of one measurement whose pongs we still accept.
  package static var outstandingPings: Int { 8 }
  /// The most repeated pings in one measurement, in total.
  package static var retries: Int { 100 }
  /// The most pongs of one measurement. A pong without a time adds no point, but counts, so that the
  /// measurement ends.
  package static var pongs: Int { 250 }
  /// The number of points with which a measurement is valid even if its peer fell silent.
  package static var enoughPoints: Int { 20 }
  /// Longest time that a thread needs to start reading a datagram on a machine that is not busy.
  package static var wakeUp: Micros { Micros(500) }
  /// The most Responses and pongs that a gateway sends in a second; a thousand peers need 4,000 Responses.
  package static var responsesPerSecond: Int { 8_000 }
  package static var pongsPerSecond: Int { 50_000 }
  /// The most Responses to one host in a second: enough for ten programs that announce themselves four times
  /// a second.
  package static var responsesPerHost: Int { 40 }
  /// The most hosts that get a Response in one second.
  package static var respondents: Int { 4096 }
  /// Time after the last Alive when the next Alive is sent in spite of Responses, which otherwise delay it:
  /// peers forget us after five silent seconds.
  package static var longestSilence: Micros { Micros(1_000_000) }
  /// The number of our own earlier node ids whose late datagrams we recognise.
  package static var formerNodes: Int { 8 }
  /// Greatest age of a session: three years. Its members then continue in a session that is half as old
  /// (`yearsLeftBehind`). The new session is still older than a newcomer's session, and a start in it has a
  /// later time stamp than `.unset`.
  package static var farthestTime: Micros { Micros(100_000_000_000_000) }
  static var yearsLeftBehind: Micros { Micros(50_000_000_000_000) }
  /// Greatest distance of a beat from zero: the range of 64 bits less the beats that pass in three years at
  /// `horizonTempo`.
  package static var farthestBeat: Beats { Beats(millionths: .max - 1 << 51) }
  /// The tempo at which the limit on beats grows. It is above the highest tempo, so that a timeline within
  /// the limit stays within it.
  static var horizonTempo: Tempo { Tempo(1_000) }
  /// Greatest distance from zero at which a new session of ours may begin. From a beat beyond it, whole
  /// rounds of 720,720 beats are subtracted.
  package static var beatsCarriedOn: Beats { Beats(millionths: 100_000_000_000_000) }
  /// The most beats by which a timeline's origin may lie ahead of the session's beat. Even at the lowest
  /// tempo, the time of such an origin fits into 64 bits.
  package static var timelineLead: Beats { Beats(millionths: 1 << 61) }
  /// The most time by which a start or stop may be stamped ahead of the session's time. A later stamp would
  /// block all starts and stops until then.
  package static var startStopLead: Micros { Micros(5_000_000) }
  /// Greatest length of a song, and greatest distance of a song line from the session's beat: ten years at
  /// 999 BPM. `longestBar`: the most beats of a bar.
  package static var farthestSong: Beats { Beats(millionths: 5_000_000_000_000_000) }
  package static var longestBar: UInt8 { 64 }
  /// Largest random time by which we measure our session's clock earlier than Ableton's library does.
  package static var remeasureSpread: Micros { Micros(5_000_000) }
  /// The most measurements through which a clock may be passed from peer to peer. A longer chain is taken for
  /// a circle.
  package static var clockSteps: UInt8 { 6 }
  /// The wait before a measurement that is due early, as after the choice of another peer to ask:
  /// `guideSettles`, and at random up to `remeasureSpacing` for each member of the session, so that a
  /// thousand peers don't ask one peer at once.
  package static var guideSettles: Micros { Micros(500_000) }
  package static var remeasureSpacing: Micros { Micros(50_000) }
  /// The time from a failed measurement to the next. Ableton's library waits for its regular turn and drifts
  /// until then.
  package static var remeasureRetry: Micros { Micros(5_000_000) }
  /// Longest time for which a user's change waits while the clock is doubted. A measurement takes about 0.2
  /// s.
  package static var longestDoubt: Micros { Micros(1_000_000) }
  /// The difference between two readings of our session's clock beyond which they must come from two clocks.
  /// A poor network causes a smaller difference.
  package static var clockTolerance: Micros { Micros(50_000) }
  /// The time after which we measure another session again that still exists, although the members of one of
  /// the two sessions should have joined the other session. At random the time is up to twice as long, so
  /// that two peers do not act at the same moment.
  package static var reconsiderPeriod: Micros { Micros(2_000_000) }
  /// The time after which we measure another session again if the ages of both sessions are so close that it
  /// is in doubt which session is older.
  package static var doubtfulPeriod: Micros { Micros(500_000) }
  /// The border between "older" and "equally old" moves by `borderStep` with each measurement, at most
  /// `borderSteps` times.
  package static var borderStep: Micros { Micros(50_000) }
  package static var borderSteps: Int { 5 }
  /// The step by which the border between "older" and "equally old" moves if one of the sessions has peers of
  /// Ableton's library, whose border never moves. The step is about the error of a measurement.
  package static var mixedBorderStep: Micros { Micros(2_000) }
  /// The number of measurements of another session after which we assume that no peer will leave either
  /// session for the other any more.
  static var looksInVain: Int { 12 }
  /// If two sessions stay apart for good, we start a common session that is older than ours by this time.
  /// This time is more than the difference in age of the two sessions.
  static var leadOfMeeting: Micros { Micros(2_000_000) }
  /// A peer that said goodbye stays if it sends again within this time, which is a little more than the
  /// period of Alives.
  package static var farewellGrace: Micros { Micros(300_000) }
  /// If a peer has not asked us for the time for this long, it asks another peer. This is one and a half
  /// periods of measurement.
  package static var independence: Micros { Micros(45_000_000) }
  /// `farPings`: the period of pings to a relay. `farLook`: their period while the relay does not answer, and
  /// the period at which our clock is moved.
  package static var farPings: Micros { Micros(50_000) }
  package static var farLook: Micros { Micros(250_000) }
  /// The number of a relay's answers that we remember: those of almost two minutes.
  package static var farExchanges: Int { 2048 }
  /// The number of answers after which a relay's clock is known well enough to join a session by it.
  package static var farEnough: Int { 64 }
  /// The most pings that a relay may still answer: those of the last six seconds.
  package static var farOutstanding: Int { 128 }
  /// The number of impossible answers in a row after which we conclude that one of the two clocks has
  /// stepped.
  package static var farContradictions: Int { 16 }
  /// After this silence we do not wait for a relay's answer any more.
  package static var farSilence: Micros { Micros(5_000_000) }
  /// A clock under correction runs faster or slower by one part in this number, which is inaudible: 120 BPM
  /// become 119.88.
  package static var farSlew: Int64 { 1_000 }
  /// Speed of a correction that changes during play, as one part in this number. If both sides correct at
  /// once, a fifth of `farSlew` is left to correct the difference between the crystals.
  package static var farCorrectionSlew: Int64 { 2_500 }
  /// We announce a jump after our clock has moved by this time, so that the peers that follow our clock
  /// measure it again.
  package static var farNews: Micros { Micros(2_000) }
  /// Least time between two searches for expired peers.
  package static var pruneSpacing: Micros { Micros(50_000) }
  /// If the table is full, peers that have been silent for this long make room for a newcomer. Real peers
  /// send four times a second, most invented peers only once.
  package static var crowdedExpiry: Micros { Micros(1_500_000) }
  /// The most outputs that wait to be taken.
  public static var outputs: Int { 4096 }
}

/// Counts of dropped input and of notable events. None of them is an error of ours.
public struct Counters: Hashable, Sendable, BitwiseCopyable {
  /// The number of all datagrams that came in, dropped or not.
  public var received = 0
  /// The number of datagrams that `LinkWire` refused: not Link, broken, or too long.
  public var malformed = 0
  /// The number of datagrams from ourselves, with our present id or a former id.
  public var own = 0
  /// The number of datagrams that came through a gateway that is not open, or while Link was disabled.
  public var closedGateway = 0
  /// The number of timelines, starts, stops or ghost times that no sane peer can have.
  public var implausible = 0
  /// The number of peers, sessions or gateways that were refused because of a limit.
  public var crowdedOut = 0
  /// The number of Responses and pongs that were not sent because the gateway's rate was used up.
  public var unanswered = 0
  /// The number of datagrams with a known peer's id that came from another host.
  public var forged = 0
  /// The number of pongs that answer no ping of ours.
  public var strayPongs = 0
  /// The number of measurements that got too few pongs.
  public var measurementsFailed = 0
  /// The number of measurements that gave a session's time.
  public var measurementsDone = 0
  /// The number of commits of an app or audio thread that were absurd or made for a session that we had left.
  public var staleCommits = 0
  /// The number of results that were dropped because more than `Limits.outputs` waited for the caller.
  public var outputsDropped = 0
  /// The number of backward steps of the host clock, and of calls later than we had asked for by more than a
  /// second.
  public var clockSteps = 0
  /// The number of sessions of other peers that we joined.
  public var joins = 0
  /// The number of sessions that we founded: when Link was switched on, when all other peers had left, or
  /// when our session could not continue.
  public var resets = 0

  /// Makes counters that are all zero.
  public init() {}
}

/// The present sizes of a session's tables.
package struct Load: Hashable, Sendable {
  package var gateways: Int
  package var sightings: Int
  package var sessions: Int
  package var measurements: Int
}
