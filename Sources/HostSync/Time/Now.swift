// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// What everything in one callback of JACK's goes by: made once at its beginning, and the only view of the session that
/// there is. `Cycle` gives its session to `Freeze` alone, so nothing here can see one that goes on while the server
/// freewheels.
struct Now: BitwiseCopyable {
  let frames: UInt32
  let sampleRate: UInt32
  let isFreewheeling: Bool
  let transport: Transport
  let latencies: PerPort<UInt32>
  let clockConnections: UInt32
  let ownDelay: Micros
  /// Microseconds by which the outputs are ahead of the session, bent by hand in the last cycle.
  let bentAhead: Double
  let clients: Int32
  let settings: Settings
  let settingsNumber: UInt32
  let session: SessionState
  let startStopsTaken: UInt32
  /// Neither this cycle's time nor the one before's was lost.
  let isSound: Bool
  /// A change whose beat is still to come, or has come just now.
  let queued: QueuedChange?
  /// The session's own beats.
  private(set) var grid: Grid
  /// Microseconds per frame over many cycles: for latencies, which may be many buffers long.
  let frameMicros: Double
  /// When the cycle's frames pass through JACK, and when they are heard through the physical outputs.
  let line: FrameLine
  let heard: FrameLine
  /// Time is cut here: it is real again after a freewheel, or an export begins. A part that keeps a time, and not a beat's number,
  /// forgets it.
  private(set) var isCut: Bool
  /// JACK ends each hold after a moment (`CutStarts`): a start is asked for late.
  private let holdsBriefly: Bool

  init(
    _ cycle: inout Cycle, _ freeze: inout Freeze, line: FrameLine, frameMicros: Double,
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

  /// A change is carried out within a fraction of a second of its beat. One that is not is meant for other beats: the session has changed.
  private static let patience = 250_000.0

  private static func queued(_ change: QueuedChange?, _ grid: Grid, at time: Double) -> QueuedChange? {
    guard let change, grid.time(of: change.beat.value) > time - patience else { return nil }
    return change
  }

  /// A song is entered here, at this position: while the server freewheels its frames are all the time there is.
  mutating func enterSong(at position: Double, _ freeze: inout Freeze) {
    freeze.align(grid, at: heard.start, with: position)
    grid = freeze.grid(of: session)
    isCut = true
  }

  /// When what comes in through `control` was sent.
  var sent: FrameLine { line.delayed(by: -Double(latencies[.control]) * frameMicros) }

  /// A leader may move the session's grid: nobody else is in the session, or the user says that the host is the clock.
  var mayForce: Bool { settings.hostIsTheClock || !session.isConnected }

  /// Microseconds per beat when this cycle is heard.
  var heardBeatMicros: Double { grid.beatMicros(at: heard.start) }

  /// Microseconds of this cycle.
  var cycleMicros: Double { Double(frames) * frameMicros }

  /// When the next cycle is heard.
  var rollsAt: Double { heard.start + cycleMicros }

  var isRolling: Bool { if case .rolling = transport.state { true } else { false } }

  /// How much later than it passes through JACK something is heard through a port, in microseconds.
  func delay(of port: Port) -> Double {
    Double(latencies[port]) * frameMicros + Double(settings.offset(of: port).count)
  }

  /// How much earlier than JACK's position the first of all outputs plays what is heard together with it: a start that nobody knows of
  /// by then comes too late for that machine's Start, or click. Where JACK is asked late, a negative offset of JACK's own is what programs
  /// play too early then, and no reason to ask earlier, as long as the two cycles are left in which outputs hear of a start.
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

/// What the user wants of a launch.
extension Now {
  /// JACK is asked as late as can be, and nobody has longer than we think that they need.
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

  /// A start that a peer asked for does not happen before this moment: a millisecond before the time that it set, which has been
  /// rounded on its way, also to just behind the beat that is meant.
  var notBefore: Double {
    settings.syncsStartStop && session.isPlaying ? Double(session.timeOfPlaying.count) - 1000 : -.infinity
  }
}
