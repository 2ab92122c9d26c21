// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAudioLanes
internal import LinkAudioPath
internal import LinkBeatMath
import Synchronization

extension LinkAudio {
  /// Brings a peer's channel to an output. Each sample is played at its beat plus the delay.
  public final class ReceiveLane: Sendable {
    package let lane: LinkAudioLanes.ReceiveLane
    /// Whether a source uses this lane.
    let isUsed = Atomic(false)
    fileprivate let isTaken = Atomic(false)
    /// A lock so that only one thread at a time reads the figures.
    private let reading = Mutex(())

    /// Allocates a lane.
    ///
    /// If the lane has no room for the chosen delay, the delay is shortened, and ``Figures/isDelayShortened``
    /// is true. Beats get longer when a peer slows down: at Link's lowest tempo, 20 BPM, a beat lasts 3
    /// seconds.
    ///
    /// - Parameter longestDelay: The longest delay for which the lane has room, up to a minute, for a stream
    ///   of 48,000 frames a second. At a higher sample rate the longest delay is shorter. All values up to
    ///   one second need the same memory.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(longestDelay: Duration = .seconds(1)) {
      lane = LinkAudioLanes.ReceiveLane(longestDelay: longestDelay.microseconds / 1e6)
    }

    /// Returns the audio thread's end of this lane. There is only one end: the result is nil while another
    /// part of the program has it. Releasing the end gives it back.
    ///
    /// Thread-safe: yes. Real-time-safe: no, so take it before the audio starts.
    public func takeEnd() -> ReceiveEnd? {
      isTaken.exchange(true, ordering: .acquiringAndReleasing) ? nil : ReceiveEnd(self)
    }

    /// Figures that show how the channel was played, as of the last period.
    ///
    /// Thread-safe: yes. Real-time-safe: no, it may wait.
    public var figures: Figures { reading.withLock { _ in Figures(lane.figures()) } }
  }

  /// The audio thread's end of a ``ReceiveLane``.
  ///
  /// The end keeps its lane alive, and it cannot be copied: put it into the callback's context. It belongs to
  /// one thread at a time. Release it on another thread after the audio has stopped, because the release may
  /// free the lane's memory.
  ///
  /// If a struct of yours contains both the end and a buffer, keep the buffer as a pointer and use the calls
  /// that take pointers. Swift does not allow a call that changes one member of a struct to get a span of
  /// another member.
  public struct ReceiveEnd: ~Copyable, Sendable {
    private let lane: ReceiveLane
    private let end: LinkAudioLanes.ReceiveEnd

    fileprivate init(_ lane: ReceiveLane) {
      self.lane = lane
      end = lane.lane.audio
    }

    deinit { lane.isTaken.store(false, ordering: .releasing) }

    /// Fills an output's period with the mean of both channels.
    ///
    /// - Parameters:
    ///   - period: The output's period. If it has more frames than `samples`, only `samples` is filled.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - samples: The buffer, with one sample for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func render(_ period: Period, delay: Delay, _ samples: inout MutableSpan<Float>) {
      // The closure has no result, because in Swift 6.2 a closure with a result is a generic call, which may
      // take a lock.
      var first: UnsafeMutablePointer<Float>?
      samples.withUnsafeMutableBufferPointer { first = $0.baseAddress }
      let count = samples.count < Playout.mostFrames ? samples.count : Playout.mostFrames
      if let first { end.render(period.hearing(atMost: count), delay: delay.value, left: first, right: nil) }
      silence(first, from: count, to: samples.count < period.frames ? samples.count : period.frames)
    }

    /// Fills an output's period.
    ///
    /// - Parameters:
    ///   - period: The output's period. If one buffer is too short for it, the rest of the other buffer is
    ///     filled with silence.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - left: The left channel's buffer, with one sample for each frame. For an array, pass its
    ///     `mutableSpan`.
    ///   - right: The right channel's buffer, with one sample for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func render(
      _ period: Period, delay: Delay, left: consuming MutableSpan<Float>, right: consuming MutableSpan<Float>
    ) {
      // The pointers are valid outside the closures, because the spans keep their memory until this function
      // returns. The closures have no result, because in Swift 6.2 a closure with a result is a generic call,
      // which may take a lock. Swift 6.2 also refuses two `inout` spans in one call, so these two are
      // `consuming`.
      var (first, second): (UnsafeMutablePointer<Float>?, UnsafeMutablePointer<Float>?)
      left.withUnsafeMutableBufferPointer { first = $0.baseAddress }
      right.withUnsafeMutableBufferPointer { second = $0.baseAddress }
      var count = left.count < right.count ? left.count : right.count
      if count > Playout.mostFrames { count = Playout.mostFrames }
      if let first, let second {
        end.render(period.hearing(atMost: count), delay: delay.value, left: first, right: second)
      }
      silence(first, from: count, to: left.count < period.frames ? left.count : period.frames)
      silence(second, from: count, to: right.count < period.frames ? right.count : period.frames)
    }

    @_noLocks @_noAllocation
    private func silence(_ samples: UnsafeMutablePointer<Float>?, from first: Int, to end: Int) {
      guard let samples else { return }
      var frame = first
      while frame < end {
        samples[frame] = 0
        frame &+= 1
      }
    }

    /// Fills an output's period in the buffers of an audio server.
    ///
    /// - Parameters:
    ///   - period: The output's period. The buffers must have room for all its frames.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - left: The left channel's buffer, or the only buffer.
    ///   - right: The right channel's buffer; nil: `left` gets the mean of both channels.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func render(
      _ period: Period, delay: Delay, left: UnsafeMutablePointer<Float>,
      right: UnsafeMutablePointer<Float>?
    ) {
      let most = Playout.mostFrames
      end.render(period.hearing(atMost: most), delay: delay.value, left: left, right: right)
      silence(left, from: most, to: period.frames)
      silence(right, from: most, to: period.frames)
    }

    /// Fills a period with silence and drops received audio. Use this call if the period has no true time,
    /// for example while a server freewheels.
    ///
    /// - Parameters:
    ///   - frames: The number of frames in the period.
    ///   - left: The left channel's buffer, or the only buffer.
    ///   - right: The right channel's buffer, or nil.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func skip(
      frames: Int, left: UnsafeMutablePointer<Float>, right: UnsafeMutablePointer<Float>?
    ) {
      end.skip(frames: frames, left: left, right: right)
    }
  }
}
