// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

@testable import TactusSync

/// A studio in which a user presses Play beside another client that may be slow. The bench notes when and
/// from where the transport rolls. The session's beat 0 is at the time 0, one cycle before the first cycle.
final class LaunchBench {
  let studio = Studio(start: 256 / 0.048)
  var frames: UInt32 = 256
  var bpm = 120.0 { didSet { setGrid() } }
  /// The time of the session's beat 0, in microseconds.
  var origin = 0.0 { didSet { setGrid() } }
  /// The microseconds that the other client needs to get ready after the start and after each locate.
  var otherHolds = 0.0 { didSet { studio.othersTake = otherHolds } }
  /// The microseconds for which the other client holds the first start only: then the transport can roll.
  var otherHoldsOnce = 0.0
  /// Returns whether we are late in this cycle (counted from Play) and miss JACK's question.
  var loses: (Int) -> Bool = { _ in false }
  /// The microseconds by which the driver is late for the cycle after this one (counted from Play).
  var stall: (Int) -> Double = { _ in 0 }
  private(set) var sincePlay = 0
  /// The cycle, counted from Play, in which we last reported that we are ready.
  private(set) var lastAnswer = 0
  private(set) var waited = 0

  /// The frame at which Play was pressed or to which the transport was sent since, and the song's beat there.
  private(set) var pressedAt: UInt32 = 0 { didSet { songBeat = Double(pressedAt) / framesPerBeat } }
  private var songBeat = 0.0
  init() {
    studio.asksBeforeRolling = true
    studio.settings.click.isOn = false
    studio.latencies[.jack] = 512
    studio.controlCycles = 4
    setGrid()
  }

  var launch: Launch { studio.sync.launch }
  private var isReleased: Bool { if case .released = launch.stage { true } else { false } }
  var time: Double { studio.due }
  var state: Transport.State { studio.present.state }
  var frame: UInt32 { studio.transport.frame }
  var quantum: Beats {
    get { Beats(studio.settings.quantum) }
    set { studio.settings.quantum = newValue.value }
  }
  var settings: LaunchSettings {
    get { studio.settings.launch }
    set { studio.settings.launch = newValue }
  }
  var frameMicros: Double { studio.microsPerFrame }
  var period: Double { Double(frames) * frameMicros }
  var latency: Double { 512 * frameMicros }
  var framesPerBeat: Double { Double(studio.sampleRate) * 60 / bpm }
  var grid: Grid { Grid(studio.timeline) }
  /// The session's beat at which the song's beat 0 is; nil before the transport rolls.
  var songOrigin: Beats? { studio.rolling?.start.map { $0.target - $0.songBeat } }
  /// The microseconds by which the position at which Play was pressed is heard later than its place on the
  /// grid.
  var launchError: Double? {
    guard let rolling = studio.rolling, let songOrigin else { return nil }
    let ahead = Double(Int32(bitPattern: pressedAt &- rolling.frame)) * frameMicros
    return rolling.heard + ahead - grid.time(of: songOrigin.value + songBeat)
  }

  private func setGrid() {
    studio.timeline = Timeline(tempo: Tempo(bpm), beatOrigin: .zero, timeOrigin: Micros(rounding: origin))
  }

  /// Puts the transport at the frame nearest to a beat of the song.
  func stand(at beat: Double) { studio.transport.frame = frame(of: beat) }

  private func frame(of beat: Double) -> UInt32 { UInt32((beat * framesPerBeat).rounded()) }

  func pressPlay() {
    studio.othersTake = otherHolds + max(0, otherHoldsOnce - period)
    studio.beginStarting()
    studio.othersTake = otherHolds
    otherHoldsOnce = 0
    sincePlay = 0
    pressedAt = frame
  }

  /// Sends the transport to a beat of the song, like another client, while the start waits.
  func send(to beat: Double) {
    pressedAt = frame(of: beat)
    studio.locate = pressedAt
  }

  func pressStop() { studio.transport.state = .stopped }

  func cycle() {
    let stall = stall(sincePlay)
    sincePlay += 1
    let wasReleased = isReleased
    let isLost = loses(sincePlay)
    studio.play(frames, stall: stall, isMissed: isLost)
    guard case .starting = state else { return }
    if !isLost { waited += 1 }
    if isReleased, !wasReleased { lastAnswer = sincePlay }
  }

  func run(seconds: Double) {
    for _ in 0..<Int(seconds * 1e6 / period) { cycle() }
  }
}
