// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// The inputs of one audio cycle: read once, before anything is decided. [audio]
public struct Cycle: BitwiseCopyable {
  /// The number of frames in this cycle's buffers, which may differ from cycle to cycle.
  public var frames: UInt32
  /// The server's nominal sample rate. Never take `pos.frame_rate` for it, which is 0 after a plain locate
  /// (facts: jack 6).
  public var sampleRate: UInt32
  public var times: RawTimes
  public var transport: Transport
  /// The frames, for each port, from a frame's passage through JACK until it is heard (playback latency). The
  /// rule for MIDI ports is already applied (facts: jack 9). For `control`, the frames from the sending of a
  /// message until its arrival (capture latency).
  public var latencies: PerPort<UInt32>
  /// The number of times that the port `clock` went from no connection to one; wraps around.
  public var clockConnections: UInt32
  /// The longest delay of the user's own outputs (`OutputSlot.startDelay`): the microseconds from the time at
  /// which a frame passes through JACK until the last of these outputs is heard.
  public var ownDelay: Micros
  /// The number of the server's clients plus an unknown constant, so only its changes have a meaning.
  public var clients: Int32
  /// Maps JACK's clock to Link's.
  package var clock: ClockMap
  /// The session that the network thread has published. Its timeline is in Link's host time. Only
  /// `FreewheelSession` may read this field.
  fileprivate var session: SessionView
  public var settings: Settings
  /// The number of the settings. If it has not changed since the last cycle, the settings have not changed
  /// either.
  public var settingsNumber: UInt32
  public var sounds: SoundBank
  /// Whether the server freewheels (exports): it runs as fast as it can, its times mean nothing, and the
  /// session is not changed.
  public var isFreewheeling: Bool
  /// The locate by which the control thread moves, or has just moved, the rolling transport; nil: there is no
  /// such locate.
  public var relocation: Relocation?

  @_noLocks @_noAllocation
  package init(
    frames: UInt32, sampleRate: UInt32, times: RawTimes, transport: Transport, latencies: PerPort<UInt32>,
    clock: ClockMap, session: SessionView, settings: Settings, settingsNumber: UInt32, sounds: SoundBank,
    isFreewheeling: Bool = false, relocation: Relocation? = nil, clockConnections: UInt32 = 0,
    ownDelay: Micros = .zero, clients: Int32 = 0
  ) {
    self.frames = frames
    self.sampleRate = sampleRate
    self.times = times
    self.transport = transport
    self.latencies = latencies
    self.clockConnections = clockConnections
    self.ownDelay = ownDelay
    self.clients = clients
    self.clock = clock
    self.session = session
    self.settings = settings
    self.settingsNumber = settingsNumber
    self.sounds = sounds
    self.isFreewheeling = isFreewheeling
    self.relocation = relocation
  }

  /// Replaces the session. Call this when a new session was published.
  @_noLocks @_noAllocation
  public mutating func update(_ session: SessionView) { self.session = session }
}

/// The session as JACK's callbacks may see it. A freewheeling server's time says nothing about the session,
/// so the whole view of the session stays frozen until the freewheel ends.
struct FreewheelSession: BitwiseCopyable {
  private var frozen: SessionView?
  /// The time in microseconds by which an export's beats come later than the session's beats. An export (a
  /// freewheel) counts its beats by its own frames.
  private var shift = 0.0
  /// The microseconds from the time at which a frame passes through JACK until other clients are heard.
  /// During an export this delay is frozen: latency matters only to ears, and JACK removes connections in the
  /// middle of an export.
  private var delay = 0.0

  mutating func session(of cycle: inout Cycle) -> SessionView {
    guard cycle.isFreewheeling else {
      frozen = nil
      shift = 0
      return cycle.session
    }
    if let frozen { return frozen }
    frozen = cycle.session
    return cycle.session
  }

  func grid(of session: SessionState) -> Grid { Grid(session.timeline).later(by: shift) }

  /// The microseconds from the time at which a frame passes through JACK until it is heard. `present` is this
  /// delay by the latencies that JACK reports now. Call `session(of:)` before this function.
  mutating func delay(_ present: Double) -> Double {
    if case .none = frozen { delay = present }
    return delay
  }

  /// Shifts the grid so that its beats fall on the song's beats. A freewheeling server enters the song at
  /// `time`, and `position` is the song's beat at that time.
  mutating func align(_ grid: Grid, at time: Double, with position: Double) {
    let away = grid.beat(at: time) - position
    shift += (away - Double(Int64(rounding: away))) * grid.beatMicros
  }
}

/// JACK's statements about the time of this cycle, unchanged. Only `CycleTimes` interprets them.
public struct RawTimes: Sendable, BitwiseCopyable {
  /// `jack_last_frame_time`: the running number of frame 0 of this cycle. The number jumps when cycles were
  /// lost, and wraps.
  public var frame: UInt32
  /// `jack_position_t.usecs`: the unfiltered time at which the driver woke up for this cycle, on JACK's
  /// clock; 0: unknown.
  public var wakeMicros: UInt64
  /// Whether `jack_get_cycle_times` succeeded (returned 0).
  public var isPairValid: Bool
  /// `current_usecs` and `next_usecs` of `jack_get_cycle_times`, filtered by JACK's delay-locked loop.
  public var currentMicros: UInt64
  public var nextMicros: UInt64
  /// The number of xruns that the notification thread has counted; a change hints that the driver stalled.
  public var xruns: UInt32

  @_noLocks @_noAllocation
  public init(
    frame: UInt32, wakeMicros: UInt64, isPairValid: Bool, currentMicros: UInt64, nextMicros: UInt64,
    xruns: UInt32 = 0
  ) {
    self.frame = frame
    self.wakeMicros = wakeMicros
    self.isPairValid = isPairValid
    self.currentMicros = currentMicros
    self.nextMicros = nextMicros
    self.xruns = xruns
  }
}
