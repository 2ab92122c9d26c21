// SPDX-License-Identifier: GPL-2.0-or-later
package import AudioLanes
internal import BeatMath
internal import LinkAudioPath
import Synchronization

extension LinkAudio {
  /// Brings a peer's channel to an output, each sample at its beat plus the delay.
  public final class ReceiveLane: Sendable {
    package let lane: AudioLanes.ReceiveLane
    /// Whether a source uses it.
    let isUsed = Atomic(false)
    fileprivate let isTaken = Atomic(false)
    /// The figures are read by one thread at a time.
    private let reading = Mutex(())

    /// Allocates a lane.
    ///
    /// A delay that the lane has no room for is shortened, and ``Figures/isDelayShortened`` is true. Beats
    /// get longer when a peer slows down: at Link's lowest tempo, 20 BPM, a beat lasts 3 seconds.
    ///
    /// - Parameter longestDelay: The longest delay that it has room for, up to a minute. All values up to one
    ///   second need the same memory. Streams of more than 48,000 frames a second have less room.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(longestDelay: Duration = .seconds(1)) {
      lane = AudioLanes.ReceiveLane(longestDelay: longestDelay.microseconds / 1e6)
    }

    /// Returns the audio thread's end. There is one: nil while another part of the program has it. Releasing
    /// it gives it back.
    ///
    /// Thread-safe: yes. Real-time-safe: no, so take it before the audio starts.
    public func takeEnd() -> ReceiveEnd? {
      isTaken.exchange(true, ordering: .acquiringAndReleasing) ? nil : ReceiveEnd(self)
    }

    /// The figures after the last period.
    ///
    /// Thread-safe: yes. Real-time-safe: no, it may wait.
    public var figures: Figures { reading.withLock { _ in Figures(lane.figures()) } }
  }

  /// The audio thread's end of a ``ReceiveLane``.
  ///
  /// It keeps the lane alive, and it cannot be copied: put it into the callback's context. It belongs to one
  /// thread at a time. Let it go on another thread after the audio has stopped: that may free the lane.
  ///
  /// If the buffer and the end are members of one struct, keep the buffer as a pointer and use the calls with
  /// pointers: Swift refuses the span of one member in a call that changes another member.
  public struct ReceiveEnd: ~Copyable, Sendable {
    private let lane: ReceiveLane
    private let end: AudioLanes.ReceiveEnd

    fileprivate init(_ lane: ReceiveLane) {
      self.lane = lane
      end = lane.lane.audio
    }

    deinit { lane.isTaken.store(false, ordering: .releasing) }

    /// Fills an output's period with the mean of both channels.
    ///
    /// - Parameters:
    ///   - period: Only frames that fit into the samples are filled.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - samples: One for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func render(_ period: Period, delay: Delay, _ samples: inout MutableSpan<Float>) {
      // In Swift 6.2 a closure with a result is a generic call, which may lock.
      var first: UnsafeMutablePointer<Float>?
      samples.withUnsafeMutableBufferPointer { first = $0.baseAddress }
      let count = samples.count < Playout.mostFrames ? samples.count : Playout.mostFrames
      if let first { end.render(period.hearing(atMost: count), delay: delay.value, left: first, right: nil) }
      silence(first, from: count, to: samples.count < period.frames ? samples.count : period.frames)
    }

    /// Fills an output's period.
    ///
    /// - Parameters:
    ///   - period: If one buffer is too short for the period, the rest of the other gets silence.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - left: One sample for each frame. An array gives its `mutableSpan`.
    ///   - right: One sample for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func render(
      _ period: Period, delay: Delay, left: consuming MutableSpan<Float>, right: consuming MutableSpan<Float>
    ) {
      // The spans keep their memory until this returns. In Swift 6.2 a closure with a result is a generic
      // call, which may lock. Swift 6.2 also refuses an inout span beside another.
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
    ///   - period: The buffers have at least its frames.
    ///   - delay: The delay from a sample's beat to its sound.
    ///   - left: The left channel, or the only one.
    ///   - right: The right channel; nil: `left` gets the mean of both.
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

    /// Fills a period that has no true time, for example while a server freewheels, with silence, and drops
    /// received audio.
    ///
    /// - Parameters:
    ///   - frames: Frames in the period.
    ///   - left: The left channel, or the only one.
    ///   - right: The right channel, if there is one.
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
