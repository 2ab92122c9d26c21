// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Machines of one session with song sync: a studio and a `SongSync` each, and a network that delivers each
/// decision to each machine at another time.
final class SongEnsemble {
  struct Decision {
    var line: SongLine
    var at: Double
    var machine: Int
  }

  final class Machine {
    let studio: Studio
    let frames: UInt32
    var sync = SongSync()
    var shared = SongSync.Shared(nil, decision: 0)
    /// Whether the machine sees no other peer.
    var isAlone = false
    var known: Decision?
    /// Decisions that the network will deliver, each with its time. `arrivingStarts`: starts and stops.
    var arriving: [(at: Double, decision: Decision)] = []
    var arrivingStarts: [(at: Double, told: Double, proposal: Proposal)] = []
    var toldStarts = 0
    /// The time of the newest start or stop that the machine knows.
    var knownStart = 0.0
    var commands: [TransportCommand] = []
    var decisions = 0
    /// Whether the machine takes part.
    var isOn = true

    init(sampleRate: UInt32, frames: UInt32, start: Double) {
      studio = Studio(sampleRate: sampleRate, start: start)
      self.frames = frames
      studio.settings.syncsStartStop = true
      studio.asksBeforeRolling = true
      studio.followsSession = true
    }

    var now: Double { studio.report.moment.heard.start }

    /// The song's beat that is heard at `time`.
    func songBeat(at time: Double) -> Double {
      let report = studio.report
      guard report.song.isRolling else { return report.song.beat }
      return report.song.beat + (time - now) / report.moment.beatMicros
    }

    /// The beat of the transport's frame at `time`, by the session's tempo.
    func frameBeat(at time: Double) -> Double {
      let report = studio.report
      let passed = report.song.isRolling ? (time - now) / studio.microsPerFrame : 0
      return (Double(report.moment.frame) + passed) / Double(studio.sampleRate) * report.tempo / 60
    }
  }

  private(set) var machines: [Machine] = []
  /// For the delays of decisions, and of starts and stops, so that the second are the same without song sync.
  private var dice, startDice: Dice
  /// The least and the greatest delay of the network, in microseconds.
  private let delays = 2_000.0...30_000.0

  init(_ rates: [UInt32], frames: [UInt32] = [256, 1024, 64], launch: LaunchMoment = .beat, seed: UInt64 = 1)
  {
    dice = Dice(seed: seed)
    startDice = Dice(seed: seed &+ 1)
    for (place, rate) in rates.enumerated() {
      let machine = Machine(
        sampleRate: rate, frames: frames[place % frames.count], start: 1e9 + 777 * Double(place))
      machine.studio.timeline = Timeline(
        tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(1_000_000_000))
      machine.studio.settings.launch.moment = launch
      machines.append(machine)
    }
    play(seconds: 1)
  }

  subscript(place: Int) -> Studio { machines[place].studio }

  var now: Double { machines.map(\.now).min() ?? 0 }

  private func delay(_ dice: inout Dice) -> Double {
    delays.lowerBound + (delays.upperBound - delays.lowerBound) * Double(dice.next() % 1000) / 1000
  }

  func play(seconds: Double) {
    let end = now + seconds * 1e6
    while now < end { machines.min { $0.now < $1.now }.map(play) }
  }

  private func play(_ machine: Machine) {
    let studio = machine.studio
    studio.plan.choices = studio.settings
    studio.plan.beatMicros = Grid(studio.timeline).beatMicros
    studio.play(machine.frames)
    let time = machine.now
    for proposal in studio.told[machine.toldStarts...] {
      guard case .playing = proposal.change else { continue }
      machine.knownStart = time
      tell(proposal, from: machine, at: time)
    }
    machine.toldStarts = studio.told.count
    for (_, told, proposal) in machine.arrivingStarts.filter({ $0.at <= time })
    where told > machine.knownStart {
      guard case .playing(let plays) = proposal.change else { continue }
      machine.knownStart = told
      (studio.isPlaying, studio.timeOfPlaying) = (plays, proposal.moment)
    }
    machine.arrivingStarts.removeAll { $0.at <= time }
    for (_, decision) in machine.arriving.filter({ $0.at <= time }) { take(decision, machine) }
    machine.arriving.removeAll { $0.at <= time }
    follow(machine, at: time)
  }

  private func follow(_ machine: Machine, at time: Double) {
    guard machine.isOn else { return machine.sync = SongSync() }
    let studio = machine.studio
    machine.shared.isAlone = machine.isAlone
    switch machine.sync.next(studio.report, at: Micros(rounding: time), studio.plan, machine.shared) {
    case .nothing: break
    case .command(let command):
      machine.commands.append(command)
      studio.command(command)
    case .decide(let line):
      machine.decisions += 1
      let place = machines.firstIndex { $0 === machine } ?? 0
      let decision = Decision(line: line, at: time, machine: place)
      take(decision, machine)
      for other in machines where other !== machine {
        other.arriving.append((time + delay(&dice), decision))
      }
    }
  }

  private func tell(_ proposal: Proposal, from machine: Machine?, at time: Double) {
    for other in machines where other !== machine {
      other.arrivingStarts.append((time + delay(&startDice), time, proposal))
    }
  }

  /// The newest decision wins.
  private func take(_ decision: Decision, _ machine: Machine) {
    if let known = machine.known, (known.at, known.machine) >= (decision.at, decision.machine) { return }
    machine.known = decision
    machine.shared = .init(decision.line, decision: machine.shared.decision + 1)
  }

  /// Sets the tempo that a machine sees, from `time` on.
  func setTempo(_ tempo: Double, of machine: Machine, at time: Double? = nil) {
    var state = SessionState(
      timeline: machine.studio.timeline,
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: false)
    state.setTempo(tempo, at: Micros(rounding: time ?? machine.now))
    machine.studio.timeline = state.timeline
  }

  /// A Link app starts or stops the session.
  func appPlays(_ plays: Bool) {
    let proposal = Proposal(.playing(plays), at: Micros(rounding: now + 20_000))
    tell(proposal, from: nil, at: now)
  }

  /// A JACK client locates, as a DAW does.
  func locate(_ place: Int, to beat: Double) { self[place].locate = self[place].frame(of: beat) }

  /// tactus locates, on the grid of a start.
  func jump(_ place: Int, to beat: Double) {
    let studio = self[place]
    studio.command(
      .jump(frame: studio.frame(of: beat), beat: beat, step: studio.settings.launchStep.value))
  }

  func start(_ place: Int) {
    self[place].pressPlay()
    play(seconds: 5)
  }

  /// The microseconds by which the songs of the machines differ, and whether all roll.
  var disagreement: Double {
    let beats = machines.filter(\.isOn).map { $0.songBeat(at: now) }
    return ((beats.max() ?? 0) - (beats.min() ?? 0)) * 500_000
  }

  /// The same by the transports' frames.
  var frameDisagreement: Double {
    let beats = machines.filter(\.isOn).map { $0.frameBeat(at: now) }
    return ((beats.max() ?? 0) - (beats.min() ?? 0)) * 500_000
  }

  var areRolling: [Bool] { machines.map(\.studio.report.song.isRolling) }
  var commands: Int { machines.reduce(0) { $0 + $1.commands.count } }
  var decisions: Int { machines.reduce(0) { $0 + $1.decisions } }
}
