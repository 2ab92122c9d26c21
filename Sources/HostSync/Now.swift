// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// What everything in one callback of JACK's goes by: made once at its beginning, and the only view of the session that
/// there is. `Cycle` gives its session to `Freeze` alone, so nothing here can see one that goes on while the server
/// freewheels.
struct Now: BitwiseCopyable {
  let frames: UInt32
  let sampleRate: UInt32
  /// JACK's running number of frame 0.
  let number: UInt32
  let isFreewheeling: Bool
  let transport: Transport
  let latencies: Latencies
  let settings: Settings
  let relocation: Relocation
  let session: SessionState
  /// The session's own beats.
  let grid: Grid
  /// Microseconds per frame over many cycles: for latencies, which may be many buffers long.
  let perFrame: Double
  /// When the cycle's frames pass through JACK, and when they are heard through the physical outputs.
  let line: FrameLine
  let heard: FrameLine

  @_noLocks @_noAllocation
  init(_ cycle: borrowing Cycle, _ session: SessionState, line: FrameLine, perFrame: Double) {
    frames = cycle.frames
    sampleRate = cycle.sampleRate
    number = cycle.times.frame
    isFreewheeling = cycle.isFreewheeling
    transport = cycle.transport
    latencies = cycle.latencies
    settings = cycle.settings
    relocation = cycle.relocation
    self.session = session
    grid = Grid(session.timeline)
    self.perFrame = perFrame
    self.line = line
    heard = Self.heard(line, perFrame, latencies.physical, settings.offsets.transport)
  }

  /// Microseconds of this cycle.
  var cycleMicros: Double { @_noLocks @_noAllocation get { Double(frames) * perFrame } }

  var isRolling: Bool {
    @_noLocks @_noAllocation get { if case .rolling = transport.state { true } else { false } }
  }

  /// When the cycle's frames are heard through a port.
  @_noLocks @_noAllocation
  func heard(through latency: UInt32, _ offset: Micros) -> FrameLine {
    Self.heard(line, perFrame, latency, offset)
  }

  @inline(__always) @_noLocks @_noAllocation
  private static func heard(_ line: FrameLine, _ perFrame: Double, _ latency: UInt32, _ offset: Micros)
    -> FrameLine
  {
    line.delayed(by: Double(latency) * perFrame + Double(offset.count))
  }
}
