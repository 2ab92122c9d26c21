// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// The context of all decisions in one JACK callback, made once at its beginning. It is also their only view
/// of the session: `Cycle` shows its session to `FreewheelSession` alone, so nothing here can follow the
/// session while the server freewheels.
struct CycleContext: BitwiseCopyable {
  let frames: UInt32
  let sampleRate: UInt32
  let isFreewheeling: Bool
  let transport: Transport
  let latencies: PerPort<UInt32>
  let clockConnections: UInt32
  let ownDelay: Micros
  /// Microseconds by which the outputs are ahead of the session, bent by hand, as of the last cycle.
  let bentAhead: Double
  let clients: Int32
  let settings: Settings
  let settingsNumber: UInt32
  let session: SessionState
  let startStopsTaken: UInt32
  /// No cycle was lost before this one, and its time line did not start again.
  let isSound: Bool
  /// A change whose beat is still to come, or has just come.
  let queued: QueuedChange?
  /// The session's own beats.
  private(set) var grid: Grid
  /// Microseconds per frame over many cycles: for latencies, which may be many buffers long.
  let frameMicros: Double
  /// When the cycle's frames pass through JACK, and when they are heard through the physical outputs.
  let line: FrameLine
  let heard: FrameLine
  /// Time is discontinuous here: a freewheel ended, or an export begins. Every part that stored a time, and
  /// not the number of a beat, must forget it.
  private(set) var isCut: Bool
  /// JACK ends every hold too early (`CutStarts`), so a start is requested late.
  private let holdsBriefly: Bool

  init(
    _ cycle: inout Cycle, _ freeze: inout FreewheelSession, line: FrameLine, frameMicros: Double,
    bentAhead: Double = 0, isSound: Bool = true, isBack: Bool = false, holdsBriefly: Bool = false
  ) {
    self.holdsBriefly = holdsBriefly
    self.isSound = isSound
    frames = cycle.frames
    sampleRate = cycle.sampleRate
    isFreewheeling = cycle.isFreewheeling
    transport = cycle.transport
    latencies = cycle.latencies
    clockConnections = cycle.clockConnections
    ownDelay = cycle.ownDelay
    self.bentAhead = bentAhead
    clients = cycle.clients
    settings = cycle.settings
    settingsNumber = cycle.settingsNumber
    let view = freeze.session(of: &cycle)
    session = view.state
    startStopsTaken = view.startStopsTaken
    var grid = freeze.grid(of: session)
    queued = Self.queued(cycle.settings.queued, grid, at: cycle.isFreewheeling ? .infinity : line.start)
    if let queued, let tempo = queued.tempo { grid.turn(to: tempo, at: queued.beat.value) }
    self.grid = grid
    self.frameMicros = frameMicros
    self.line = line
    let delay = Double(latencies[.jack]) * frameMicros + Double(settings.offset(of: .jack).count)
    heard = line.delayed(by: freeze.delay(delay))
    isCut = isBack
  }

  /// A change is carried out within a fraction of a second of its beat. If its beat is further back, the
  /// session has changed and the change was meant for other beats.
  private static let changeLimit = 250_000.0

  private static func queued(_ change: QueuedChange?, _ grid: Grid, at time: Double) -> QueuedChange? {
    guard let change, grid.time(of: change.beat.value) > time - changeLimit else { return nil }
    return change
  }

  /// Enters a song at `position` while the server freewheels: an export has no time but that of its frames.
  mutating func enterSong(at position: Double, _ freeze: inout FreewheelSession) {
    freeze.align(grid, at: heard.start, with: position)
    grid = freeze.grid(of: session)
    isCut = true
  }

  /// When messages that arrive through `control` in this cycle were sent.
  var sent: FrameLine { line.delayed(by: -Double(latencies[.control]) * frameMicros) }

  /// A leader may move the session's grid if no other peer is in the session, or if the user declares the
  /// host to be the clock.
  var mayForce: Bool { settings.hostIsTheClock || !session.isConnected }

  /// Microseconds per beat at the time when this cycle is heard.
  var heardBeatMicros: Double { grid.beatMicros(at: heard.start) }

  /// Microseconds of this cycle.
  var cycleMicros: Double { Double(frames) * frameMicros }

  /// When the next cycle is heard.
  var rollsAt: Double { heard.start + cycleMicros }

  var isRolling: Bool { if case .rolling = transport.state { true } else { false } }

  /// Microseconds from a frame's time in JACK until it is heard through `port`.
  func delay(of port: Port) -> Double {
    Double(latencies[port]) * frameMicros + Double(settings.offset(of: port).count)
  }

  /// Microseconds by which the earliest output plays before JACK's position. A start that the outputs learn
  /// of later than this comes too late for a Start or click. With `asksLate`, a negative offset of `jack` is
  /// set for programs that play too early, and is no reason to ask earlier. At most two cycles of it are
  /// ignored: the request comes that early anyway.
  var outputsAhead: Double {
    let clicks = max(delay(of: .click1), delay(of: .click2))
    let gates = max(delay(of: .pulse), delay(of: .run))
    let clocks = max(delay(of: .clock), Double(ownDelay.count))
    let ahead = max(max(clicks, gates), clocks) + bentAhead - delay(of: .jack)
    guard asksLate else { return max(0, ahead) }
    let own = Double(settings.offset(of: .jack).count)
    return max(0, ahead - min(max(0, -own), 2 * cycleMicros))
  }
}

/// The user's choices for a launch.
extension CycleContext {
  /// A start is requested from JACK as late as possible, and other clients get only the time that we think
  /// they need.
  var asksLate: Bool {
    if holdsBriefly { return true }
    return if case .stopped = settings.launch.wait { true } else { false }
  }

  var launchesExactly: Bool {
    if holdsBriefly { return false }
    return if case .exact = settings.launch.alignment { true } else { false }
  }

  func longestWait(after countIn: Beats) -> Double {
    settings.launch.longestWait(behind: countIn.value * grid.beatMicros)
  }

  /// The earliest time for a start that a peer asked for. It is a millisecond before the peer's time, because
  /// that was rounded on its way and may lie just after the intended beat.
  var notBefore: Double {
    settings.syncsStartStop && session.isPlaying ? Double(session.timeOfPlaying.count) - 1000 : -.infinity
  }
}
