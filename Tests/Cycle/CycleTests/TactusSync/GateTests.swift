// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

struct GateTests {
  @Test(arguments: [(PulseRate.one, 1), (.two, 2), (.four, 4), (.twentyFour, 24), (.fortyEight, 48)])
  func `pulses are on the grid and five milliseconds long`(chosen: PulseRate, rate: Int) {
    for tempo in [20, 120, 300, 999] as [Double] {
      let studio = Studio(sampleRate: 48000, tempo: tempo)
      studio.listensToPulse = true
      studio.settings.pulse.rate = chosen
      studio.latencies[.pulse] = 300
      studio.play(seconds: 2.5 * 60 / tempo, frames: 100)
      let grid = Grid(studio.timeline)
      let spacing = grid.beatMicros / Double(rate)
      #expect(studio.pulses.count >= 2 * rate)
      let width = min(240, 0.4 * spacing / studio.microsPerFrame)
      for (index, pulse) in studio.pulses.enumerated().dropLast() {
        let number = (grid.beat(at: pulse.onset.heard) * Double(rate)).rounded()
        #expect(
          abs(pulse.onset.heard - grid.time(of: number / Double(rate))) <= studio.microsPerFrame / 2 + 1.1)
        #expect(abs(Double(pulse.width) - width) <= 0.5)
        #expect(pulse.onset.value == 1)
        let first = (grid.beat(at: studio.pulses[0].onset.heard) * Double(rate)).rounded()
        #expect(number == first + Double(index))
      }
    }
  }

  @Test(arguments: [4, 8, 16] as [Int32])
  func `pulses that catch up stay apart in every meter`(unit: Int32) {
    let studio = Studio(tempo: 120)
    studio.listensToPulse = true
    studio.settings.meter = Meter(beatsPerBar: 7, beatType: unit)
    studio.settings.pulse.rate = .twentyFour
    studio.play(seconds: 1)
    for _ in 0..<6 {
      let line = studio.timeline
      studio.timeline = Timeline(
        tempo: line.tempo, beatOrigin: line.beatOrigin, timeOrigin: line.timeOrigin - Micros(12_000))
      studio.play(seconds: 0.5)
    }
    // A sync box that counts pulses must have got each pulse, although time jumped.
    let beats =
      studio.beat(at: studio.pulses.last!.onset.heard) - studio.beat(at: studio.pulses[0].onset.heard)
    #expect(abs(Double(studio.pulses.count) - (beats + 6 * 0.024) * 24 - 1) < 1)
    for (pulse, next) in zip(studio.pulses, studio.pulses.dropFirst()) {
      #expect(next.onset.frame - pulse.onset.frame - pulse.width > 0)
      #expect(next.onset.frame - pulse.onset.frame >= 499)
    }
  }

  @Test func `one pulse a bar falls on the song's bars`() {
    let studio = Studio(tempo: 240)
    studio.listensToPulse = true
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.settings.pulse.rate = .bar
    studio.settings.pulse.when = .rolling
    studio.play(seconds: 2.6)
    #expect(studio.pulses.isEmpty)
    studio.transport.state = .rolling
    // The session is at beat 10.4. The song begins on beat 10 in bars of three beats, so its next bar lines
    // are at beats 13, 16, 19 and 22.
    studio.play(seconds: 3)
    let grid = Grid(studio.timeline)
    #expect(studio.pulses.map { grid.beat(at: $0.onset.heard).rounded() } == [13, 16, 19, 22])
  }

  @Test func `the run gate is high from the heard start to the heard stop`() throws {
    let studio = Studio(tempo: 120)
    studio.listensToPulse = true
    studio.latencies[.jack] = 1000
    studio.latencies[.run] = 700
    studio.play(seconds: 1)
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    let start = studio.due + studio.clock.period(256) + 1000 * studio.microsPerFrame
    studio.play(seconds: 1)
    studio.transport.state = .stopped
    let stop = studio.due + studio.clock.period(256) + 1000 * studio.microsPerFrame
    studio.play(seconds: 1)
    #expect(studio.runEdges.map(\.value) == [1, 0])
    #expect(abs(try #require(studio.runEdges.first).heard - start) <= 12)
    #expect(abs(try #require(studio.runEdges.last).heard - stop) <= 12)
  }

  @Test func `the jitter of MIDI clocks and pulses is reported, and forgotten later`() {
    let studio = Studio(tempo: 120)
    studio.listensToPulse = true
    studio.settings.pulse.rate = .twentyFour
    studio.settings.clock.when = .always
    studio.play(seconds: 2)
    let frame = Float(studio.microsPerFrame)
    for jitter in [studio.report.outputs.clockJitter, studio.report.outputs.pulseJitter] {
      #expect(jitter > 0 && jitter <= frame / 2 + 0.1)
    }
    for _ in 0..<12 { _ = studio.clock.idealCycle(frames: 256) }
    studio.play(seconds: 2)
    #expect(studio.report.outputs.clockJitter > 1000 && studio.report.outputs.pulseJitter > 1000)
    studio.play(seconds: 25)
    #expect(studio.report.outputs.clockJitter <= frame && studio.report.outputs.pulseJitter <= frame)
  }
}
