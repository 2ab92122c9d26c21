// SPDX-License-Identifier: GPL-2.0-or-later
internal import AudioLanes
internal import BeatMath
public import Link
internal import LinkAudioPath

extension LinkAudio {
  /// A period of an input or an output, and the session's beats in it.
  ///
  /// Make a new one in each period from a state that was captured in it: what is sent and played is only as
  /// good as its times. The noise of ``start`` is averaged, but a constant error is heard.
  public struct Period: Sendable, BitwiseCopyable {
    /// Frames in the period. Of a longer period than 8192 frames, the rest is not sent; it is played as
    /// silence.
    public var frames: Int
    /// Nominal frames a second.
    public var sampleRate: Int
    /// When frame 0 passes through the audio server.
    public var start: Link.Instant
    /// Frames from the microphone to the server for an input, from the server to the speaker for an output.
    public var latencyFrames: Double
    /// Frames a second by Link's clock, as a mean of many periods. Initially the nominal rate.
    public var measuredRate: Double
    /// The state that was captured for this period.
    public var state: Link.SessionState

    /// Creates a period.
    ///
    /// - Parameters:
    ///   - state: The state that was captured for this period.
    ///   - frames: Frames in the period, at most 8192.
    ///   - sampleRate: Nominal frames a second.
    ///   - start: When frame 0 passes through the audio server.
    ///   - latencyFrames: Frames between the server and the microphone or speaker.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public init(
      _ state: Link.SessionState, frames: Int, sampleRate: Int, start: Link.Instant,
      latencyFrames: Double = 0
    ) {
      self.state = state
      self.frames = frames
      self.sampleRate = sampleRate
      self.start = start
      self.latencyFrames = latencyFrames
      measuredRate = Double(sampleRate)
    }

    private var nominalRate: UInt32 {
      @_noLocks @_noAllocation get {
        sampleRate < 0 || sampleRate > 1_000_000 ? 0 : UInt32(truncatingIfNeeded: sampleRate)
      }
    }

    @_noLocks @_noAllocation
    func recording(atMost count: Int) -> Recording {
      Recording(
        frames: frames < count ? frames : count, sampleRate: nominalRate,
        start: Double(start.microseconds), frameMicros: 1e6 / measuredRate, captureFrames: latencyFrames,
        offset: 0, grid: SessionGrid(state.value))
    }

    @_noLocks @_noAllocation
    func hearing(atMost count: Int) -> OutputPeriod {
      let frameMicros = 1e6 / measuredRate
      return OutputPeriod(
        frames: frames < count ? frames : count, sampleRate: nominalRate,
        start: Double(start.microseconds), frameMicros: frameMicros,
        latencyMicros: latencyFrames * frameMicros, grid: SessionGrid(state.value))
    }
  }

  /// The delay between a channel's beat and its sound.
  public struct Delay: Sendable, BitwiseCopyable {
    let value: PlayoutDelay

    @_noLocks @_noAllocation
    private init(_ value: PlayoutDelay) {
      self.value = value
    }

    /// As short as the network allows, but at least 20 ms: enough for a wired network.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public static var standard: Delay {
      @_noLocks @_noAllocation get { Delay(.standard) }
    }

    /// As short as the network allows, but at least this, and at most 300 ms more than the output's latency
    /// and two periods. It grows at once when audio comes late, and shrinks slowly.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func adaptive(least: Duration) -> Delay { Delay(.adaptive(least: least.microseconds)) }

    /// A constant delay.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func fixed(_ delay: Duration) -> Delay { Delay(.fixed(delay.microseconds)) }

    /// Whole beats: the sound stays in time, at a later point of the song. After a change of tempo it is the
    /// same number of the new beats. If the lane has no room for all of them, it is fewer, and
    /// ``Figures/isDelayShortened`` is true.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func beats(_ count: Int) -> Delay { Delay(.beats(count)) }
  }
}

extension Duration {
  var microseconds: Double { Double(Micros(self).count) }

  init(milliseconds: Double) {
    self = .microseconds(Int64(saturating: milliseconds * 1000))
  }
}
