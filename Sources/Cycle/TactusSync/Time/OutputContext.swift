// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The part of a cycle's context that our outputs, the user's own outputs and later callbacks use. An
/// `OutputContext` outlives `run`; it is much smaller than a `CycleContext`, which does not.
///
/// The struct has more than 20 properties: outputs share this one context instead of large parts of
/// `CycleContext`.
struct OutputContext: BitwiseCopyable {
  let sampleRate: UInt32
  let transportFrame: UInt32
  let isFreewheeling: Bool
  let isRolling: Bool
  let frameMicros: Double
  /// The number of frames since the last cycle.
  let passed: Int64
  /// The number of the present stretch. A stretch is a row of cycles in which time passes, and nothing else
  /// that outputs depend on changes.
  let stretch: UInt64
  let meter: Meter
  let showsFineTicks: Bool
  let tempo: Double
  /// The tempo after the grid's turn (a planned change of tempo); without a turn, the same as `tempo`.
  let nextTempo: Double
  let song: Song
  /// The bars of the song. `standingBars` are the session's bars that hold while no song plays.
  let bars, standingBars: Bars
  /// The number of equal parts into which a beat is divided, so that all notes of `bars` and of
  /// `standingBars` begin on a part.
  let parts: Int64
  let bank: SoundBank
  /// The times at which the cycle's frames are heard through the physical outputs. `sent` has the times at
  /// which the messages were sent that arrive at the port `control`.
  let heard, sent: FrameLine
  let settingsNumber, clockConnections: UInt32
  let latencies: PerPort<UInt32>
  /// The window of a port without latency and offset. Its times are those at which frames pass through JACK.
  let window: Window
  /// The beat at the end of `window`.
  let endBeat: Double
  /// The microseconds by which the user's bend has put the outputs ahead of the session.
  let ahead: Double
}

extension OutputContext {
  init(
    _ now: borrowing CycleContext, _ window: Window, song: Song, bars: Bars, bank: SoundBank, ahead: Double,
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

  /// The time half a frame after the first frame of the next cycle has passed through JACK.
  var end: Double { window.line.time(atFrame: Double(frames) + 0.5) }

  /// Returns whether only time has passed between this cycle and the next, and nothing that outputs depend on
  /// has changed.
  @inline(__always)
  mutating func isFollowed(
    by now: borrowing CycleContext, _ window: Window, _ song: Song, _ bars: Bars, bank: UInt32, ahead: Double
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

  /// Returns the window of a port that is heard `micros` microseconds later than frames pass through JACK. In
  /// an export, the song's frames decide the times, whatever the port. Timecode follows the transport, so the
  /// user's bend does not move timecode.
  @inline(__always)
  func window(delayedBy micros: Double, isBent: Bool = true) -> Window {
    window.moved(to: isFreewheeling ? heard : window.line.delayed(by: isBent ? micros + ahead : micros))
  }

  @inline(__always)
  func window(of output: inout OutputSlot) -> Window {
    window(
      delayedBy: output.delay(frameMicros: frameMicros), isBent: !output.settings.kind.isTimecode)
  }

  /// The song's bar and beat in the next cycle, which begins at the transport's frame `nextFrame`.
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
}
