// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import Testing

@testable import TactusSync

/// A click port with a sound of any length, played into buffers of one size.
final class Speaker {
  private(set) var output: [Float] = []
  private let samples: UnsafeMutablePointer<Float>
  private let buffer: UnsafeMutablePointer<Float>
  private let frames: Int
  var click = Click()
  var settings = Settings()
  var song = Song()
  let sound: Sound
  private let grid: Grid

  /// Beats are `spacing` frames apart; the sound is a constant 1 of `length` frames.
  init(spacing: Int, length: Int, frames: Int) {
    samples = .allocate(capacity: length)
    samples.initialize(repeating: 1, count: length)
    buffer = .allocate(capacity: frames)
    buffer.initialize(repeating: 0, count: frames)
    self.frames = frames
    sound = Sound(UnsafeBufferPointer(start: samples, count: length))
    grid = Grid(origin: 0, beatMicros: Double(spacing) * 1e6 / 48000)
    settings.click.isOn = true
    settings.click.gain = 1
  }

  deinit {
    samples.deallocate()
    buffer.deallocate()
  }

  func play(buffers: Int, from frame: Int? = nil) {
    for _ in 0..<buffers {
      buffer.update(repeating: 0, count: frames)
      let audio = AudioBuffer(buffer, frames: UInt32(frames))
      let line = FrameLine(start: Double(output.count) * 1e6 / 48000, frameMicros: 1e6 / 48000)
      let window = Window(line: line, grid: grid, frames: frames, correction: 0, isJump: false)
      let bank = SoundBank(number: 7, accent: sound, beat: sound, subdivision: sound)
      var now = OutputContext(
        sampleRate: 48000, transportFrame: 0, isFreewheeling: false, isRolling: true,
        frameMicros: line.frameMicros, passed: Int64(frames), stretch: 0, meter: settings.meter,
        showsFineTicks: false, tempo: 120, nextTempo: 120,
        song: song, bars: Bars(settings.meter), standingBars: Bars(settings.meter), parts: 1, bank: bank,
        heard: line,
        sent: line, settingsNumber: 0, clockConnections: 0, latencies: PerPort(repeating: 0), window: window,
        endBeat: 0, ahead: 0)
      click.render(
        into: audio, &now, window, settings.click,
        countIn: settings.countIn(bars: settings.launch.countIn), bank, SkippedCycles(frames: Int64(frames)))
      output += UnsafeBufferPointer(start: buffer, count: frames)
    }
  }

  /// The largest step between two frames.
  func largestStep(in range: Range<Int>) -> Float {
    zip(output[range], output[range].dropFirst()).map { abs($1 - $0) }.max() ?? 0
  }
}

struct VoiceTests {
  @Test func `a click's sound goes on through buffers of any size, complete`() {
    for frames in [1, 16, 63, 64, 1000, 8192] {
      let speaker = Speaker(spacing: 10_000, length: 777, frames: frames)
      speaker.play(buffers: 30_000 / frames)
      let sounding = speaker.output.indices.filter { speaker.output[$0] != 0 }
      let expected = [0, 10_000, 20_000].flatMap { $0..<$0 + 777 }.filter { $0 < speaker.output.count }
      #expect(sounding == expected)
      #expect(speaker.output.allSatisfy { $0 == 0 || $0 == 1 })
    }
  }

  @Test func `click sounds longer than a beat overlap, and none is cut short`() {
    let speaker = Speaker(spacing: 1000, length: 2500, frames: 256)
    speaker.play(buffers: 40)
    // From the third click on, two or three clicks sound at once.
    #expect(speaker.output[2400] == 3 && speaker.output[2600] == 2 && speaker.output[9400] == 3)
    #expect(speaker.output.allSatisfy { $0 == $0.rounded() }, "none is faded")
  }

  @Test func `if too many click sounds overlap, the oldest fades without a step`() {
    let speaker = Speaker(spacing: 2883, length: 200_000, frames: 256)
    speaker.play(buffers: 400)
    // At most sixteen voices sound. A voice that ends fades within 3 ms, so each step upwards is a new voice.
    #expect(speaker.output.max()! <= 16)
    let steps = zip(speaker.output, speaker.output.dropFirst()).map { $1 - $0 }
    #expect(steps.min()! > -0.01)
    #expect(steps.filter { $0 > 0.9 }.count == (speaker.output.count - 1) / 2883, "each begins")
  }

  @Test func `switching a click off fades its sound in 10 ms without a step`() {
    let speaker = Speaker(spacing: 100_000, length: 20_000, frames: 128)
    speaker.play(buffers: 20)
    let frame = speaker.output.count
    speaker.settings.click.isOn = false
    speaker.play(buffers: 10)
    #expect(speaker.largestStep(in: frame - 1..<speaker.output.count) < 0.003)
    #expect(speaker.output[frame + 470] > 0 && speaker.output[frame + 490] == 0)
  }

  @Test func `a click's gain moves smoothly and is bounded`() {
    let speaker = Speaker(spacing: 100_000, length: 20_000, frames: 128)
    speaker.play(buffers: 20)
    let frame = speaker.output.count
    speaker.settings.click.gain = 0.1
    speaker.play(buffers: 10)
    #expect(speaker.largestStep(in: frame - 1..<speaker.output.count) < 0.005)
    #expect(abs(speaker.output[speaker.output.count - 1] - 0.1) < 1e-6)
    for (asked, given) in [(-1, 0), (.nan, 0), (1000, 8), (.infinity, 8)] as [(Float, Float)] {
      speaker.settings.click.gain = asked
      speaker.play(buffers: 20)
      #expect(speaker.output[speaker.output.count - 1] == given)
    }
  }

  @Test func `the number of the oldest sound bank that still sounds is reported`() {
    let speaker = Speaker(spacing: 100_000, length: 1000, frames: 256)
    #expect(speaker.click.oldestBank(9) == 9)
    speaker.play(buffers: 1)
    #expect(speaker.click.oldestBank(9) == 7)
    speaker.play(buffers: 4)
    #expect(speaker.click.oldestBank(9) == 9)
  }

  @Test func `a count-in sounds before the song only if the user has chosen one`() {
    for countIn in [0, 1] as [Int32] {
      let speaker = Speaker(spacing: 1000, length: 1, frames: 100)
      speaker.settings.click.isOn = true
      speaker.settings.click.when = .rolling
      speaker.settings.launch.countIn = countIn
      speaker.play(buffers: 10)
      // The song begins on beat 5; beats 1 to 4 are the count-in.
      speaker.song.arm(startingAt: 5, origin: 5)
      speaker.play(buffers: 60)
      let beats = speaker.output.indices.filter { speaker.output[$0] != 0 }.map { $0 / 1000 }
      #expect(beats == (countIn > 0 ? [1, 2, 3, 4, 5, 6] : [5, 6]))
    }
  }
}
