// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

// Renders a period: finds the places that are heard at its first frame and after its last, and interpolates
// between.

extension Playout {
  /// A stream is over if no chunk comes for this time, in microseconds.
  static var streamTimeout: Double { 2e6 }
  /// If a cycle begins this much later than the last one ended, in microseconds, cycles were lost, and the
  /// sound was cut anyway.
  static var lostTime: Double { 400 }
  /// Rates at which the delay grows and shrinks while something sounds: 3.5 and 0.9 cents.
  static var growth: Double { 0.002 }
  static var shrinkage: Double { 0.0005 }
  /// Level below which a step is inaudible.
  static var silence: Float { 0.0005 }
  /// The largest part of the delay that is left out in one silent period, in microseconds.
  static var longestSkip: Double { 20_000 }

  /// Fills an output's period. If `right` is nil, `left` gets the mean of both channels. A mono stream fills
  /// both. [audio]
  #if APART
    // If files are compiled one by one, the compiler cannot check calls into others; our own builds check
    // them.
    @_semantics("no_performance_analysis")
  #else
    @_noLocks @_noAllocation
  #endif
  package mutating func render(
    _ hearing: OutputPeriod, left: UnsafeMutablePointer<Float>, right: UnsafeMutablePointer<Float>?
  ) {
    guard hearing.frames > 0, hearing.frames <= Self.mostFrames else { return }
    left.update(repeating: 0, count: hearing.frames)
    right?.update(repeating: 0, count: hearing.frames)
    guard hearing.isUsable else { return }
    attend(hearing)
    if isOpen && hearing.start - heardOfAt > Self.streamTimeout + delayNow { close() }
    if isOpen, let last, isSeated(hearing) {
      let seat = placeHeard(at: hearing.heard - delayNow)
      let before = delayNow
      let isMoved = changeDelay(hearing)
      let first = isMoved ? head.place : seat
      // Aims straight on: the playhead follows the line's bends by itself, as fast as `AdaptiveSmoother`
      // allows.
      let micros = hearing.micros + (isMoved ? 0 : before - delayNow)
      let end = first + micros / course.frameMicros
      head.aim(from: first, to: end, frames: hearing.frames, micros: hearing.micros)
      play(hearing, last, left: left, right: right)
    }
    addTail(hearing, left: left, right: right)
    tell(hearing, left: left, right: right)
    nextStart = hearing.start + hearing.micros
  }

  /// Puts the playhead at its place, if it is not there. Returns false while the stream is not played yet.
  private mutating func isSeated(_ hearing: OutputPeriod) -> Bool {
    if isListening {
      if isAdaptive && hearing.start - openedAt < Playout.listening { return false }
      isListening = false
      isChosenAnew = true
    }
    if isChosenAnew || !isAdaptive { delayNow = delayWanted(hearing) }
    isChosenAnew = false
    let place = placeHeard(at: hearing.heard - delayNow)
    let isCut = abs(hearing.start - nextStart) > Self.lostTime
    if head.isPlaying {
      if abs(head.place - place) * course.frameMicros <= Playhead.farthest && !isCut { return true }
      fadeOut()
      figures.reseats &+= 1
    }
    sit(at: place)
    return true
  }

  private mutating func sit(at place: Double) {
    head.sit(at: place, sampleRate: outputRate)
    concealment.restart(at: Int64(flooring: place) - Int64(reach.half) + 1)
  }

  /// Moves the adaptive delay inaudibly toward the wanted one. Returns whether the playhead was moved for it.
  private mutating func changeDelay(_ hearing: OutputPeriod) -> Bool {
    guard isAdaptive else { return false }
    let wanted = delayWanted(hearing)
    if wanted > delayNow {
      delayNow = min(wanted, delayNow + hearing.micros * Self.growth)
    } else if wanted < delayNow - 500 {
      if skipSilence(to: wanted, hearing) { return true }
      delayNow = max(wanted, delayNow - hearing.micros * Self.shrinkage)
    }
    return false
  }

  /// Shortens the delay by leaving out silence.
  private mutating func skipSilence(to wanted: Double, _ hearing: OutputPeriod) -> Bool {
    guard peak < Self.silence, !tail.isSounding else { return false }
    let next = max(wanted, delayNow - Self.longestSkip)
    let place = placeHeard(at: hearing.heard - next)
    let end = Int64(flooring: place + hearing.micros / course.frameMicros) + Int64(reach.half) + 2
    guard ring.isSilent(Int64(flooring: head.place)..<end, below: Self.silence) else { return false }
    delayNow = next
    sit(at: place)
    return true
  }

  private mutating func play(
    _ hearing: OutputPeriod, _ chunk: AudioChunk, left: UnsafeMutablePointer<Float>,
    right: UnsafeMutablePointer<Float>?
  ) {
    let interpolator = Interpolator(kernel: kernel, reach: reach, isStereo: chunk.channels == 2)
    let base = Int64(flooring: head.place)
    let start = head.place - Double(base)
    let end = base + Int64(flooring: start + head.step * Double(hearing.frames))
    concealment.complete(&ring, to: end + Int64(reach.half) + 2, sampleRate: chunk.sampleRate)
    for frame in 0..<hearing.frames {
      let offset = start + head.step * Double(frame)
      let whole = Int64(saturating: offset)
      let value = interpolator.value(ring, at: base + whole, offset - Double(whole)) * head.gain()
      if let right {
        left[frame] = value.x
        right[frame] = value.y
      } else {
        left[frame] = (value.x + value.y) / 2
      }
    }
    head.advance(frames: hearing.frames)
  }

  private mutating func addTail(
    _ hearing: OutputPeriod, left: UnsafeMutablePointer<Float>, right: UnsafeMutablePointer<Float>?
  ) {
    var frame = 0
    while tail.isSounding && frame < hearing.frames {
      let value = tail.advance()
      if let right {
        left[frame] += value.x
        right[frame] += value.y
      } else {
        left[frame] += (value.x + value.y) / 2
      }
      frame += 1
    }
  }
}
