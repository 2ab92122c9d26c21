// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

// Renders a period. Finds the two places in the stream that are heard at the period's first frame and after
// its last frame, and computes the sound between them.

extension Playout {
  /// A stream is over if no chunk comes for this time, in microseconds.
  static var streamTimeout: Double { 2e6 }
  /// In microseconds. If the time between the end of a cycle and the begin of the next is longer, cycles were
  /// lost, and the loss has cut the sound anyway.
  static var lostTime: Double { 400 }
  /// The rates at which the delay grows and shrinks while there is sound. Growth changes the pitch by 3.5
  /// cents, shrinking by 0.9 cents.
  static var growth: Double { 0.002 }
  static var shrinkage: Double { 0.0005 }
  /// The level below which a step in the sound is inaudible; 1 is full scale.
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
      // The period's end is computed as if the line were straight from here on. The playhead then follows the
      // line's bends as fast as `AdaptiveSmoother` allows.
      let micros = hearing.micros + (isMoved ? 0 : before - delayNow)
      let end = first + micros / course.frameMicros
      head.aim(from: first, to: end, frames: hearing.frames, micros: hearing.micros)
      play(hearing, last, left: left, right: right)
    }
    addTail(hearing, left: left, right: right)
    tell(hearing, left: left, right: right)
    nextStart = hearing.start + hearing.micros
  }

  /// Puts the playhead at the place that is due, if it is elsewhere. Returns false as long as the stream is
  /// not played yet.
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

  /// Changes the adaptive delay inaudibly toward the wanted delay. Returns whether the playhead jumped over
  /// silence for this change.
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

  /// Shortens the delay by leaving out silence, if there is silence. Returns whether it did so.
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
