// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A received channel: chunks in, an output's frames out, each sample at its beat plus the delay.
///
/// In each period, the audio thread calls `insert` for every chunk that has arrived, then `render`, both with
/// the period's `OutputPeriod`. While the server freewheels, its periods have no true time: then drop the
/// chunks and call neither. Afterwards the playout finds its place again. [audio], except for `init`.
package struct Playout: ~Copyable {
  /// Longest period, in frames.
  package static var mostFrames: Int { @inlinable @_noLocks @_noAllocation get { 8192 } }
  /// Limit of the adaptive delay in microseconds, without the port's latency and two periods. For a worse
  /// network the user must choose a delay.
  static var longestWait: Double { 300_000 }
  /// Microseconds to listen before the first sound, to learn how late chunks come.
  static var listening: Double { 36_000 }

  /// The user's choice; a change takes effect at once, with a crossfade.
  package var delay: PlayoutDelay {
    @_noLocks @_noAllocation get { chosen }
    @_noLocks @_noAllocation set {
      if !newValue.isSame(as: chosen) { isChosenAnew = true }
      chosen = newValue
    }
  }
  package internal(set) var figures = PlayoutFigures()

  let kernel: Kernel
  var ring: Ring
  var tail: FadeOut
  var grids = Grids()
  var lateness = JitterEstimate()
  var candidate: AudioChunk?
  var head = Playhead()
  var concealment = Concealment()
  private var chosen = PlayoutDelay.standard
  var isChosenAnew = false
  /// The delay that `head` uses, in microseconds.
  var delayNow = 0.0
  /// When the next period begins if no cycle is lost.
  var nextStart = 0.0
  /// The last period's peak.
  var peak: Float = 0

  // The stream, while `isOpen`.
  var isOpen = false
  /// Whether the stream has not been played yet.
  var isListening = false
  var journal = Journal()
  var course = StreamClock()
  var past = StreamClockHistory()
  var runs = StampRuns()
  var noise = StampNoise()
  /// The chunk with the newest number.
  var last: AudioChunk?
  var reach = Reach(streamRate: 1, outputRate: 1)
  var outputRate: UInt32 = 0
  var openedAt = 0.0
  var heardOfAt = -Double.infinity
  var lastOffset = 0.0

  /// The bytes of memory for `frames` frames of a stream, which must be the longest delay plus 8192 frames.
  /// The number of frames is rounded up to a power of two, at least 65,536. [any]
  package static func bytes(frames: Int) -> Int { FadeOut.bytes + Ring.bytes(frames: frames) }

  /// `memory` has `bytes(frames:)` bytes, is aligned for floats, and outlives the playout, as does the
  /// kernel's. [any]
  package init(in memory: UnsafeMutableRawPointer, frames: Int, kernel: Kernel) {
    self.kernel = kernel
    tail = FadeOut(in: memory)
    ring = Ring(in: memory + FadeOut.bytes, frames: frames)
  }

  /// Takes over the session's grid and the output's rate; closes the stream of another session.
  mutating func attend(_ hearing: OutputPeriod) {
    let moved = grids.follow(hearing.grid, at: hearing.start)
    guard isOpen, let last else { return }
    if last.session != hearing.grid.session { return close() }
    if moved != 0 { course.shift(by: moved, &past) }
    if hearing.sampleRate != outputRate {
      outputRate = hearing.sampleRate
      reach = Reach(streamRate: last.sampleRate, outputRate: outputRate)
    }
  }

  /// Ends the stream; its sound fades out.
  mutating func close() {
    fadeOut()
    head.stop()
    isOpen = false
    candidate = nil
  }

  /// Renders the next milliseconds of the sound into `tail`, to fade out below the sound that follows.
  mutating func fadeOut() {
    guard isOpen, head.isPlaying, let last else { return }
    let frames = min(FadeOut.frames, Int(outputRate / Playhead.fades))
    let end = head.place + head.step * Double(frames)
    concealment.complete(&ring, to: Int64(flooring: end) + Int64(reach.half) + 2, sampleRate: last.sampleRate)
    let level = head.presentGain
    let from = head
    let (ring, interpolator) = (
      ring, Interpolator(kernel: kernel, reach: reach, isStereo: last.channels == 2)
    )
    tail.begin(frames: frames) { frame in
      let place = from.place + from.step * Double(frame)
      let whole = Int64(flooring: place)
      let fade = level * (1 - Playhead.curve(Float(frame + 1) / Float(frames + 1)))
      return interpolator.value(ring, at: whole, place - Double(whole)) * fade
    }
  }

  /// The place whose beat was at a time before now, by the line as it was then.
  mutating func placeHeard(at time: Double) -> Double {
    past.place(at: time, frameMicros: course.frameMicros) ?? course.place(at: time)
  }

  /// Microseconds before its time at which a frame must have come, because the kernel reads ahead.
  var lookahead: Double { Double(reach.half + 1) * course.frameMicros }

  /// The longest delay that fits into the ring, in microseconds.
  func longestDelay(_ hearing: OutputPeriod) -> Double {
    Double(ring.longestAhead) * course.frameMicros - hearing.micros
  }

  func longestAdaptive(_ hearing: OutputPeriod) -> Double {
    min(longestDelay(hearing), Playout.longestWait + hearing.latencyMicros + 2 * hearing.micros)
  }

  /// The chosen delay in microseconds; an adaptive one is as long as the network needs.
  mutating func delayWanted(_ hearing: OutputPeriod) -> Double {
    let longest = longestDelay(hearing)
    switch delay {
    case .adaptive(let least):
      let needed = lateness.allowance() + hearing.latencyMicros + lookahead + 500
      let most = longestAdaptive(hearing)
      return min(most, max(needed, least >= 0 ? min(least, most) : 0))
    case .fixed(let micros):
      return micros >= 0 ? min(longest, micros) : 0
    case .beats(let beats):
      // Whole beats, even if the ring is too short for all of them.
      let room = Int64(flooring: longest / hearing.grid.beatMicros)
      return Double(max(0, min(Int64(beats), room))) * hearing.grid.beatMicros
    }
  }

  /// Whether the chosen delay is longer than the longest possible one.
  private func isShortened(_ hearing: OutputPeriod) -> Bool {
    let longest = longestDelay(hearing)
    return switch delay {
    case .adaptive(let least): least > longestAdaptive(hearing)
    case .fixed(let micros): micros > longest
    case .beats(let beats): Int64(beats) > Int64(flooring: longest / hearing.grid.beatMicros)
    }
  }

  var isAdaptive: Bool { if case .adaptive = delay { true } else { false } }

  /// Updates `figures`, once a period.
  mutating func tell(
    _ hearing: OutputPeriod, left: UnsafeMutablePointer<Float>, right: UnsafeMutablePointer<Float>?
  ) {
    peak = 0
    for frame in 0..<hearing.frames {
      peak = max(peak, abs(left[frame]))
      if let right { peak = max(peak, abs(right[frame])) }
    }
    let fall = Float(max(0, 1 - 2.3 * hearing.micros / 1e6))
    figures.level = max(peak, figures.level > 1e-6 ? figures.level * fall : 0)
    figures.isReceiving = hearing.start - heardOfAt < 500_000
    figures.isPlaying = isOpen
    figures.concealed = concealment.concealed
    figures.dropouts = concealment.dropouts
    figures.delay = isOpen ? delayNow / 1000 : 0
    figures.isDelayShortened = isOpen && isShortened(hearing)
    figures.senderPPM = isOpen ? course.ppm : 0
    let frames = Double(ring.end) - head.place
    figures.buffered = isOpen && head.isPlaying ? max(0, frames * course.frameMicros / 1000) : 0
  }
}
