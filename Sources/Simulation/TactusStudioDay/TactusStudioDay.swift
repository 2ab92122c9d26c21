// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import LinkSession
import LinkWorld

// A studio's day, compressed: acts of trouble and peace on a virtual network (`LinkWorld`). On the first
// peer's machine there is a JACK server that runs every cycle of `HostSync`; its clicks and MIDI clocks are
// counted.
//
// Everything that cannot be repeated exactly is left out: sockets, a clock, threads. The whole day follows
// from its seed, to the last click.
//
// The invariant: the ears know the session and the lost cycles, and nothing of `HostSync`.
//
// Start reading at `Day.run`, then `Player` (the server and its driver) and `Ear` (which judges the events
// and knows the excuses).

/// A day that follows from its seed.
public struct Day {
  public struct Plan: Sendable {
    public var seed: UInt64
    public var length = Micros(86_400_000_000)
    public var peers = 6
    public var sampleRate: UInt32 = 48_000
    public var frames: UInt32 = 256
    /// The longest trouble of an act; the length is drawn. An act consists of trouble and peace.
    public var longestTrouble = Micros(600_000_000)
    /// Whether nothing changes from beginning to end: one tempo, a rolling transport, no exports, no death of
    /// the server.
    public var isNight = false
    public var plant: Plant?
    /// The stage of a launch at which the server dies, in most launches; nil: it dies at random.
    public var diesIn: LaunchStage?

    public init(seed: UInt64) {
      self.seed = seed
    }
  }

  public struct Broken: Sendable, CustomStringConvertible {
    public let promise: Promise
    public let at: Micros
    public let detail: String

    public var description: String {
      "at \(at.seconds) s: not true: \(promise.rawValue) (\(detail))"
    }
  }

  /// The results for one output port.
  public struct Heard: Sendable, Equatable {
    public var count = 0
    /// Excused events: within the beat after a jump of the session, late
    /// after a correction or a stall, or in lost cycles.
    public var afterJumps = 0
    public var late = 0
    public var lost = 0
    public var jumps = 0
    /// Errors of all events that no excuse covers, in microseconds.
    public var median = 0
    public var p99 = 0
    public var maximum = 0.0
  }

  public struct Outcome: Sendable {
    package var network: Simulation.Outcome
    public var acts = 0
    public var broken: [Broken] = []
    public var clicks = Heard()
    public var clocks = Heard()
    public var starts = 0
    public var cycles = 0
    public var lostCycles = 0
    public var stalls = 0
    /// The number of freewheels, the hours of audio in them, and the number of clicks in those freewheels
    /// that were exports.
    public var exports = (count: 0, hours: 0.0, clicks: 0)
    public var deaths = (count: 0, inLaunches: 0)
    /// Hours in which the transport rolled without a stop, counted by the host's frames.
    public var countedHours = 0.0

    public var isKept: Bool { broken.isEmpty && network.isKept }
  }

  private let plan: Plan
  private let acts: [Scenario]

  public init(_ plan: Plan) {
    self.plan = plan
    guard !plan.isNight else {
      acts = [Day.night(plan)]
      return
    }
    var dice = Dice(seed: plan.seed ^ 0x646179)
    var acts: [Scenario] = []
    var rest = plan.length
    repeat {
      var act = Day.act(among: plan.peers, dice: &dice)
      act.turmoil = min(
        rest, Micros(plan.longestTrouble.count / 5) + dice.duration(upTo: plan.longestTrouble))
      if !acts.isEmpty { act.arrival = .zero }
      acts.append(act)
      rest = rest - act.turmoil - Day.peace
    } while rest > Micros(60_000_000)
    self.acts = acts
  }

  /// The approximate length of peace, in which peers find one session again and settle, and the ears listen.
  private static let peace = Micros(85_000_000)

  private static func night(_ plan: Plan) -> Scenario {
    var act = Scenario(seed: plan.seed)
    act.peers = plan.peers
    act.watch = plan.length
    return act
  }

  /// Draws an act: a bad evening on a bad network. Each trouble is absent from some acts.
  private static func act(among peers: Int, dice: inout Dice) -> Scenario {
    var act = Scenario(seed: dice.next())
    act.peers = peers
    act.conditions.delay = Micros(Int64.random(in: 50...5_000, using: &dice))
    if dice.chance(0.7) { act.conditions.loss = 0.2 * dice.fraction() }
    if dice.chance(0.7) { act.conditions.jitter = dice.duration(upTo: Micros(10_000)) }
    if dice.chance(0.3) { act.conditions.reordering = 0.1 * dice.fraction() }
    if dice.chance(0.3) { act.conditions.duplication = 0.1 * dice.fraction() }
    // The clocks keep their rates from earlier acts.
    act.drift = 100
    act.driftChanges = 0.02
    if dice.chance(0.8) { act.edits = 0.5 * dice.fraction() }
    if dice.chance(0.7) { act.churn = 0.05 * dice.fraction() }
    if dice.chance(0.5) { act.crashes = 0.02 * dice.fraction() }
    if dice.chance(0.5) { act.partitions = Int.random(in: 1...4, using: &dice) }
    return act
  }

  /// Runs the day. `progress` is called now and then with the simulated time and the present stage.
  public func run(progress: (Micros, String) -> Void = { _, _ in }) -> Outcome {
    var simulation = Simulation(acts[0])
    let player = Player(plan, peer: 0)
    // The player begins at the first event, because the peers do not exist before.
    simulation.world.plan(at: .zero) { player.begin(in: $0) }
    let network = simulation.run(acts: Array(acts.dropFirst()), progress: progress)
    var outcome = Outcome(network: network)
    outcome.acts = acts.count
    outcome.clicks = Heard(player.clicks)
    outcome.clocks = Heard(player.clocks)
    outcome.starts = player.receiver.starts
    outcome.cycles = player.cycles
    outcome.lostCycles = player.lost
    outcome.stalls = player.stalls
    outcome.exports = player.exports
    outcome.deaths = player.deaths
    outcome.countedHours = player.counter.hours
    let clock = simulation.world.peers[0].clock
    let complaints =
      player.clicks.complaints.all + player.clocks.complaints.all + player.receiver.complaints.all
    for complaint in complaints + player.exportComplaints + player.counter.complaints.all {
      let at = clock.world(at: Micros(rounding: complaint.at))
      outcome.broken.append(Broken(promise: complaint.promise, at: at, detail: complaint.text))
    }
    return outcome
  }
}

extension Day.Heard {
  init(_ ear: Ear) {
    count = ear.heard
    (afterJumps, late, lost) = ear.excused
    jumps = ear.jumps
    median = ear.errors.quantile(0.5)
    p99 = ear.errors.quantile(0.99)
    maximum = ear.errors.maximum
  }
}
