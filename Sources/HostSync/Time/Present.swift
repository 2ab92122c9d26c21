// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Of a cycle what its outputs go by, ours and the user's own, and what is asked behind it: much less than its `Now`, which is gone by
/// then.
struct Present: BitwiseCopyable {
  let sampleRate: UInt32
  let transportFrame: UInt32
  let isFreewheeling: Bool
  let isRolling: Bool
  let frameMicros: Double
  /// Frames since the cycle before.
  let passed: Int64
  /// Counts the stretches of cycles in which all that outputs go by stays, and only time passes.
  let stretch: UInt64
  let meter: Meter
  let showsFineTicks: Bool
  let audio: AudioSettings
  let session: UInt64
  let tempo: Double
  /// The tempo behind the turn of the grid, if there is one.
  let nextTempo: Double
  let song: Song
  /// Of the song, and of the session while nothing plays.
  let bars, standingBars: Bars
  /// So many parts of a beat have the notes of both on their boundaries.
  let parts: Int64
  let bank: SoundBank
  /// When the cycle's frames are heard through the physical outputs, and when what comes in through `control` was sent.
  let heard, sent: FrameLine
  let settingsNumber, clockConnections: UInt32
  let latencies: PerPort<UInt32>
  /// The cycle as it passes through JACK: that of a port without latency and offset.
  let window: Window
  /// Where it ends.
  let endBeat: Double
  /// By how many microseconds the outputs are ahead of the session, bent by hand.
  let ahead: Double
}

extension Present {
  init(
    _ now: borrowing Now, _ window: Window, song: Song, bars: Bars, bank: SoundBank, ahead: Double,
    passed: Int64, stretch: UInt64
  ) {
    sampleRate = now.sampleRate
    transportFrame = now.transport.frame
    isFreewheeling = now.isFreewheeling
    isRolling = now.isRolling
    frameMicros = now.frameMicros
    self.passed = passed
    self.stretch = stretch
    meter = now.settings.meter
    showsFineTicks = now.settings.showsFineTicks
    audio = now.settings.audio
    session = now.session.session
    tempo = now.session.tempo
    nextTempo = now.queued?.tempo?.clamped.beatsPerMinute ?? tempo
    self.song = song
    self.bars = bars
    standingBars = Bars(now.settings.standingMeter)
    parts = max(bars.parts(songFrom: song.origin), standingBars.parts(songFrom: 0))
    self.bank = bank
    heard = now.heard
    sent = now.sent
    settingsNumber = now.settingsNumber
    clockConnections = now.clockConnections
    latencies = now.latencies
    self.window = window
    endBeat = window.endBeat
    self.ahead = ahead
  }

  var frames: Int { window.frames }

  /// When the last of the cycle's frames has passed through JACK, and half of the next.
  var end: Double { window.line.time(atFrame: Double(frames) + 0.5) }

  /// Nothing but time has changed of what outputs go by when this cycle comes behind it.
  @inline(__always)
  mutating func isFollowed(
    by now: borrowing Now, _ window: Window, _ song: Song, _ bars: Bars, bank: UInt32, ahead: Double
  ) -> Bool {
    guard !isFreewheeling, !now.isFreewheeling, !window.isJump, !window.isCut else { return false }
    let moved = isRolling ? UInt32(truncatingIfNeeded: frames) : 0
    guard isRolling == now.isRolling, now.transport.frame == transportFrame &+ moved,
      now.settingsNumber == settingsNumber, now.latencies == latencies, now.sampleRate == sampleRate,
      now.clockConnections == clockConnections
    else { return false }
    return window.grid == self.window.grid && ahead == self.ahead && bank == self.bank.number
      && song.isWhereItWas(self.song) && bars.isSame(as: self.bars)
  }

  /// The cycle at a port that is heard so much later. What is exported lies on the song's frames, whatever its port; and timecode is the
  /// transport's, which nobody bends.
  @inline(__always)
  func window(delayedBy micros: Double, isBent: Bool = true) -> Window {
    window.moved(to: isFreewheeling ? heard : window.line.delayed(by: isBent ? micros + ahead : micros))
  }

  @inline(__always)
  func window(of output: inout OutputSlot) -> Window {
    window(
      delayedBy: output.delay(frameMicros: frameMicros), isBent: !output.settings.kind.isTimecode)
  }

  /// Where the song is in the next cycle, whose frame of the transport this is.
  @inline(__always)
  func bbt(nextFrame: UInt32) -> BBT {
    let next = heard.time(atFrame: Double(frames))
    let beatMicros = window.grid.beatMicros(at: next)
    let there = Song.beats(ofFrame: nextFrame, sampleRate: sampleRate, beatMicros: beatMicros)
    let position = song.position(
      atFrame: nextFrame, meaning: there, beat: window.grid.beat(at: next), grain: meter.grain)
    return BBT(
      song: Beats(position), bars: bars,
      beatsPerMinute: isRolling && next >= window.grid.turnTime ? nextTempo : tempo,
      grace: Beats(Double(frames) * heard.frameMicros / beatMicros), isFine: showsFineTicks)
  }

  @inline(__always)
  var passing: Passing {
    Passing(
      frames: frames, sampleRate: sampleRate, start: window.line.start, frameMicros: frameMicros,
      session: session, origin: window.grid.origin, beatMicros: window.grid.beatMicros,
      isFreewheeling: isFreewheeling, settings: audio, beatsPerBar: meter.length.value)
  }
}
