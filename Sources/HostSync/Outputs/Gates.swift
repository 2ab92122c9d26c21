// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Rectangular pulses on an audio port, for modular gear and sync boxes.
struct Pulse: BitwiseCopyable {
  private var pacer = Pacer()
  /// Where the last pulse ends, in this buffer or behind it.
  private var end = -Double.infinity
  /// The song's run in the last cycle; nil: this gate was off, or not there.
  private var followedRun: UInt64?
  /// Where the song starts, if that is to be marked and was not yet.
  private var mark: Double?
  private(set) var jitter = Jitter()

  /// `marksStart`: a pulse at the song's start, too, wherever that is.
  mutating func render(
    into buffer: AudioBuffer, _ now: inout Present, _ window: Window, _ gate: GateSettings,
    marksStart: Bool = false, _ missed: Missed
  ) {
    jitter.age(by: missed.frames)
    if gate.rest != 0 { buffer.fill(0..<window.frames, with: gate.rest) }
    let last = end
    end = -.infinity
    if last > -0.5 { fill(from: -0.5, to: last, of: buffer, window, gate) }
    guard gate.isOn else {
      pacer = Pacer()
      (followedRun, mark) = (nil, nil)
      return
    }
    let count = Int64(max(1, gate.rate.count))
    let span = Int64(max(1, gate.rate.span))
    let parts = now.parts
    let perBeat = parts &* count
    let length = span &* (gate.rate.isInBars ? now.bars.meter.bar &* parts / ThirtySeconds.perBeat : parts)
    _ = pacer.open(window, perBeat: perBeat, missed, stride: min(parts, length))
    // Two fifths, so that pulses that are catching up still have a gap between them.
    let spacing = pacer.spacing(in: window) * Double(length)
    let wanted = Double(gate.width.count) / 1e6 * Double(now.sampleRate)
    let exact = max(1, min(wanted, 0.4 * spacing))
    let width = gate.isFine ? exact : Double(Int64(rounding: exact))
    if marksStart { markStart(into: buffer, &now, window, gate, width: width) }
    guard gate.rate.count > 0 else { return }
    for _ in 0..<Ticker.limit {
      guard let frame = pacer.frame(in: window) else { return }
      let beat = Double(pacer.next) / Double(perBeat)
      let isInSong = now.song.contains(beat: beat, time: window.grid.time(of: beat))
      let countsSong = isInSong || now.song.isWaiting
      let number = pacer.next &- (countsSong ? now.song.boundary(perBeat: perBeat) : 0)
      let isWanted =
        (isInSong || gate.when == .always)
        && Self.isDue(
          number, count, parts: parts, span,
          inBars: gate.rate.isInBars ? countsSong ? now.bars : now.standingBars : nil)
      guard isWanted else {
        pacer.pass()
        continue
      }
      let place = gate.isFine ? pacer.place(in: window) : Double(frame)
      jitter.count(framesOff: abs(place - pacer.exactPlace(in: window)), window)
      let start = gate.isFine ? place : place - 0.5
      pacer.use(in: window)
      fill(from: start, to: start + width, of: buffer, window, gate)
    }
  }

  /// When there is something to do again, heard through its port, if all but time stays as it is.
  func due(in window: Window, _ gate: GateSettings) -> Double {
    if end > -0.5 { return -.infinity }
    guard gate.isOn else { return .infinity }
    let next = pacer.time(in: window)
    return mark.map { min(next, window.grid.time(of: $0)) } ?? next
  }

  /// Whether one of `parts` times `count` in a beat is one of `count` in each span of beats, or of bars.
  private static func isDue(_ number: Int64, _ count: Int64, parts: Int64, _ span: Int64, inBars bars: Bars?)
    -> Bool
  {
    guard let bars else { return Ticker.floorRemainder(number, span &* parts) == 0 }
    let part = Ticker.floorDivide(number, count)
    let length = ThirtySeconds.perBeat / parts
    let here = bars.place(of: part &* length, inBars: span)
    return (here.place / length &* count &+ (number &- part &* count)) % (here.length / length) == 0
  }

  private mutating func markStart(
    into buffer: AudioBuffer, _ now: inout Present, _ window: Window, _ gate: GateSettings, width: Double
  ) {
    if now.song.run != followedRun {
      // A gate that comes while the song rolls has missed its start: it has no part in it.
      let isMissed = followedRun == nil && window.frame(of: now.song.startBeat) < -0.5
      followedRun = now.song.run
      mark = !isMissed && (now.song.isRolling || now.song.isWaiting) ? Self.markedBeat(&now, window) : nil
    }
    guard let start = mark else { return }
    let place = max(-0.5, window.frame(of: start))
    let frame = Window.nearest(place)
    guard frame < window.frames else { return }
    mark = nil
    let first = gate.isFine ? place : Double(frame) - 0.5
    fill(from: first, to: first + width, of: buffer, window, gate)
  }

  /// Where the song starts. In another session it goes on in the middle of a bar: then where its next bar starts.
  private static func markedBeat(_ now: inout Present, _ window: Window) -> Double {
    guard now.song.isRebased else { return now.song.startBeat }
    let here = now.song.songBeat(of: window.grid.beat(at: window.line.start))
    return now.song.originBeat + ThirtySeconds.beats(now.bars.line(atOrAfter: here))
  }

  /// A frame stands for the time from half a frame before it to half a frame behind it, and has the share of the pulse that falls
  /// into that. A filter, so that behind a converter the edge is where it belongs, and one that needs no frame but the nearest.
  private mutating func fill(
    from start: Double, to end: Double, of buffer: AudioBuffer, _ window: Window, _ gate: GateSettings
  ) {
    let first = Window.nearest(start)
    let last = Window.nearest(end)
    buffer.fill(first + 1..<max(first + 1, last), with: gate.value(1))
    buffer.fill(first..<first + 1, with: gate.value(min(Double(first) + 0.5, end) - start))
    let rest = end - (Double(last) - 0.5)
    if last > first, rest > 0 { buffer.fill(last..<last + 1, with: gate.value(rest)) }
    self.end = end - Double(window.frames)
  }
}

extension GateSettings {
  /// What it is between pulses.
  var rest: Float { isInverted ? level : 0 }

  /// The level, `high` of 1 on the way from rest to the pulse.
  fileprivate func value(_ high: Double) -> Float {
    level * Float(isInverted ? 1 - high : high)
  }
}

/// High while the song plays, as heard through its own port.
struct RunGate: BitwiseCopyable {
  private var run: UInt64 = 0
  private var isHigh = false
  /// When it changes next, heard through its port, if all but time stays as it is.
  private(set) var due = -Double.infinity

  mutating func render(
    into buffer: AudioBuffer, _ now: inout Present, _ window: Window, _ gate: GateSettings = GateSettings()
  ) {
    let song = now.song
    let (isSame, wasHigh) = (song.run == run, isHigh)
    run = song.run
    if gate.isInverted { buffer.fill(0..<window.frames, with: gate.level) }
    let startTime = window.grid.time(of: song.startBeat)
    var start = Self.place(of: startTime, in: window)
    var stop = window.frames
    due = start == window.frames ? startTime : .infinity
    // When time moves back over the song's beginning or end, that is not taken back.
    switch song.phase {
    case .rolling, .waiting:
      if isSame, wasHigh { start = 0 }
    case .stopped:
      stop = isSame && !wasHigh ? 0 : Self.place(of: song.stopTime, in: window)
      if stop == window.frames { due = min(due, song.stopTime) }
    }
    if start < stop { buffer.fill(start..<stop, with: gate.isInverted ? 0 : gate.level) }
    isHigh = start < stop && stop == window.frames
  }

  /// What it is until then.
  func value(_ gate: GateSettings) -> Float { isHigh != gate.isInverted ? gate.level : 0 }

  private static func place(of time: Double, in window: Window) -> Int {
    Int(min(Int64(window.frames), max(0, Int64(flooring: window.line.frame(at: time) + 0.5))))
  }
}
