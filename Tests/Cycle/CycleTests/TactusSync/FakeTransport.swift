// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

@testable import TactusSync

/// jack2's transport as a slow-sync client meets it (facts: jack 3), with a second client that may be slow,
/// and a control thread that carries out the actions of `Launch`.
struct FakeTransport {
  var frames = 256.0, rate = 48_000.0
  var latency = 10_666.0
  var bpm = 120.0
  var origin = 0.0
  var quantum = Beats(4)
  var settings = LaunchSettings()
  var songBeat = Beats(0)
  var notBefore: Double?
  /// The session's beat on which a sequencer's song began. That beat is known from the time
  /// `leaderIsSettledAt` on.
  var leaderOrigin: Double?
  var leaderIsSettledAt = 0.0
  /// The microseconds that the other client needs to get ready after the start and after each locate.
  var otherHolds = 0.0
  /// The microseconds that the other client needs for the first start only.
  var otherHoldsOnce = 0.0
  /// The number of cycles between two looks of the control thread.
  var controlCycles = 4
  /// The largest error of the times that the audio thread gets, in microseconds.
  var jitter = 0.0
  /// Returns whether we are late in this cycle (counted from Play) and miss JACK's question.
  var loses: (Int) -> Bool = { _ in false }
  /// The microseconds by which the driver is late for this cycle (counted from Play).
  var stall: (Int) -> Double = { _ in 0 }
  private(set) var sincePlay = 0
  /// The cycle, counted from Play, in which we last reported that we are ready.
  private(set) var lastAnswer = 0

  var launch = Launch()
  var state = Transport.State.stopped
  var time = 0.0
  /// The transport's frame. `pressedAt` is the frame at which Play was pressed.
  var frame: UInt32 = 0
  var pressedAt: UInt32 = 0
  private var isAsking = false, weAreReady = true, otherReadyAt = 0.0
  private var located: UInt32?
  private var actionNumber: UInt32 = 0
  private(set) var actions = 0
  /// The beat that JACK showed to all clients for the last place to which the transport was sent.
  private(set) var toldBeat: Beats?
  private var cycles = 0
  private var dice = Dice(seed: 11)
  /// The session's beat at which the song's beat 0 is; nil before the transport rolls.
  var songOrigin: Beats?
  /// The song's beat at the place that the start has chosen.
  private(set) var startedAt: Beats?
  /// The time at which the first rolling frame is heard. `rolledFrom` is that frame.
  var rolledAt: Double?
  var rolledFrom: UInt32 = 0
  var waited = 0

  init() {}

  var period: Double { frames / rate * 1e6 }
  var frameMicros: Double { 1e6 / rate }
  var grid: Grid { Grid(origin: origin, beatMicros: Double(Tempo(bpm).microsPerBeat)) }
  /// The microseconds by which the position at which Play was pressed is heard later than its place on the
  /// grid.
  var launchError: Double? {
    guard let rolledAt, let songOrigin else { return nil }
    let ahead = Double(Int32(bitPattern: pressedAt &- rolledFrom)) * frameMicros
    return rolledAt + ahead - grid.time(of: (songOrigin + songBeat).value)
  }

  private var framesPerBeat: Double { rate * 60 / bpm }
  var songBeatOfFrame: Beats { Beats(millionths: Int64((Double(frame) / framesPerBeat * 1e6).rounded())) }
  private var leader: Leader {
    guard let leaderOrigin else { return .none }
    guard time >= leaderIsSettledAt else { return .unsettled }
    return .playing(origin: Beats(leaderOrigin), framesPerBeat: framesPerBeat)
  }

  mutating func pressPlay() {
    state = .starting
    isAsking = true
    weAreReady = false
    otherReadyAt = time + otherHolds + otherHoldsOnce
    otherHoldsOnce = 0
    rolledAt = nil
    songOrigin = nil
    sincePlay = 0
    pressedAt = frame
  }

  mutating func pressStop() {
    state = .stopped
    isAsking = false
  }

  /// Locates the transport in the next cycle.
  mutating func locate(_ frame: UInt32) { located = frame }

  mutating func cycle() {
    time += period + stall(sincePlay)
    cycles += 1
    sincePlay += 1
    if case .rolling = state { frame &+= UInt32(frames) }
    if case .starting = state, weAreReady, time > otherReadyAt { state = .rolling }
    relocate()
    defer { if cycles % controlCycles == 0 { carryOutAction() } }
    guard !loses(sincePlay) else { return }
    let heard = time + latency + Double.random(in: -jitter...jitter, using: &dice)
    if isAsking, !weAreReady || state != .starting {
      let answer = launch.mayRoll(
        now(heard),
        Launch.Question(songBeat: leaderOrigin == nil ? songBeat : songBeatOfFrame, leader: leader))
      weAreReady = answer
      if answer, case .starting = state { lastAnswer = sincePlay }
      if case .rolling = state { isAsking = false }
    }
    if case .starting = state { waited += 1 }
    let start = launch.start
    let isSound = !loses(sincePlay - 1) && stall(sincePlay - 1) == 0 && stall(sincePlay - 2) == 0
    launch.observe(now(heard, isSound: isSound))
    if case .rolling = state, rolledAt == nil {
      rolledAt = time + latency
      rolledFrom = frame
      startedAt = start?.songBeat
      if let start { songOrigin = start.target - start.songBeat }
    }
  }

  private func now(_ heard: Double, isSound: Bool = true) -> CycleContext {
    var choices = Settings()
    choices.launch = settings
    choices.syncsStartStop = notBefore != nil
    choices.quantum = quantum.value
    return CycleContext(
      SessionState(beatZero: origin, tempo: bpm, playing: notBefore), heard: heard,
      transport: Transport(state: state, frame: frame), frames: UInt32(frames), frameMicros: frameMicros,
      settings: choices, isSound: isSound)
  }

  private mutating func relocate() {
    guard let there = located else { return }
    located = nil
    frame = there
    isAsking = true
    weAreReady = false
    otherReadyAt = max(otherReadyAt, time + otherHolds)
    if case .rolling = state {
      state = .starting
      rolledAt = nil
    }
  }

  private mutating func carryOutAction() {
    let action = launch.action
    if case .stopped = action.condition, time + latency < action.moment + TransportLimits.pause { return }
    guard action.number != actionNumber, action.isOpen(state, at: frame), located == nil else { return }
    actionNumber = action.number
    actions += 1
    toldBeat = Beats(action.place.beat)
    located = action.place.frame
  }

  mutating func run(seconds: Double) {
    for _ in 0..<Int(seconds * 1e6 / period) { cycle() }
  }
}
