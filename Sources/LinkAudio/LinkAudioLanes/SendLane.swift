// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAudioPath
import LinkHandoff
import Synchronization

/// A period of an input, and the session's beats in it.
public struct Recording: Sendable, BitwiseCopyable {
  /// The number of frames in the period. Frames after the first 8192 are dropped.
  public var frames: Int
  /// The nominal sample rate of the input.
  public var sampleRate: UInt32
  /// The host time at which frame 0 passes through the audio server, in microseconds with their fraction.
  public var start: Double
  /// The microseconds per frame, as a mean over many periods.
  public var frameMicros: Double
  /// The latency from the microphone to the input's port, in frames.
  public var captureFrames: Double
  /// A correction of the times in microseconds, chosen by the user. With a positive value, the sound is
  /// stamped with a later beat.
  public var offset: Double
  /// The session's beats, as they were captured for this period.
  public var grid: SessionGrid

  /// Creates the description of a period. Each period needs a new `Recording`, made from the same times from
  /// which the program computes its own beats. Real-time-safe.
  @_noLocks @_noAllocation
  public init(
    frames: Int, sampleRate: UInt32, start: Double, frameMicros: Double, captureFrames: Double,
    offset: Double, grid: SessionGrid
  ) {
    self.frames = frames
    self.sampleRate = sampleRate
    self.start = start
    self.frameMicros = frameMicros
    self.captureFrames = captureFrames
    self.offset = offset
    self.grid = grid
  }

  @_noLocks @_noAllocation
  fileprivate func stamp(_ frame: Int) -> Int64 {
    grid.stamp(
      ofFrame: frame, start: start, frameMicros: frameMicros, captureFrames: captureFrames, offset: offset)
  }

  /// Describes a part of the period: with the stamps of the part's first frame and of the frame after its
  /// last one.
  @_noLocks @_noAllocation
  fileprivate func period(_ first: Int, _ end: Int, channels: UInt8) -> SentPeriod {
    SentPeriod(
      session: grid.session, begin: stamp(first), end: stamp(end),
      microsPerBeat: Int64(rounding: grid.beatMicros), sampleRate: sampleRate,
      frames: UInt16(truncatingIfNeeded: end &- first), channels: channels)
  }
}

/// Brings an input to the subscribers of its channel.
public final class SendLane: Sendable {
  // This object keeps its address for its whole life, because the audio thread holds a pointer to it.
  nonisolated(unsafe) private let shared: UnsafeMutablePointer<SendShared>
  /// The number of audio channels in the lane, 1 or 2.
  public let channelCount: Int

  /// The most frames in a slot. A longer period takes several slots.
  fileprivate static let slotFrames = 256
  /// The number of slots: enough for more than a tenth of a second of short periods, or for four of the
  /// longest periods.
  private static let slots = 128
  /// The bytes in a slot before the samples. They contain the period's description (`SentPeriod`).
  fileprivate static let headBytes = 48

  /// Allocates a lane for 1 or 2 channels.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public init(channels: Int) {
    channelCount = max(1, min(2, channels))
    shared = .allocate(capacity: 1)
    shared.initialize(
      to: SendShared(
        queue: SlotQueue(
          slots: Self.slots,
          bytes: Self.headBytes + channelCount * Self.slotFrames * MemoryLayout<Float>.stride)))
  }

  deinit {
    shared.deinitialize(count: 1)
    shared.deallocate()
  }

  /// The audio thread's end of this lane. It is valid as long as the lane exists.
  public var audio: SendEnd { SendEnd(shared: shared, channelCount: channelCount) }

  /// Whether the channel has a subscriber. Without a subscriber, the audio thread stores nothing. [network]
  package var isWanted: Bool {
    get { shared.pointee.isWanted.load(ordering: .relaxed) }
    set { shared.pointee.isWanted.store(newValue, ordering: .relaxed) }
  }

  /// The number of periods that were dropped because the lane was full: it had not been drained for a tenth
  /// of a second. [any]
  public var refusedCount: Int { Int(clamping: shared.pointee.queue.refusedCount) }

  /// Passes all stored periods with their samples to `body`, the oldest first, and removes them. [network]
  package func drain(_ body: (SentPeriod, UnsafeBufferPointer<Float>) -> Void) {
    // The loop is bounded. If the audio thread adds periods faster than `body` takes them, the next call
    // drains the rest.
    for _ in 0..<shared.pointee.queue.capacity {
      guard let slot = shared.pointee.queue.front() else { return }
      let period = slot.load(as: SentPeriod.self)
      let samples = UnsafeRawBufferPointer(rebasing: slot[Self.headBytes...]).assumingMemoryBound(
        to: Float.self)
      body(period, samples)
      shared.pointee.queue.release()
    }
  }

  /// Passes the blocks of memory that the audio thread touches, so that the lane's owner can lock them in
  /// RAM. [any]
  package func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    body(UnsafeRawBufferPointer(start: shared, count: MemoryLayout<SendShared>.size))
    shared.pointee.queue.forEachBlock(body)
  }
}

struct SendShared: ~Copyable {
  let queue: SlotQueue
  let isWanted = Atomic(false)
}

/// The audio thread's end of a `SendLane`. One thread at a time may use it.
public struct SendEnd: @unchecked Sendable, BitwiseCopyable {
  let shared: UnsafeMutablePointer<SendShared>
  let channelCount: Int

  /// Whether the channel has a subscriber. [audio, real-time-safe]
  public var isWanted: Bool {
    @_noLocks @_noAllocation get { shared.pointee.isWanted.load(ordering: .relaxed) }
  }

  /// Sends this period if the channel has a subscriber. A mono lane sends only `left`. In a stereo lane,
  /// `left` is also sent as the right channel if `right` is nil. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func send(
    _ recording: Recording, left: UnsafePointer<Float>, right: UnsafePointer<Float>?
  ) {
    guard isWanted else { return }
    let end = min(recording.frames, Playout.mostFrames)
    var first = 0
    while first < end {
      let next = min(end, first &+ SendLane.slotFrames)
      guard let slot = shared.pointee.queue.reserve() else { return }
      slot.storeBytes(
        of: recording.period(first, next, channels: UInt8(truncatingIfNeeded: channelCount)),
        as: SentPeriod.self)
      let samples = (slot.baseAddress! + SendLane.headBytes).assumingMemoryBound(to: Float.self)
      let other = right ?? left
      var place = 0
      while first < next {
        samples[place] = left[first]
        if channelCount == 2 { samples[place &+ 1] = other[first] }
        place &+= channelCount
        first &+= 1
      }
      shared.pointee.queue.commit()
    }
  }
}
