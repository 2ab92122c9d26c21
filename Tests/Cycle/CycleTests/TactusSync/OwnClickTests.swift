// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Clicks at the user's own outputs: a drummer's click, for example, may differ from the standard click.
struct OwnClickTests {
  private static func click(
    _ number: UInt32, offset: Micros = .zero, _ change: (inout OutputSettings) -> Void = { _ in }
  )
    -> OutputSlot
  {
    var settings = OutputSettings(.click)
    settings.click?.gain = 1
    change(&settings)
    return OutputSlot(number: number, settings: settings, offset: offset, latency: 256)
  }

  /// The beats and levels of the clicks at this output.
  private func hits(_ studio: Studio, at place: Int) -> [(beat: Double, level: Float)] {
    studio.rackEdges[place].filter { $0.value != 0 }.map { (studio.beat(at: $0.heard), $0.value) }
  }

  @Test func `each click has its own pattern, subdivision, level and latency`() {
    let studio = Studio(tempo: 120)
    studio.latencies[.click1] = 64
    studio.rack = [
      Self.click(1, offset: Micros(7_000)) {
        $0.click?.pattern = Pattern("X..x".utf8)!
        $0.click?.gain = 0.5
      },
      Self.click(2) { $0.click?.subdivision = 4 },
    ]
    studio.play(seconds: 8.2)
    for place in 0..<2 {
      let heard = hits(studio, at: place).map { hit in
        place == 0 ? (beat: hit.beat + 7_000 / 500_000, level: hit.level) : hit
      }
      for hit in heard {
        let exact = hit.beat * (place == 0 ? 1 : 4)
        #expect(abs(exact - exact.rounded()) < 1e-3)
        let beat = Int(exact.rounded())
        if place == 0 {
          #expect(beat % 4 == 0 || beat % 4 == 3)
          #expect(hit.level == (beat % 4 == 0 ? 0.5 : 0.25))
        } else {
          #expect(hit.level == (beat % 16 == 0 ? 1 : beat % 4 == 0 ? 0.5 : 0.25))
        }
      }
      #expect(abs(heard.count - (place == 0 ? 8 : 65)) <= 1)
    }
    // The standard click is unchanged.
    #expect(studio.clicks.map(\.value).allSatisfy { $0 == 1 || $0 == 0.5 } && studio.clicks.count >= 16)
  }

  @Test(arguments: [1, 2, 4] as [Int32])
  func `a drummer's count-in is heard at that port alone, and delays the start`(
    bars: Int32
  )
    throws
  {
    let studio = Studio(tempo: 200)
    studio.asksBeforeRolling = true
    studio.settings.click.when = .rolling
    studio.settings.launch.othersCountIn = bars
    studio.rack = [
      Self.click(1) {
        $0.click?.when = .rolling
        $0.countIn = bars
      }, Self.click(2) { $0.click?.when = .rolling },
    ]
    studio.play(seconds: 1.37)
    studio.transport = Transport(state: .starting, frame: 0)
    while !studio.report.song.isRolling, studio.due < 1e9 + 60e6 { studio.play(256) }
    studio.play(seconds: 2)
    let start = try #require(studio.clicks.first.map { studio.beat(at: $0.heard).rounded() })
    // While the song waits, each click that is switched on is heard. Only a click with its own count-in
    // begins whole bars before the song.
    let drummer = hits(studio, at: 0).map { Int($0.beat.rounded()) }
    let song = Int((studio.report.sessionBeat - studio.report.song.beat).rounded())
    #expect(drummer.first == song - Int(bars) * 4)
    #expect(drummer == Array(drummer[0]..<drummer[0] + drummer.count))
    #expect(hits(studio, at: 1).first.map { Int($0.beat.rounded()) } == song)
    #expect(Int(start) == song)
  }

  @Test func `the sound of a user's own click is kept until it has ended`() {
    let samples = UnsafeMutablePointer<Float>.allocate(capacity: 4800)
    let banks = UnsafeMutablePointer<SoundBank>.allocate(capacity: 4)
    defer {
      samples.deallocate()
      banks.deallocate()
    }
    samples.initialize(repeating: 0.125, count: 4800)
    let long = Sound(UnsafeBufferPointer(start: samples, count: 4800))
    banks.initialize(
      repeating: SoundBank(number: 1, accent: long, beat: long, subdivision: long), count: 4)
    let studio = Studio(tempo: 120)
    studio.settings.click.isOn = false
    studio.bank.builtIn = UnsafePointer(banks)
    studio.rack = [Self.click(1) { $0.click?.sound = .bell }]
    // Half a second ends just after beat 1.
    studio.play(seconds: 0.51)
    #expect(studio.rackEdges[0].filter { $0.value != 0 }.allSatisfy { $0.value == 0.125 })
    studio.bank.number = 2
    studio.bank.builtIn = nil
    studio.play(256)
    #expect(studio.report.outputs.oldestBank == 1)
    studio.play(seconds: 0.2)
    #expect(studio.report.outputs.oldestBank == 2)
  }
}
