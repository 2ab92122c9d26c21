// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import LinkAudioPath
import LinkHandoff
import Synchronization

/// Brings a peer's channel to an output. Each sample is played at its beat plus the delay.
public final class ReceiveLane: Sendable {
  // These objects keep their addresses for their whole life, because the audio thread holds pointers to them.
  nonisolated(unsafe) private let shared: UnsafeMutablePointer<ReceiveShared>
  nonisolated(unsafe) private let playout: UnsafeMutablePointer<Playout>
  nonisolated(unsafe) private let memory: UnsafeMutableRawBufferPointer

  private let sounded = Atomic(false)
  /// Whether the lane only notes that its channel sounds, and keeps no audio.
  private let isProbe: Bool

  /// Samples below this level count as silence. It is 80 dB below full scale, and above the level of any
  /// dither.
  package static let silence: Float = 1e-4
  /// The number of chunks that the lane can hold: a third of a second of stereo datagrams.
  static let slots = 256
  /// The bytes in a slot before the samples. They contain the chunk's description (`AudioChunk`).
  static let headBytes = 48
  /// The stream rate for which `longestDelay` is sized; at a higher rate the longest delay is shorter.
  private static let streamRate = 48_000.0

  /// Allocates room for a delay of up to `longestDelay` seconds. All values up to one second need the same
  /// memory.
  public convenience init(longestDelay seconds: Double = 1) {
    self.init(
      frames: Int(max(0, min(60, seconds)) * Self.streamRate) + 8192, slots: Self.slots, isProbe: false)
  }

  /// Makes a lane that only finds out whether a channel contains sound.
  package static func probe() -> ReceiveLane { ReceiveLane(frames: 8192, slots: 1, isProbe: true) }

  private init(frames: Int, slots: Int, isProbe: Bool) {
    self.isProbe = isProbe
    shared = .allocate(capacity: 1)
    shared.initialize(
      to: ReceiveShared(
        queue: SlotQueue(
          slots: slots, bytes: Self.headBytes + AudioChunk.mostSamples * MemoryLayout<Float>.stride)))
    memory = .allocate(byteCount: Playout.bytes(frames: frames), alignment: 64)
    playout = .allocate(capacity: 1)
    playout.initialize(to: Playout(in: memory.baseAddress!, frames: frames, kernel: Self.kernel))
  }

  deinit {
    playout.deinitialize(count: 1)
    playout.deallocate()
    memory.deallocate()
    shared.deinitialize(count: 1)
    shared.deallocate()
  }

  /// The interpolator's table. All lanes share it, and it is never freed.
  nonisolated(unsafe) private static let kernel = Kernel(
    in: UnsafeMutablePointer<Float>.allocate(capacity: Kernel.floats))

  /// Whether a probe has found sound. [any]
  package var hasSounded: Bool { sounded.load(ordering: .relaxed) }

  /// The audio thread's end of this lane. It is valid as long as the lane exists.
  public var audio: ReceiveEnd { ReceiveEnd(shared: shared, playout: playout) }

  /// Stores a chunk; `write` fills in its samples as floats. Returns false if the lane is full, because the
  /// audio thread has not emptied it for a while. [network]
  @discardableResult
  package func put(_ chunk: AudioChunk, _ write: (UnsafeMutableBufferPointer<Float>) -> Void) -> Bool {
    let count = Int(chunk.frames) * Int(chunk.channels)
    guard count <= AudioChunk.mostSamples, let slot = shared.pointee.queue.reserve() else { return false }
    slot.storeBytes(of: chunk, as: AudioChunk.self)
    let samples = (slot.baseAddress! + Self.headBytes).assumingMemoryBound(to: Float.self)
    let buffer = UnsafeMutableBufferPointer(start: samples, count: count)
    write(buffer)
    if isProbe {
      if buffer.contains(where: { abs($0) > Self.silence }) { sounded.store(true, ordering: .relaxed) }
    } else {
      shared.pointee.queue.commit()
    }
    return true
  }

  /// The figures on the playing of the channel, as of the last period. Call this function from one thread
  /// only. [control]
  public func figures() -> PlayoutFigures { shared.pointee.figures.read() }

  /// Passes the blocks of memory that the audio thread touches, so that the lane's owner can lock them in
  /// RAM. [any]
  package func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    body(UnsafeRawBufferPointer(start: shared, count: MemoryLayout<ReceiveShared>.size))
    body(UnsafeRawBufferPointer(start: playout, count: MemoryLayout<Playout>.size))
    body(UnsafeRawBufferPointer(memory))
    shared.pointee.queue.forEachBlock(body)
    shared.pointee.figures.forEachBlock(body)
  }
}

struct ReceiveShared: ~Copyable {
  let queue: SlotQueue
  let figures = Latest(PlayoutFigures())
}

/// The audio thread's end of a `ReceiveLane`. One thread at a time may use it.
public struct ReceiveEnd: @unchecked Sendable, BitwiseCopyable {
  let shared: UnsafeMutablePointer<ReceiveShared>
  let playout: UnsafeMutablePointer<Playout>

  /// Fills an output's period. If `right` is nil, `left` gets the mean of both channels. [audio,
  /// real-time-safe]
  @_noLocks @_noAllocation
  public func render(
    _ hearing: OutputPeriod, delay: PlayoutDelay, left: UnsafeMutablePointer<Float>,
    right: UnsafeMutablePointer<Float>?
  ) {
    playout.pointee.delay = delay
    var taken = 0
    while taken < ReceiveLane.slots, let slot = shared.pointee.queue.front() {
      let chunk = slot.load(as: AudioChunk.self)
      let samples = (slot.baseAddress! + ReceiveLane.headBytes).assumingMemoryBound(to: Float.self)
      let count = min(AudioChunk.mostSamples, Int(chunk.frames) &* Int(chunk.channels))
      playout.pointee.insert(chunk, samples: UnsafeBufferPointer(start: samples, count: count), hearing)
      shared.pointee.queue.release()
      taken &+= 1
    }
    playout.pointee.render(hearing, left: left, right: right)
    shared.pointee.figures.publish(playout.pointee.figures)
  }

  /// Fills a period with silence and drops received chunks. Use this call if the period has no true time, for
  /// example while a server freewheels. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func skip(frames: Int, left: UnsafeMutablePointer<Float>, right: UnsafeMutablePointer<Float>?) {
    var skipped = 0
    while skipped < ReceiveLane.slots, let _ = shared.pointee.queue.front() {
      shared.pointee.queue.release()
      skipped &+= 1
    }
    for frame in 0..<max(0, frames) {
      left[frame] = 0
      if let right { right[frame] = 0 }
    }
  }
}
