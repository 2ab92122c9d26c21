// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Rectangular pulses on an audio port, for modular gear and sync boxes.
struct Pulse: BitwiseCopyable {
  private var pacer = Pacer()
  /// The end of the last pulse, in frames of this buffer. It may lie after the buffer.
  private var end = -Double.infinity
  /// The value of `Song.run` in the last cycle; nil: this gate was off or did not exist.
  private var followedRun: UInt64?
  /// The song's first beat, if its pulse has not been sent yet.
  private var mark: Double?
  private(set) var jitter = Jitter()
  private var beats = SwungBeats()

  /// `marksStart`: the song's start gets a pulse of its own, even if none of the rate's pulses falls on it.
  mutating func render(
    into buffer: AudioBuffer, _ now: inout OutputContext, _ window: Window, _ gate: GateSettings,
    marksStart: Bool = false, _ missed: SkippedCycles
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
    let swung = window.swung(gate.swing, &beats, &now)
    let (count, span) = (gate.count, gate.span)
    let parts = now.parts
    let perBeat = parts &* count
    let length = span &* (gate.rate.isInBars ? now.bars.meter.bar &* parts / ThirtySeconds.perBeat : parts)
    _ = pacer.open(swung, perBeat: perBeat, missed, stride: min(parts, length))
    // A pulse lasts at most two fifths of the spacing, so that pulses still have a gap between them while
    // they catch up.
    let spacing = pacer.spacing(in: swung) * Double(length)
    let wanted = Double(gate.width.count) / 1e6 * Double(now.sampleRate)
    let exact = max(1, min(wanted, 0.4 * spacing))
    let width = gate.isFine ? exact : Double(Int64(rounding: exact))
    if marksStart { markStart(into: buffer, &now, window, gate, width: width) }
    if gate.rate.count > 0 { renderPulses(into: buffer, &now, swung, gate, width: width) }
  }

  private mutating func renderPulses(
    into buffer: AudioBuffer, _ now: inout OutputContext, _ window: Window, _ gate: GateSettings,
    width: Double
  ) {
    let (count, span) = (gate.count, gate.span)
    let parts = now.parts
    let perBeat = parts &* count
    for _ in 0..<Ticker.limit {
      guard let frame = pacer.frame(in: window) else { return }
      let beat = Double(pacer.next) / Double(perBeat)
      let isInSong = now.song.contains(beat: beat, time: window.time(of: beat))
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

  /// The time, as heard at this port, until which the gate's signal does not change. It holds as long as
  /// nothing but time changes.
  func due(in window: Window, _ gate: GateSettings) -> Double {
    if end > -0.5 { return -.infinity }
    guard gate.isOn else { return .infinity }
    let next = pacer.time(in: window)
    return mark.map { min(next, window.grid.time(of: $0)) } ?? next
  }

  /// Returns whether a pulse begins at the boundary `number`. A beat is divided by `parts * count`
  /// boundaries, and `count` pulses are spread evenly over each span of beats or bars.
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
    into buffer: AudioBuffer, _ now: inout OutputContext, _ window: Window, _ gate: GateSettings,
    width: Double
  ) {
    if now.song.run != followedRun {
      // A gate output that appears while the song rolls has missed the song's start and does not mark it.
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

  /// The beat that a pulse marks: normally the song's start. A song that was moved into another session goes
  /// on in the middle of a bar. In that case its next bar line is marked.
  private static func markedBeat(_ now: inout OutputContext, _ window: Window) -> Double {
    guard now.song.isRebased else { return now.song.startBeat }
    let here = now.song.songBeat(of: window.grid.beat(at: window.line.start))
    return now.song.originBeat + ThirtySeconds.beats(now.bars.line(atOrAfter: here))
  }

  /// Fills frames with the pulse. A frame stands for the time from half a frame before it to half a frame
  /// after it, and its value is the share of that time that the pulse covers. Behind a converter's filter,
  /// this puts the edge at its exact place, and it changes only the frame nearest to the edge.
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
  /// The value of a frame between two pulses.
  var rest: Float { isInverted ? level : 0 }

  /// The value of a frame. `high` is the share of the frame that a pulse covers, 0 to 1.
  fileprivate func value(_ high: Double) -> Float {
    level * Float(isInverted ? 1 - high : high)
  }
}

/// A signal that is high from the time at which the song's start is heard through this port until the time at
/// which its stop is heard.
struct RunGate: BitwiseCopyable {
  private var run: UInt64 = 0
  private var isHigh = false
  /// The time, as heard at this port, of the signal's next change. It holds as long as nothing but time
  /// changes.
  private(set) var due = -Double.infinity

  mutating func render(
    into buffer: AudioBuffer, _ now: inout OutputContext, _ window: Window,
    _ gate: GateSettings = GateSettings()
  ) {
    let song = now.song
    let (isSame, wasHigh) = (song.run == run, isHigh)
    run = song.run
    if gate.isInverted { buffer.fill(0..<window.frames, with: gate.level) }
    let startTime = window.grid.time(of: song.startBeat)
    var start = Self.place(of: startTime, in: window)
    var stop = window.frames
    due = start == window.frames ? startTime : .infinity
    // If a correction moves time back over the song's beginning or end, the signal does not change back.
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

  /// The value of every frame until `due`.
  func value(_ gate: GateSettings) -> Float { isHigh != gate.isInverted ? gate.level : 0 }

  private static func place(of time: Double, in window: Window) -> Int {
    Int(min(Int64(window.frames), max(0, Int64(flooring: window.line.frame(at: time) + 0.5))))
  }
}

extension GateSettings {
  /// The number of pulses in `span` beats or bars, at least one.
  fileprivate var count: Int64 { Int64(max(1, rate.count)) }
  /// The number of beats or bars in which `count` pulses come, at least one.
  fileprivate var span: Int64 { Int64(max(1, rate.span)) }
}
