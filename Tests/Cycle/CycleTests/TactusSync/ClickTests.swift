// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

struct ClickTests {
  @Test(arguments: [20, 60, 97, 120, 187.3, 999])
  func `every click is at the frame nearest to its beat`(tempo: Double) {
    let setUps: [(UInt32, UInt32)] = [
      (16, 8000), (64, 44100), (100, 22050), (256, 48000), (1024, 96000), (8192, 44100), (8192, 192_000),
    ]
    for (frames, rate) in setUps {
      let studio = Studio(sampleRate: rate, tempo: tempo)
      studio.latencies[.click1] = 3 * frames + 17
      studio.play(seconds: max(0.3, 150 / tempo), frames: frames)
      let grid = Grid(studio.timeline)
      #expect(studio.clicks.count >= 2)
      let first = grid.beat(at: studio.clicks[0].heard).rounded()
      for (index, click) in studio.clicks.enumerated() {
        let number = grid.beat(at: click.heard).rounded()
        // The driver's times are whole microseconds, and a click is at the nearest frame.
        #expect(abs(click.heard - grid.time(of: number)) <= studio.microsPerFrame / 2 + 1.1)
        #expect(number == first + Double(index))
        #expect(click.value == (Int(number) % 4 == 0 ? 1 : 0.5))
      }
    }
  }

  @Test func `click subdivisions and patterns begin again at each bar line`() throws {
    let studio = Studio(tempo: 120)
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.settings.click.subdivision = 2
    studio.play(seconds: 2.9)
    #expect(studio.clicks.map(\.value) == [1, 0.25, 0.5, 0.25, 0.5, 0.25, 1, 0.25, 0.5, 0.25, 0.5, 0.25])
    studio.settings.click.pattern = try #require(Pattern("X..x.".utf8))
    studio.play(seconds: 3)
    // A bar has six places. The pattern of five letters begins anew at every bar line, so a bar is X..x.X
    #expect(studio.clicks.dropFirst(12).map(\.value) == [1, 0.5, 1, 1, 0.5, 1])
  }

  @Test func `changing the click's subdivision neither doubles nor loses a beat`() {
    let studio = Studio(tempo: 130, seed: 3)
    var dice = Dice(seed: 11)
    for _ in 0..<400 {
      studio.settings.click.subdivision = Int32.random(in: 1...8, using: &dice)
      studio.play(seconds: Double.random(in: 0.01...0.3, using: &dice), frames: 128)
    }
    expectOneClickPerBeat(studio)
  }

  /// Computes the beat number of each click, accented or not, from its heard time. Expects each number to be
  /// one more than the number before.
  private func expectOneClickPerBeat(_ studio: Studio) {
    let grid = Grid(studio.timeline)
    let numbers = studio.clicks.filter { $0.value >= 0.5 }.map { grid.beat(at: $0.heard).rounded() }
    for (earlier, later) in zip(numbers, numbers.dropFirst()) { #expect(later == earlier + 1) }
    #expect(numbers.count > 50)
  }

  @Test func `a clock correction of 2 ms never doubles or loses a click`() {
    // Corrects the clock in both directions, at times around a beat that are a quarter of a millisecond
    // apart.
    for step in -16...16 {
      for correction in [-2000, 2000] as [Int64] {
        let studio = Studio(sampleRate: 8000, tempo: 120)
        studio.play(seconds: 1.5 + Double(step) / 4000, frames: 2)
        studio.timeline.timeOrigin = studio.timeline.timeOrigin + Micros(correction)
        studio.play(seconds: 1, frames: 16)
        studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(correction)
        studio.play(seconds: 1, frames: 16)
        let numbers = studio.clicks.map { (studio.beat(at: $0.heard)).rounded() }
        #expect(numbers == (0..<numbers.count).map { Double($0) }, "step \(step), correction \(correction)")
        #expect(numbers.count == 7 || numbers.count == 8)
      }
    }
  }

  @Test func `a tempo change at any place of a beat never doubles or loses a click`() {
    for (from, to) in [(120, 60), (60, 120), (120, 187.3), (100, 101)] as [(Double, Double)] {
      for place in stride(from: 0.0, to: 1.0, by: 1.0 / 64) {
        let studio = Studio(sampleRate: 8000, tempo: from)
        studio.latencies[.click1] = 85
        studio.play(seconds: (2 + place) * 60 / from, frames: 16)
        studio.setTempo(to)
        studio.play(seconds: 4 * 60 / to, frames: 16)
        let last = studio.report.sessionBeat
        // Beat 0 was over before its click could be heard.
        #expect(studio.clicks.map(\.value) == (1...studio.clicks.count).map { $0 % 4 == 0 ? 1 : 0.5 })
        let expected = Int((last + 1).rounded(.down))
        #expect(abs(studio.clicks.count - expected) <= 1, "\(from) to \(to) at \(place)")
      }
    }
  }

  @Test func `a peer's late tempo change still gives one click per beat`() {
    // The change takes effect 50 ms before we learn of it, and our output is sent 30 ms early, so the beat
    // jumps by 80 ms.
    for place in stride(from: 0.0, to: 1.0, by: 1.0 / 32) {
      for (from, to) in [(90, 160), (160, 90)] as [(Double, Double)] {
        let studio = Studio(sampleRate: 8000, tempo: from)
        studio.latencies[.click1] = 240
        studio.play(seconds: (3 + place) * 60 / from, frames: 32)
        let heard = studio.due - 50_000
        studio.setTempo(to, at: heard)
        studio.play(seconds: 4 * 60 / to, frames: 32)
        // Beat 0 was over before its click could be heard.
        #expect(studio.clicks.map(\.value) == (1...studio.clicks.count).map { $0 % 4 == 0 ? 1 : 0.5 })
      }
    }
  }

  @Test func `if a beat's and subdivisions' clicks are late, the beat's is heard`() {
    for place in stride(from: 0.0, to: 1.0, by: 1.0 / 32) {
      let studio = Studio(sampleRate: 8000, tempo: 90)
      studio.settings.click.subdivision = 8
      studio.play(seconds: (3 + place) * 60 / 90, frames: 32)
      studio.setTempo(180, at: studio.due - 120_000)
      studio.play(seconds: 4 * 60 / 180, frames: 32)
      let beats = studio.clicks.map(\.value).filter { $0 >= 0.5 }
      #expect(beats == (0..<beats.count).map { $0 % 4 == 0 ? 1 : 0.5 })
      #expect(beats.count == Int(studio.report.sessionBeat + 1.01))
    }
  }

  @Test func `after we join a session, each of its beats has one click`() {
    for place in stride(from: 0.0, to: 1.0, by: 1.0 / 16) {
      let studio = Studio(tempo: 120)
      studio.play(seconds: 4, frames: 256)
      let before = studio.clicks.count
      // The other session's beat number is some hundred greater, and its beats and bars fall at other times.
      studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(Int64((613 + place) * 500_000))
      studio.play(seconds: 4, frames: 256)
      let grid = Grid(studio.timeline)
      let after = studio.clicks.dropFirst(before)
      #expect(after.count == 7 || after.count == 8 || after.count == 9)
      for click in after {
        let beat = grid.beat(at: click.heard)
        #expect(abs(beat - beat.rounded()) < 0.001)
        #expect(click.value == (Int(beat.rounded()) % 4 == 0 ? 1 : 0.5))
      }
      let times = studio.clicks.map(\.heard)
      for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier > 120_000) }
    }
  }

  @Test func `if a jump puts a beat just after the last click, it has no click`() {
    // Beat 8 is at 4 s. At 4.01 s the session's beat jumps, so the next beat is up to a whole beat away.
    for place in stride(from: 0.0, to: 1.0, by: 1.0 / 32) {
      let studio = Studio(tempo: 120)
      studio.play(seconds: 4.01, frames: 256)
      studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(Int64((613 + place) * 500_000))
      studio.play(seconds: 2, frames: 256)
      let times = studio.clicks.map(\.heard)
      for (earlier, later) in zip(times, times.dropFirst()) {
        #expect(later - earlier > 120_000 && later - earlier < 630_000, "\(place)")
      }
    }
  }

  @Test func `after the driver stalls, later clicks are on the beat`() {
    for stall in [20, 60, 250, 700, 3000] as [Double] {
      let studio = Studio(tempo: 240, seed: 1)
      studio.play(seconds: 3)
      let before = studio.clicks.count
      studio.play(256, stall: stall * 1000)
      studio.play(256)
      let ignored = studio.clicks.count
      studio.play(seconds: 5)
      #expect(studio.clicks.count > before + 15)
      let grid = Grid(studio.timeline)
      for click in studio.clicks[ignored...] {
        let beat = grid.beat(at: click.heard)
        #expect(abs(beat - beat.rounded()) * grid.beatMicros < 500)
      }
    }
  }

  @Test func `a port with a positive offset gets its clicks earlier`() {
    let studio = Studio(tempo: 120)
    studio.settings.offsets[.click1] = Micros(10_000)
    studio.play(seconds: 3)
    let grid = Grid(studio.timeline)
    for click in studio.clicks {
      let beat = grid.beat(at: click.heard + 10_000)
      #expect(abs(beat - beat.rounded()) * grid.beatMicros < 12)
    }
    #expect(studio.clicks.count == 5 || studio.clicks.count == 6)
  }

  @Test func `a click set to run while rolling sounds only in the song`() {
    let studio = Studio(tempo: 120)
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.play(seconds: 2.75)
    #expect(studio.clicks.isEmpty)
    // The session is at beat 5.5. A start from frame 0 is rounded to the session's nearest beat, on which the
    // song's beat 0 then falls.
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 2)
    #expect(studio.clicks.map(\.value) == [1, 0.5, 0.5, 0.5])
    studio.transport.state = .stopped
    studio.play(seconds: 2)
    #expect(studio.clicks.count == 4)
  }

  @Test func `a locate of the rolling transport lands in phase with the session`() {
    let studio = Studio(tempo: 120)
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.transport.state = .rolling
    studio.play(seconds: 3.1)
    // The locate goes to the song's beat 10.6 (5.3 s at 120 BPM).
    studio.transport.frame = 254_400
    let before = studio.clicks.count
    studio.play(seconds: 2)
    let grid = Grid(studio.timeline)
    for click in studio.clicks {
      #expect(abs(grid.beat(at: click.heard) - grid.beat(at: click.heard).rounded()) < 0.001)
    }
    // The locate comes at session beat 6.2, which becomes song beat 10.2: this is the beat nearest to 10.6
    // that is in phase. Song beats 11, 12 (a bar line), 13 and 14 follow.
    #expect(studio.clicks.dropFirst(before).map(\.value) == [0.5, 1, 0.5, 0.5])
    #expect(abs(studio.report.song.beat - 14.2) < 0.05)
  }

  @Test func `lost cycles are not taken for a locate`() {
    let studio = Studio(tempo: 120)
    studio.transport.state = .rolling
    studio.play(seconds: 2.1)
    var dice = Dice(seed: 1)
    for _ in 0..<5 {
      // We lose cycles, and the server's transport goes on.
      studio.clock.lose(cycles: 3, frames: 256, dice: &dice)
      studio.transport.frame += 3 * 256
      studio.play(seconds: 0.2)
    }
    #expect(abs(studio.report.song.beat - studio.report.sessionBeat) < 0.01)
    #expect(studio.report.times.lostCycles == 15)
    #expect(!studio.messages.contains { $0.event.status == MIDI.stop })
  }

  @Test func `a freewheeling server keeps the tempo and counts time by frames`() {
    let studio = Studio(tempo: 120)
    studio.play(seconds: 2)
    studio.isFreewheeling = true
    studio.play(256)
    studio.setTempo(77)
    let before = studio.clicks.count
    studio.play(seconds: 10)
    let frames = studio.clicks.dropFirst(before).map(\.frame)
    for (earlier, later) in zip(frames, frames.dropFirst()) { #expect(abs(later - earlier - 24000) <= 1) }
    #expect(frames.count == 20 || frames.count == 21)
  }
}
