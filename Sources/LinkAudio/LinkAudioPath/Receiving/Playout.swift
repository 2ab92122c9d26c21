// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Plays a received channel: takes its chunks, and fills the frames of an output. Each sample is played at
/// its beat plus the delay.
///
/// In each period, the audio thread calls `insert` for every chunk that has arrived, then `render`, both with
/// the period's `OutputPeriod`. While the server freewheels, its periods have no true time: then drop the
/// chunks and call neither function. After the freewheel the playout finds its place in the stream again. All
/// functions but `init` are for the audio thread.
///
/// More than 20 properties: the ring of samples, the line that the sender follows, and the state of gaps and
/// figures.
package struct Playout: ~Copyable {
  /// The most frames in a period.
  package static var mostFrames: Int { @inlinable @_noLocks @_noAllocation get { 8192 } }
  /// The longest adaptive delay in microseconds, to which the port's latency and two periods are added. For a
  /// worse network the user must choose a delay.
  static var longestWait: Double { 300_000 }
  /// The time in microseconds from a stream's first chunk to its first sound. During this time we learn how
  /// late chunks come.
  static var listening: Double { 36_000 }

  /// The delay that the user chose. A change takes effect at once, with a crossfade.
  package var delay: PlayoutDelay {
    @_noLocks @_noAllocation get { chosen }
    @_noLocks @_noAllocation set {
      if !(newValue == chosen) { isChosenAnew = true }
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
  /// The delay with which `head` plays now, in microseconds.
  var delayNow = 0.0
  /// The host time at which the next period begins if no cycle is lost, in microseconds.
  var nextStart = 0.0
  /// The highest absolute sample of the last period.
  var peak: Float = 0

  // The state of the present stream. It is valid while `isOpen` is true.
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

  /// The bytes of memory for `frames` frames of a stream: the frames of the longest delay, plus 8192. The
  /// number of frames is rounded up to a power of two, at least 65,536. [any]
  package static func bytes(frames: Int) -> Int { FadeOut.bytes + Ring.bytes(frames: frames) }

  /// Makes a playout without a stream. `memory` must have `bytes(frames:)` bytes and be aligned for floats.
  /// This memory and the kernel's memory must outlive the playout. [any]
  package init(in memory: UnsafeMutableRawPointer, frames: Int, kernel: Kernel) {
    self.kernel = kernel
    tail = FadeOut(in: memory)
    ring = Ring(in: memory + FadeOut.bytes, frames: frames)
  }

  /// Takes over the session's grid and the output's sample rate. Closes the stream if it belongs to another
  /// session.
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

  /// Ends the stream, whose sound fades out.
  mutating func close() {
    fadeOut()
    head.stop()
    isOpen = false
    candidate = nil
  }

  /// Renders the next milliseconds of the present sound into `tail`, which fades out while the sound that
  /// follows fades in.
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

  /// The place whose beat was at `time`. A past time is looked up in the line as it was at that time.
  mutating func placeHeard(at time: Double) -> Double {
    past.place(at: time, frameMicros: course.frameMicros) ?? course.place(at: time)
  }

  /// A frame must have come this many microseconds before its time, because the interpolator reads frames
  /// ahead.
  var lookahead: Double { Double(reach.half + 1) * course.frameMicros }

  /// The longest delay for which the ring has room, in microseconds.
  func longestDelay(_ hearing: OutputPeriod) -> Double {
    Double(ring.longestAhead) * course.frameMicros - hearing.micros
  }

  func longestAdaptive(_ hearing: OutputPeriod) -> Double {
    min(longestDelay(hearing), Playout.longestWait + hearing.latencyMicros + 2 * hearing.micros)
  }

  /// The delay that the user chose, in microseconds. An adaptive delay is as long as the network makes
  /// necessary.
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
      // If the ring is too short for all the beats, the delay is as many whole beats as fit.
      let room = Int64(flooring: longest / hearing.grid.beatMicros)
      return Double(max(0, min(Int64(beats), room))) * hearing.grid.beatMicros
    }
  }

  /// Whether the chosen delay is longer than the longest possible delay.
  private func isShortened(_ hearing: OutputPeriod) -> Bool {
    let longest = longestDelay(hearing)
    return switch delay {
    case .adaptive(let least): least > longestAdaptive(hearing)
    case .fixed(let micros): micros > longest
    case .beats(let beats): Int64(beats) > Int64(flooring: longest / hearing.grid.beatMicros)
    }
  }

  var isAdaptive: Bool { if case .adaptive = delay { true } else { false } }

  /// Updates `figures`; called once in each period.
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
