// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAudioLanes
import Synchronization

extension LinkAudio {
  /// Brings an input to the subscribers of its channel.
  public final class SendLane: Sendable {
    /// The number of audio channels in a lane.
    public enum Layout: Int, Hashable, Sendable, Codable {
      /// One channel.
      case mono = 1
      /// Two channels.
      case stereo = 2
    }

    package let lane: LinkAudioLanes.SendLane
    /// Whether the lane carries mono or stereo.
    ///
    /// Thread-safe: yes. Real-time-safe: no, but it never waits.
    public let layout: Layout
    /// Whether a sink uses this lane.
    let isUsed = Atomic(false)
    fileprivate let isTaken = Atomic(false)

    /// Allocates a lane.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(_ layout: Layout) {
      self.layout = layout
      lane = LinkAudioLanes.SendLane(channels: layout.rawValue)
    }

    /// Returns the audio thread's end of this lane. There is only one end: the result is nil while another
    /// part of the program has it. Releasing the end gives it back.
    ///
    /// Thread-safe: yes. Real-time-safe: no, so take it before the audio starts.
    public func takeEnd() -> SendEnd? {
      isTaken.exchange(true, ordering: .acquiringAndReleasing) ? nil : SendEnd(self)
    }

    /// The number of periods that were dropped because the lane was full: it had not been drained for a tenth
    /// of a second.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var refusedCount: Int { lane.refusedCount }
  }

  /// The audio thread's end of a ``SendLane``.
  ///
  /// The end keeps its lane alive, and it cannot be copied: put it into the callback's context. It belongs to
  /// one thread at a time. Release it on another thread after the audio has stopped, because the release may
  /// free the lane's memory.
  ///
  /// If a struct of yours contains both the end and a buffer, keep the buffer as a pointer and use the call
  /// that takes pointers. Swift does not allow a call that changes one member of a struct to get a span of
  /// another member.
  public struct SendEnd: ~Copyable, Sendable {
    private let lane: SendLane
    private let end: LinkAudioLanes.SendEnd

    fileprivate init(_ lane: SendLane) {
      self.lane = lane
      end = lane.lane.audio
    }

    deinit { lane.isTaken.store(false, ordering: .releasing) }

    /// Whether the channel has a subscriber.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    public var isWanted: Bool {
      @_noLocks @_noAllocation get { end.isWanted }
    }

    /// Sends a period if the channel has a subscriber. A stereo lane sends the samples on both channels.
    ///
    /// - Parameters:
    ///   - period: The input's period. If it has more frames than the buffers, only the buffers' samples are
    ///     sent.
    ///   - samples: The samples, one for each frame; 1 is full scale.
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

    /// Sends a period if the channel has a subscriber. A mono lane sends only the left channel.
    ///
    /// - Parameters:
    ///   - period: The input's period. If it has more frames than the buffers, only the buffers' samples are
    ///     sent.
    ///   - left: The left channel, with one sample for each frame; 1 is full scale.
    ///   - right: The right channel, with one sample for each frame.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func send(_ period: Period, left: Span<Float>, right: Span<Float>) {
      // The pointers are valid outside the closures, because the spans keep their memory until this function
      // returns. The closures have no result, because in Swift 6.2 a closure with a result is a generic call,
      // which may take a lock.
      var (first, second): (UnsafePointer<Float>?, UnsafePointer<Float>?)
      left.withUnsafeBufferPointer { first = $0.baseAddress }
      right.withUnsafeBufferPointer { second = $0.baseAddress }
      guard let first, let second else { return }
      let count = left.count < right.count ? left.count : right.count
      end.send(period.recording(atMost: count), left: first, right: second)
    }

    /// Sends a period from the buffers of an audio server, if the channel has a subscriber.
    ///
    /// - Parameters:
    ///   - period: The input's period. The buffers must contain all its frames.
    ///   - left: The samples of a mono lane, or the left channel.
    ///   - right: The right channel; nil: a stereo lane sends `left` on both channels.
    ///
    /// Thread-safe: no, one thread owns the end. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func send(_ period: Period, left: UnsafePointer<Float>, right: UnsafePointer<Float>?) {
      end.send(period.recording(atMost: .max), left: left, right: right)
    }
  }
}
