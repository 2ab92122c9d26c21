// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The context of all decisions in one JACK callback, made once at the beginning of the callback. The
/// decisions see the session only through this context. `Cycle` shows its session to `FreewheelSession`
/// alone, so no decision can follow the session while the server freewheels.
///
/// The struct has more than 20 properties: all decisions of a cycle share this one context.
struct CycleContext: BitwiseCopyable {
  let frames: UInt32
  let sampleRate: UInt32
  let isFreewheeling: Bool
  let transport: Transport
  let latencies: PerPort<UInt32>
  let clockConnections: UInt32
  let ownDelay: Micros
  /// The microseconds by which the user's bend has put the outputs ahead of the session, up to the last
  /// cycle.
  let bentAhead: Double
  let clients: Int32
  let settings: Settings
  let settingsNumber: UInt32
  let session: SessionState
  let startStopsTaken: UInt32
  /// Whether no cycle was lost before this cycle, so that its frame line continues the last cycle's line.
  let isSound: Bool
  /// A queued change of tempo or meter whose beat is still to come, or has just come.
  let queued: QueuedChange?
  /// The grid of the session's beats.
  private(set) var grid: Grid
  /// The mean microseconds per frame over many cycles. It is for latencies, which may be many buffers long.
  let frameMicros: Double
  /// The times at which the cycle's frames pass through JACK. `heard` has the times at which they are heard
  /// through the physical outputs.
  let line: FrameLine
  let heard: FrameLine
  /// Whether time is discontinuous at this cycle: a freewheel ended, or an export begins. A time that was
  /// stored before this cycle is invalid now; the number of a beat stays valid.
  private(set) var isCut: Bool
  /// Whether JACK ends every held start too early (`CutStarts`). If so, starts are requested late.
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

  /// The longest time, in microseconds, after its beat for which a queued change still counts. A change is
  /// carried out within a fraction of a second after its beat. If the beat is further back, the session has
  /// changed, and the change was meant for other beats.
  private static let changeLimit = 250_000.0

  private static func queued(_ change: QueuedChange?, _ grid: Grid, at time: Double) -> QueuedChange? {
    guard let change, grid.time(of: change.beat.value) > time - changeLimit else { return nil }
    return change
  }

  /// Enters a song at the song's beat `position` while the server freewheels. An export has no other clock
  /// than its own frames.
  mutating func enterSong(at position: Double, _ freeze: inout FreewheelSession) {
    freeze.align(grid, at: heard.start, with: position)
    grid = freeze.grid(of: session)
    isCut = true
  }

  /// The times at which the messages were sent that arrive at the port `control` in this cycle.
  var sent: FrameLine { line.delayed(by: -Double(latencies[.control]) * frameMicros) }

  /// Whether a leader may move the session's grid: no other peer is in the session, or the user has declared
  /// the host to be the clock.
  var mayForce: Bool { settings.hostIsTheClock || !session.isConnected }

  /// The microseconds per beat at the time when this cycle is heard.
  var heardBeatMicros: Double { grid.beatMicros(at: heard.start) }

  /// The length of this cycle in microseconds.
  var cycleMicros: Double { Double(frames) * frameMicros }

  /// The time at which the next cycle is heard.
  var rollsAt: Double { heard.start + cycleMicros }

  var isRolling: Bool { if case .rolling = transport.state { true } else { false } }

  /// The microseconds from the time at which a frame passes through JACK until it is heard through `port`.
  func delay(of port: Port) -> Double {
    Double(latencies[port]) * frameMicros + Double(settings.offset(of: port).count)
  }

  /// The microseconds by which the earliest output plays before the position that JACK shows. The outputs
  /// must learn of a start that early, or Start and the first click would be late. With `asksLate`, a user
  /// may set a negative offset of `jack` because programs play too early. Up to two cycles of that offset are
  /// ignored here, because the request for a start comes that early anyway.
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
  /// Whether a start is requested from JACK as late as possible, so that other clients get only the time that
  /// we think they need.
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

  /// The earliest time for a start that a peer asked for. This is a millisecond before the peer's time,
  /// because the peer's time was rounded on its way and may lie just after the intended beat.
  var notBefore: Double {
    settings.syncsStartStop && session.isPlaying ? Double(session.timeOfPlaying.count) - 1000 : -.infinity
  }
}
