// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAudioPath
import LinkHandoff
import Synchronization

/// A period of an input, and the session's beats in it.
public struct Recording: Sendable, BitwiseCopyable {
  /// Frames in the period; those after 8192 are dropped.
  public var frames: Int
  /// Nominal rate of the input.
  public var sampleRate: UInt32
  /// Host time at which frame 0 passes through the server, in microseconds with their fraction.
  public var start: Double
  /// Mean microseconds per frame over many periods.
  public var frameMicros: Double
  /// Latency from the microphone to the input's port, in frames.
  public var captureFrames: Double
  /// The user's correction in microseconds; positive: the sound is stamped with an earlier beat.
  public var offset: Double
  /// The session's beats, as they were captured for this period.
  public var grid: SessionGrid

  /// Creates a recording. Each period needs a new one, with the times by which the program computes its own
  /// beats. Real-time-safe.
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

  /// A part of the period, with the stamp of its first frame and of the frame after its last.
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
  // At a fixed address for its whole life, because the audio thread holds it.
  nonisolated(unsafe) private let shared: UnsafeMutablePointer<SendShared>
  /// 1 or 2.
  public let channelCount: Int

  /// A longer period takes several slots.
  fileprivate static let slotFrames = 256
  /// More than a tenth of a second of short periods, or four of the longest.
  private static let slots = 128
  /// Bytes before the samples.
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

  /// The audio thread's end; valid as long as this lane lives.
  public var audio: SendEnd { SendEnd(shared: shared, channelCount: channelCount) }

  /// Whether there is a subscriber. Without one the audio thread stores nothing. [network]
  package var isWanted: Bool {
    get { shared.pointee.isWanted.load(ordering: .relaxed) }
    set { shared.pointee.isWanted.store(newValue, ordering: .relaxed) }
  }

  /// The number of periods that found the lane full, because it was not drained for a tenth of a second.
  /// [any]
  public var refusedCount: Int { Int(clamping: shared.pointee.queue.refusedCount) }

  /// Takes all that waits, oldest first. [network]
  package func drain(_ body: (SentPeriod, UnsafeBufferPointer<Float>) -> Void) {
    // The loop is bounded. If the audio thread adds periods faster than this, the next call drains the rest.
    for _ in 0..<shared.pointee.queue.capacity {
      guard let slot = shared.pointee.queue.front() else { return }
      let period = slot.load(as: SentPeriod.self)
      let samples = UnsafeRawBufferPointer(rebasing: slot[Self.headBytes...]).assumingMemoryBound(
        to: Float.self)
      body(period, samples)
      shared.pointee.queue.release()
    }
  }

  /// The memory that the audio thread touches. [any]
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

  /// Whether there is a subscriber. [audio, real-time-safe]
  public var isWanted: Bool {
    @_noLocks @_noAllocation get { shared.pointee.isWanted.load(ordering: .relaxed) }
  }

  /// Sends this period if there is a subscriber. In a stereo lane, `right` defaults to `left`; a mono lane
  /// sends `left`. [audio, real-time-safe]
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
