// SPDX-License-Identifier: GPL-2.0-or-later
package import AudioLanes
import Synchronization

extension LinkAudio {
  /// Brings an input to the subscribers of its channel.
  public final class SendLane: Sendable {
    /// The channels of audio in a lane.
    public enum Layout: Int, Hashable, Sendable, Codable {
      /// One channel.
      case mono = 1
      /// Two channels.
      case stereo = 2
    }

    package let lane: AudioLanes.SendLane
    /// The channels of audio that it carries.
    ///
    /// Thread-safe: yes. Real-time-safe: no, but it never waits.
    public let layout: Layout
    /// Whether a sink uses it.
    let isUsed = Atomic(false)
    fileprivate let isTaken = Atomic(false)

    /// Allocates a lane.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(_ layout: Layout) {
      self.layout = layout
      lane = AudioLanes.SendLane(channels: layout.rawValue)
    }

    /// Returns the audio thread's end. There is one: nil while another part of the program has it. Releasing
    /// it gives it back.
    ///
    /// Thread-safe: yes. Real-time-safe: no, so take it before the audio starts.
    public func takeEnd() -> SendEnd? {
      isTaken.exchange(true, ordering: .acquiringAndReleasing) ? nil : SendEnd(self)
    }

    /// The number of periods that found the lane full, because it was not drained for a tenth of a second.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var refusedCount: Int { lane.refusedCount }
  }

  /// The audio thread's end of a ``SendLane``.
  ///
  /// It keeps the lane alive, and it cannot be copied: put it into the callback's context. It belongs to one
  /// thread at a time. Let it go on another thread after the audio has stopped: that may free the lane.
  ///
  /// If the buffer and the end are members of one struct, keep the buffer as a pointer and use the call with
  /// pointers: Swift refuses the span of one member in a call that changes another member.
  public struct SendEnd: ~Copyable, Sendable {
    private let lane: SendLane
    private let end: AudioLanes.SendEnd

    fileprivate init(_ lane: SendLane) {
      self.lane = lane
      end = lane.lane.audio
    }

    deinit { lane.isTaken.store(false, ordering: .releasing) }

    /// Whether there is a subscriber.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    public var isWanted: Bool {
      @_noLocks @_noAllocation get { end.isWanted }
    }

    /// Sends a period if there is a subscriber. A stereo lane sends the samples on both channels.
    ///
    /// - Parameters:
    ///   - period: Its frames beyond the samples are not sent.
    ///   - samples: One for each frame; 1 is full scale.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func send(_ period: Period, _ samples: Span<Float>) {
      let end = end
      samples.withUnsafeBufferPointer { samples in
        guard let left = samples.baseAddress else { return }
        end.send(period.recording(atMost: samples.count), left: left, right: nil)
      }
    }

    /// Sends a period if there is a subscriber. A mono lane sends the left channel.
    ///
    /// - Parameters:
    ///   - period: Its frames beyond the samples are not sent.
    ///   - left: One sample for each frame; 1 is full scale.
    ///   - right: One sample for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func send(_ period: Period, left: Span<Float>, right: Span<Float>) {
      // The spans keep their memory until this returns. In Swift 6.2 a closure with a result is a generic
      // call, which may lock.
      var (first, second): (UnsafePointer<Float>?, UnsafePointer<Float>?)
      left.withUnsafeBufferPointer { first = $0.baseAddress }
      right.withUnsafeBufferPointer { second = $0.baseAddress }
      guard let first, let second else { return }
      let count = left.count < right.count ? left.count : right.count
      end.send(period.recording(atMost: count), left: first, right: second)
    }

    /// Sends a period if there is a subscriber, from the buffers of an audio server.
    ///
    /// - Parameters:
    ///   - period: The buffers have at least its frames.
    ///   - left: The samples of a mono lane, or the left channel.
    ///   - right: The right channel; nil: a stereo lane sends `left` on both.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func send(_ period: Period, left: UnsafePointer<Float>, right: UnsafePointer<Float>?) {
      end.send(period.recording(atMost: .max), left: left, right: right)
    }
  }
}
