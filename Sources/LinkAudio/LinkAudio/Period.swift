// SPDX-License-Identifier: GPL-2.0-or-later
public import Link
internal import LinkAudioLanes
internal import LinkAudioPath
internal import LinkBeatMath

extension LinkAudio {
  /// A period of an input or an output, and the session's beats in it.
  ///
  /// Make a new `Period` in each period of the audio server, from a state that you capture in that period.
  /// Errors of the times become errors of the sound: noise in ``start`` is averaged, but a constant error is
  /// heard.
  public struct Period: Hashable, Sendable, BitwiseCopyable {
    /// The number of frames in the period. Frames after the first 8192 are not sent, and an output plays
    /// silence for them.
    public var frames: Int
    /// The nominal sample rate, in frames a second.
    public var sampleRate: Int
    /// The instant at which frame 0 passes through the audio server.
    public var start: Link.Instant
    /// The latency in frames: for an input, from the microphone to the server; for an output, from the server
    /// to the speaker.
    public var latencyFrames: Double
    /// The real sample rate, in frames a second of Link's clock, as a mean of many periods. Initially the
    /// nominal rate.
    public var measuredRate: Double
    /// The state that was captured for this period.
    public var state: Link.SessionState

    /// Creates a period.
    ///
    /// - Parameters:
    ///   - state: The state that was captured for this period.
    ///   - frames: The number of frames in the period, at most 8192.
    ///   - sampleRate: The nominal sample rate, in frames a second.
    ///   - start: The instant at which frame 0 passes through the audio server.
    ///   - latencyFrames: The latency in frames between the server and the microphone or speaker.
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
}
