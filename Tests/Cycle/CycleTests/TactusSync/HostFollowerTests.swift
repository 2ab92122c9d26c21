// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// A studio that a host (another timebase master) leads. The host has its own crystal and shows bars, beats
/// and cut-off ticks. The session carries out each proposal some milliseconds later, as if the proposal had
/// gone through the queue to the network thread.
private final class Host {
  let studio: Studio
  var ticksPerBeat = 1920.0
  var frames: UInt32 = 256
  /// The number of cycles of which, on average, we lose one. Equally often the host is late and shows its
  /// last position once more. 0: neither happens.
  var losesOneIn = 0.0
  /// Whether the host's position comes through PipeWire, which carries the beat as a fraction and rounds
  /// ticks down a second time.
  var isPipeWire = false
  /// The meter of the host's bars. `countsQuarters`: whether the host's tempo counts quarters a minute
  /// instead of the meter's notes.
  var meter = Meter()
  var countsQuarters = false
  var tempo: (Double) -> Double = { _ in 120 }
  /// The tempo that the host shows, if it differs from the true tempo.
  var shownTempo: ((Double) -> Double)?
  var isRolling = true
  var hasLeft = false
  /// Whether the host is late in every cycle and shows its last position.
  var showsOld = false
  /// The seconds since the beginning, on the host's own clock.
  private(set) var played = 0.0
  private(set) var beats = 0.0
  private var dice: Dice
  private var wasLost = false
  private var shown: BBT?

  init(sessionTempo: Double = 120, seed: UInt64 = 7) {
    dice = Dice(seed: seed)
    studio = Studio(tempo: sessionTempo)
    studio.timeline.timeOrigin = Micros(999_000_123)
    studio.settings.click.isOn = false
    studio.settings.lead = .host
    studio.commitsAfter = 8_000
  }

  /// The present distance of the host's beat from the session's beat in microseconds, without averaging. It
  /// is wrapped into a quantum of 4 beats.
  var error: Double {
    let away = beats - studio.beat(at: studio.due)
    return (away - 4 * (away / 4).rounded()) * Grid(studio.timeline).beatMicros
  }

  var sessionTempo: Double { studio.session.tempo }
  var isCorrecting: Bool { studio.sync.follower.isCorrecting }

  func locate(_ beat: Double) { beats = beat }

  func run(seconds: Double, each: (Host) -> Void = { _ in }) {
    for _ in 0..<Int(seconds * Double(studio.sampleRate) / Double(frames)) {
      cycle()
      each(self)
    }
  }

  private func cycle() {
    let length = Double(frames) / Double(studio.sampleRate)
    played += length
    if isRolling { beats += tempo(played) / 60 * length }
    studio.transport.state = isRolling ? .rolling : .stopped
    // Now and then we lose two cycles in a row.
    wasLost =
      losesOneIn > 0 && Double.random(in: 0..<losesOneIn, using: &dice) < (wasLost ? losesOneIn / 3 : 1)
    let isHostLate = losesOneIn > 0 && Double.random(in: 0..<losesOneIn, using: &dice) < 1
    if shown == nil || !wasLost && !isHostLate && !showsOld { shown = present() }
    studio.transport.bbt = hasLeft ? nil : shown
    studio.play(frames, isMissed: wasLost)
  }

  private func present() -> BBT {
    guard meter == Meter() else {
      var bbt = BBT(song: Beats(beats), meter: meter, beatsPerMinute: tempo(played))
      let share = ticksPerBeat / bbt.ticksPerBeat
      (bbt.tick, bbt.ticksPerBeat) = (Int32(Double(bbt.tick) * share), ticksPerBeat)
      if countsQuarters { bbt.beatsPerMinute = tempo(played) }
      return bbt
    }
    let bar = (beats / 4).rounded(.down), inBar = beats - bar * 4
    var ticks = ((inBar - inBar.rounded(.down)) * ticksPerBeat).rounded(.down)
    if isPipeWire {
      let carried = (inBar.rounded(.down) + ticks / ticksPerBeat) + bar * 4
      ticks = ((carried - carried.rounded(.down)) * ticksPerBeat).rounded(.down)
    }
    return BBT(
      bar: Int32(bar) + 1, beat: Int32(inBar) + 1, tick: Int32(ticks), barStartTick: 0, beatsPerBar: 4,
      beatType: 4, ticksPerBeat: ticksPerBeat, beatsPerMinute: (shownTempo ?? tempo)(played))
  }
}

@Suite struct HostFollowerTests {
  @Test(arguments: campaign([960.0, 1920]), campaign([false, true]))
  func `a steady host is followed within 1 ms, with no further proposals`(ticks: Double, isPipeWire: Bool) {
    for (tempo, seed) in [(120.0, 1), (117.3, 2), (61.7, 3), (174, 4), (249.9, 5)] as [(Double, UInt64)] {
      let host = Host(sessionTempo: 97, seed: seed)
      host.tempo = { _ in tempo }
      host.ticksPerBeat = ticks
      host.isPipeWire = isPipeWire
      host.studio.jitter = 40
      host.losesOneIn = 200
      host.run(seconds: 5)
      let before = host.studio.commits.count
      #expect(before < 10)
      host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
      #expect(host.studio.commits.count == before, "\(tempo): \(host.studio.commits.dropFirst(before))")
      #expect(abs(host.sessionTempo - tempo) < 0.01)
    }
  }

  /// Hydrogen shows such ticks in 6/8: a cycle holds less than one tick of an eighth, or one and a half
  /// ticks.
  @Test(arguments: [64, 256, 1024], [false, true])
  func `a host's coarse ticks in 6/8 show the unit of its tempo`(frames: UInt32, countsQuarters: Bool) {
    let host = Host(sessionTempo: 97, seed: 4)
    host.frames = frames
    host.tempo = { _ in 88 }
    host.meter = Meter(beatsPerBar: 6, beatType: 8)
    host.ticksPerBeat = 24
    host.countsQuarters = countsQuarters
    host.run(seconds: 8)
    #expect(abs(host.sessionTempo - 88) < 1, "\(host.sessionTempo)")
    // At a locate the master shows no position for a moment, but it is the same master.
    host.isRolling = false
    host.hasLeft = true
    host.run(seconds: 0.1)
    host.hasLeft = false
    host.tempo = { _ in 140 }
    host.run(seconds: 1)
    #expect(abs(host.sessionTempo - 140) < 1, "\(host.sessionTempo)")
  }

  @Test(arguments: [8, 16, 2] as [Int32], [false, true])
  func `a host whose beats are not quarters leads a session in quarters`(unit: Int32, countsQuarters: Bool) {
    let host = Host(sessionTempo: 97, seed: 3)
    host.meter = Meter(beatsPerBar: 7, beatType: unit)
    host.countsQuarters = countsQuarters
    host.studio.jitter = 40
    // While the host stands, the unit of its tempo is unknown.
    host.isRolling = false
    host.run(seconds: 1)
    #expect(host.studio.commits.isEmpty)
    host.isRolling = true
    host.run(seconds: 5)
    let before = host.studio.commits.count
    #expect(before < 10)
    host.run(seconds: 20) { #expect(abs($0.error) < 1000) }
    #expect(host.studio.commits.count == before)
    for commit in host.studio.commits {
      if case .tempo(let tempo) = commit.proposal.change { #expect(abs(tempo - 120) < 2) }
    }
    #expect(abs(host.sessionTempo - 120) < 0.01)
  }

  @Test(arguments: campaign([960.0, 1920]), campaign([false, true]))
  func `three seconds after a host's tempo ramp nothing more is proposed`(
    ticks: Double, isPipeWire: Bool
  ) {
    for seed in 1...8 as ClosedRange<UInt64> {
      let host = Host(sessionTempo: 133, seed: seed)
      host.ticksPerBeat = ticks
      host.isPipeWire = isPipeWire
      host.studio.jitter = 40
      host.losesOneIn = 200
      // The tempo steps about every 25 ms, as measured with a real host, and each step takes effect in the
      // middle of a cycle.
      host.tempo = { seconds in 133 - 2 * min(20, max(0, ((seconds - 3) / 0.025).rounded(.down))) }
      host.run(seconds: 3)
      host.run(seconds: 0.5) { #expect(abs($0.error) < 10_000) }
      host.run(seconds: 3)
      #expect(!host.isCorrecting)
      let before = host.studio.commits.count
      host.run(seconds: 60) { #expect(abs($0.error) < 700) }
      #expect(host.studio.commits.count == before, "\(host.studio.commits.dropFirst(before))")
      #expect(abs(host.sessionTempo - 93) < 0.01)
    }
  }

  @Test(arguments: [0.6, 1.5, 4.9]) func `a small distance from a host's beat is corrected by two proposals`(
    milliseconds: Double
  ) {
    let host = Host()
    host.studio.jitter = 40
    host.run(seconds: 5)
    host.studio.isConnected = true
    let before = host.studio.commits.count
    host.locate(host.beats + milliseconds / 500)
    host.run(seconds: 4)
    #expect(host.studio.commits.count - before == 2)
    #expect(abs(host.error) < 200)
    #expect(abs(host.sessionTempo - 120) < 0.01)
    host.run(seconds: 60)
    #expect(host.studio.commits.count - before == 2)
  }

  @Test(arguments: [false, true]) func `if a host stops or leaves in a correction, the host's tempo stays`(
    leaves: Bool
  ) {
    let host = Host()
    host.run(seconds: 5)
    host.locate(host.beats + 0.008)
    host.run(seconds: 0.6)
    #expect(host.isCorrecting && abs(host.sessionTempo - 120) > 0.1)
    if leaves { host.hasLeft = true } else { host.isRolling = false }
    host.run(seconds: 0.2)
    #expect(!host.isCorrecting && abs(host.sessionTempo - 120) < 0.01)
  }

  @Test func `a cycle in which a host shows its last position again is ignored`() {
    let host = Host()
    host.run(seconds: 5)
    let before = host.studio.report.hostPhaseError
    host.showsOld = true
    host.run(seconds: 0.011)
    host.showsOld = false
    host.run(seconds: 0.006)
    #expect(abs(host.studio.report.hostPhaseError - before) < 30)
  }

  @Test(arguments: [-100e-6, -20e-6, 20e-6, 100e-6])
  func `the drift of a host's crystal is learned`(drift: Double) {
    let host = Host()
    host.studio.clock.crystal = drift
    host.studio.jitter = 40
    host.run(seconds: 60)
    let before = host.studio.commits.count
    host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
    #expect(host.studio.commits.count - before <= 2)
  }

  @Test func `a tempo ramp of the host causes at most twenty proposals a second`() {
    let host = Host()
    host.tempo = { seconds in
      switch seconds {
      case ..<5: 120
      case ..<15: 120 - 6 * (seconds - 5)
      case ..<25: 60 + 12.7 * (seconds - 15)
      default: 187
      }
    }
    host.run(seconds: 5)
    var worst = 0.0
    host.run(seconds: 24) { worst = max(worst, abs($0.error)) }
    #expect(worst < 5000, "phase \(worst) us off in the ramp")
    host.run(seconds: 3)
    host.run(seconds: 10) { #expect(abs($0.error) < 1000) }
    for (earlier, later) in zip(host.studio.commits, host.studio.commits.dropFirst()) {
      #expect(later.time - earlier.time >= 50_000)
    }
  }

  @Test func `with peers the session's grid moves only if the host is the clock`() {
    let host = Host()
    host.studio.isConnected = true
    host.locate(1.3)
    host.run(seconds: 20)
    #expect(!host.studio.commits.contains { if case .forceBeat = $0.proposal.change { true } else { false } })

    host.studio.settings.hostIsTheClock = true
    host.run(seconds: 3)
    #expect(
      host.studio.commits.filter { if case .forceBeat = $0.proposal.change { true } else { false } }.count
        == 1)
    #expect(abs(host.error) < 1000)
  }

  @Test func `if the host is the clock, its locate moves the session's grid`() {
    let host = Host()
    host.run(seconds: 5)
    host.locate(64)
    host.run(seconds: 2)
    #expect(abs(host.error) < 1000)
  }

  @Test func `the tempo of a joined session stays until the host changes its own`() {
    let host = Host()
    host.isRolling = false
    host.run(seconds: 2)
    host.studio.isConnected = true
    host.studio.setTempo(97)
    let before = host.studio.commits.count
    host.run(seconds: 30)
    #expect(host.studio.commits.count == before)
    host.tempo = { _ in 121 }
    host.run(seconds: 1)
    #expect(host.studio.commits.count == before + 1)
    #expect(host.sessionTempo == 121)
  }

  @Test func `a host's tempo outside Link's range is doubled or halved`() {
    for (tempo, session) in [(15.0, 30.0), (6, 24), (1200, 600), (2400, 600)] {
      let host = Host()
      host.tempo = { _ in tempo }
      host.run(seconds: 20)
      #expect(abs(host.sessionTempo - session) < 0.1, "\(tempo)")
    }
  }

  @Test func `a host that shows impossible tempos or positions causes no proposal`() {
    var follower = HostFollower()
    for tempo in [0, .nan, -3, 1e9, .leastNonzeroMagnitude] {
      let bbt = BBT(
        bar: 1, beat: 1, tick: 0, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 1920,
        beatsPerMinute: tempo)
      for cycle in 0..<10 {
        let proposal = follower.follow(
          CycleContext(SessionState(), heard: Double(cycle) * 1e5),
          LeaderReading(shown: .init(bbt), heard: Double(cycle) * 1e5, isRolling: true))
        #expect(proposal == nil)
      }
    }
  }

  @Test func `a host's tempo that is shown for one cycle only is ignored`() {
    let host = Host()
    host.run(seconds: 5)
    let before = host.studio.commits.count
    let start = host.played
    host.shownTempo = { $0 - start < 0.02 && $0 - start > 0.015 ? 300 : 120 }
    host.run(seconds: 1)
    #expect(host.studio.commits.count == before)
  }

  /// After a locate of a standing transport no position is shown for a cycle, on PipeWire for several cycles.
  @Test(arguments: [1, 3, 40])
  func `a peer's tempo stays when a host shows no position for a moment`(cycles: Int) {
    for isRolling in [false, true] {
      let host = Host()
      host.isRolling = isRolling
      host.studio.isConnected = true
      host.run(seconds: 3)
      host.studio.setTempo(131)
      host.run(seconds: 1)
      host.hasLeft = true
      host.run(seconds: (Double(cycles) + 0.5) * 256 / 48_000)
      host.hasLeft = false
      host.run(seconds: 3)
      #expect(abs(host.sessionTempo - 131) < 0.01)
      // A change of the host's tempo must go into the session at once, even if it came while the host showed
      // no position.
      host.hasLeft = true
      host.tempo = { _ in 99 }
      host.run(seconds: (Double(cycles) + 0.5) * 256 / 48_000)
      host.hasLeft = false
      host.run(seconds: 1)
      #expect(abs(host.sessionTempo - 99) < 0.01)
    }
  }

  @Test func `a host that joins long after the last one is followed from the start`() {
    let host = Host()
    host.isRolling = false
    host.run(seconds: 1)
    host.hasLeft = true
    host.run(seconds: 1)
    host.studio.setTempo(131)
    host.run(seconds: 2)
    host.hasLeft = false
    host.run(seconds: 1)
    #expect(abs(host.sessionTempo - 120) < 0.01)
  }
}
