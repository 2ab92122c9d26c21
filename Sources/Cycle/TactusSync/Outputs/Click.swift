// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The click of one port. It computes the frame of each click with the latency of this port.
struct Click: BitwiseCopyable {
  private var ticker = Ticker()
  private var voices = Voices()
  private var gain: Float = 0
  private var wasOn = false
  /// The time at which the last click was heard. After a jump of the session, a click that would follow right
  /// after the last one is left out.
  private var lastTime = -Double.infinity
  /// Whether the ticker has begun a new count of its boundaries (the places of clicks), and no click has
  /// sounded since then.
  private var isAfterJump = false
  private var beats = SwungBeats()

  mutating func oldestBank(_ present: UInt32) -> UInt32 { voices.oldestBank(present) }

  mutating func render(
    into buffer: AudioBuffer, _ now: inout OutputContext, _ window: Window, _ click: ClickSettings,
    countIn: Beats, _ bank: SoundBank, _ missed: SkippedCycles
  ) {
    let (song, bars, parts) = (now.song, now.bars, now.parts)
    let window = window.swung(click.swing, &beats, &now)
    let millisecond = Float(now.sampleRate) / 1000
    let wanted = click.gain > 0 ? min(8, click.gain) : 0
    let wasSilent = voices.isSilent
    if wasSilent { gain = wanted }
    var hasBegun = false
    let isOn = isWanted(click, countIn, song: song)
    if wasOn && !isOn { voices.fadeAll(frames: 10 * millisecond) }
    wasOn = isOn
    voices.play(into: buffer)
    let each = Int64(min(8, max(1, click.subdivision)))
    let perBeat = parts &* each
    if ticker.open(window, perBeat: perBeat, whole: each, missed) { isAfterJump = true }
    if window.isCut { lastTime = -.infinity }
    while let tick = ticker.next(in: window) {
      let beat = Double(tick.number) / Double(perBeat)
      let time = window.time(of: beat)
      guard isDue(beat: beat, time: time, click, countIn, song: song) else { continue }
      let isInSong = song.contains(beat: beat, time: time) || song.isWaiting
      let accent = Self.accent(
        of: tick.number &- (isInSong ? song.boundary(perBeat: perBeat) : 0), each: each, parts: parts,
        bars: isInSong ? bars : now.standingBars, click.pattern)
      guard let accent else { continue }
      // The first click after a jump is left out if it comes within a quarter of a beat after the last click:
      // it would sound like a repetition.
      if isAfterJump && time - lastTime < window.grid.beatMicros / 4 { continue }
      isAfterJump = false
      if case .silent = accent { continue }
      voices.begin(
        bank.sound(for: accent), bank: bank.number, into: buffer, at: tick.frame, fade: 3 * millisecond)
      hasBegun = true
      lastTime = time
    }
    if !wasSilent || hasBegun { scale(buffer, to: wanted, millisecond: millisecond) }
  }

  /// The time, as heard at this port, until which the click has nothing to render. It holds as long as
  /// nothing but time changes.
  func due(in window: Window) -> Double { voices.isSilent ? ticker.time(in: window) : -.infinity }

  /// Returns whether any click may sound in this cycle. When this becomes false, the voices fade.
  private func isWanted(_ click: ClickSettings, _ countIn: Beats, song: Song) -> Bool {
    click.isOn && (click.when == .always || song.isRolling)
      || song.isWaiting && (click.isOn || countIn > .zero)
  }

  /// Returns whether a click at this beat is to sound. The count-in is a separate choice, so it sounds even
  /// if the click is off.
  private func isDue(
    beat: Double, time: Double, _ click: ClickSettings, _ countIn: Beats, song: Song
  ) -> Bool {
    if click.isOn, click.when == .always || song.contains(beat: beat, time: time) { return true }
    return song.isWaiting && beat < song.startBeat && beat > song.startBeat - countIn.value - 1e-6
  }

  /// The accent of the click at `tick`; nil: there is no click at this tick. `tick` and `bars` count from the
  /// song's first beat, or without a song from the session's beat 0. A beat has `parts * each` ticks, and a
  /// note of the meter has `each` clicks.
  private static func accent(
    of tick: Int64, each: Int64, parts: Int64, bars: Bars, _ pattern: Pattern
  ) -> Accent? {
    let part = Ticker.floorDivide(tick, each)
    // Dividing by `length` turns 32nds into parts of a beat.
    let length = ThirtySeconds.perBeat / parts
    let here = part &* length
    let place = bars.place(of: here)
    let inNote = place.rest / length &* each &+ (tick &- part &* each)
    let spacing = bars.meter(at: here).note / length
    guard inNote % spacing == 0 else { return nil }
    let slot = place.note &* each &+ inNote / spacing
    if pattern.count > 0 { return pattern[slot] }
    if slot == 0 { return .accent }
    return slot % each == 0 ? .beat : .subdivision
  }

  /// Moves the gain towards the user's value, by at most 1 in 5 ms. A faster change of the gain would itself
  /// sound like a click.
  private mutating func scale(_ buffer: AudioBuffer, to target: Float, millisecond: Float) {
    guard let output = buffer.start else { return }
    if gain == target {
      for index in 0..<buffer.count { output[index] *= gain }
      return
    }
    let step = 1 / (5 * max(1, millisecond))
    for index in 0..<buffer.count {
      gain = gain < target ? min(target, gain + step) : max(target, gain - step)
      output[index] *= gain
    }
  }
}
