// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Bending the tempo by hand")
struct BendTests {
  private func tempos(_ desk: Desk) -> [Double] {
    desk.program.commands.compactMap {
      switch $0 {
      case .tempo(let tempo), .bentTempo(let tempo, _): tempo.beatsPerMinute
      default: nil
      }
    }
  }

  private func bends(_ desk: Desk) -> [BendSettings] {
    desk.program.commands.compactMap { if case .bend(let bend) = $0 { bend } else { nil } }
  }

  /// The milliseconds by which the session is ahead of the timeline `before`.
  private func moved(_ desk: Desk, from before: Timeline) -> Double {
    let beats = desk.program.state.timeline.beats(at: desk.now).value - before.beats(at: desk.now).value
    return beats * Double(before.tempo.microsPerBeat) / 1000
  }

  @Test
  func `without peers, bend/push speeds up the session only while held`() {
    var desk = Desk()
    let (start, present) = (desk.now, Tempo(121.37))
    desk.update { $0.timeline = $0.timeline.turned(to: present, at: start) }
    let before = desk.program.state.timeline
    desk.send("/tactus/bend/push", .int32(1))
    #expect(desk.valuesSent("bend/push").isEmpty)
    desk.wait(2)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 121.37 * 1.03) < 0.001)
    desk.send("/tactus/bend/push", .int32(0))
    #expect(desk.program.state.tempo == Tempo(121.37))
    #expect(abs(moved(desk, from: before) - 60) < 0.1, "\(moved(desk, from: before))")
    #expect(bends(desk).isEmpty)
    // The user's messages may come faster than the program reports its state, so the state is out of date
    // here. The end of the bend must still restore the right tempo.
    let stale = desk.program.state
    desk.forget()
    desk.program.refuses = nil
    desk.send("/tactus/bend", .float32(-5))
    desk.machine.update(stale, clocks: desk.clocks)
    desk.send("/tactus/bend", .float32(0))
    #expect(tempos(desk).last == 121.37)
  }

  /// For each tempo command, the tempo that stays after the bend.
  private func lasting(_ desk: Desk) -> [Double] {
    desk.program.commands.compactMap {
      switch $0 {
      case .tempo(let tempo), .bentTempo(_, let tempo): tempo.beatsPerMinute
      default: nil
      }
    }
  }

  @Test func `every command of a tempo bend names the tempo from before the bend`() {
    var desk = Desk()
    desk.send("/tactus/tempo", .float32(121))
    desk.wait(1)
    for percent in [10, 5, -3, 0] as [Float] {
      desk.send("/tactus/bend", .float32(percent))
      desk.wait(1)
    }
    #expect(lasting(desk) == [121, 121, 121, 121, 121])
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 121) < 1e-4)
  }

  @Test(
    arguments: [
      ("tempo/double", nil, 240), ("tempo/half", nil, 60), ("tempo/nudge", 1, 121), ("tempo/up", nil, 121),
      ("tempo/down", nil, 119),
    ] as [(String, Float?, Double)])
  func `a relative tempo change during a bend starts from the tempo before it`(
    path: String, amount: Float?, wanted: Double
  ) {
    var desk = Desk()
    desk.send("/tactus/tempo", .float32(120))
    desk.wait(1)
    desk.send("/tactus/bend", .float32(5))
    desk.wait(1)
    if let amount { desk.send("/tactus/" + path, .float32(amount)) } else { desk.send("/tactus/" + path) }
    desk.wait(1)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - wanted) < 1e-3)
    desk.send("/tactus/bend", .float32(0))
    desk.wait(1)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - wanted) < 1e-3)
  }

  @Test
  func `with peers, a bend moves only our outputs, unless tactus leads`() {
    var desk = Desk()
    desk.update { $0.link.peers = 2 }
    desk.send("/tactus/bend/pull", .int32(1))
    desk.wait(1)
    desk.send("/tactus/bend/pull", .int32(0))
    #expect(tempos(desk).isEmpty && bends(desk).map(\.percent) == [-3, 0])
    desk.forget()
    desk.send("/tactus/bend/jog", .float32(12))
    desk.send("/tactus/bend/jog", .float32(-2))
    #expect(bends(desk).map(\.turned) == [Micros(12_000), Micros(10_000)])
    desk.send("/tactus/bend/home")
    #expect(bends(desk).last?.returns == 1)
    desk.machine.hand.outputs.returns = .max
    desk.send("/tactus/bend/home")
    #expect(bends(desk).last?.returns == 0)
    desk.forget()
    desk.update { $0.choices.hostIsTheClock = true }
    desk.send("/tactus/bend/pull", .int32(1))
    desk.wait(1)
    desk.send("/tactus/bend/pull", .int32(0))
    #expect(bends(desk).isEmpty && tempos(desk).count == 2 && tempos(desk)[1] == 120)
  }

  @Test
  func `a tempo set by a peer during a bend stays after the bend`() {
    var desk = Desk()
    desk.send("/tactus/bend/push", .int32(1))
    desk.wait(0.5)
    let now = desk.now
    desk.update { $0.timeline = $0.timeline.turned(to: Tempo(99), at: now) }
    desk.send("/tactus/bend/push", .int32(0))
    #expect(desk.program.state.tempo == Tempo(99))
  }

  @Test
  func `a bend that is held without further messages ends after 20 seconds`() {
    var desk = Desk()
    desk.send("/tactus/bend", .float32(4))
    desk.wait(19.9)
    #expect(desk.program.state.tempo.beatsPerMinute > 124)
    desk.wait(0.2)
    #expect(desk.program.state.tempo == Tempo(120))
    desk.update { $0.link.peers = 1 }
    desk.send("/tactus/bend", .float32(4))
    desk.wait(20.1)
    #expect(bends(desk).map(\.percent) == [4, 0])
  }

  @Test
  func `a jog wheel moves the session exactly, in all three encodings`() {
    var settings = SurfaceSettings()
    settings.bindings = [
      "jog 60 mackie = bend/jog 2", "jog 61 = tempo/nudge 0.1", "jog 62 offset ch 3 = bend/jog 1",
    ]
    .compactMap { MIDIBinding($0) }
    #expect(settings.bindings.count == 3)
    var desk = Desk(settings)
    let before = desk.program.state.timeline
    for _ in 0..<5 {
      desk.play([0xB0, 60, 3])
      desk.wait(0.013)
    }
    desk.wait(1)
    #expect(desk.program.state.tempo == Tempo(120))
    #expect(abs(moved(desk, from: before) - 30) < 0.05, "\(moved(desk, from: before))")
    desk.play([0xB0, 60, 65 + 19])
    desk.wait(0.1)
    desk.play([0xB2, 62, 64 + 10])
    desk.wait(1)
    #expect(abs(moved(desk, from: before)) < 0.05, "\(moved(desk, from: before))")
    desk.play([0xB0, 61, 5])
    desk.play([0xB0, 61, 127])
    desk.wait(0.2)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 120.4) < 1e-6)
    #expect(desk.errors.isEmpty)
  }

  @Test
  func `one message of a jog wheel moves the session by at most a second`() {
    var desk = Desk()
    let before = desk.program.state.timeline
    for _ in 0..<5 { desk.send("/tactus/bend/jog", .float32(1000)) }
    desk.wait(12)
    #expect(desk.program.state.tempo == Tempo(120))
    #expect(abs(moved(desk, from: before) - 1000) < 0.05, "\(moved(desk, from: before))")
    for _ in 0..<5 { desk.send("/tactus/bend/jog", .float32(-1000)) }
    desk.wait(12)
    #expect(abs(moved(desk, from: before)) < 0.05, "\(moved(desk, from: before))")
  }

  @Test
  func `a pitch wheel bends the tempo until it returns to its middle`() {
    var settings = SurfaceSettings()
    settings.bindings = [MIDIBinding("bend = bend -5..5")].compactMap { $0 }
    var desk = Desk(settings)
    desk.play([0xE0, 0x7F, 0x7F])
    desk.wait(0.2)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 126) < 0.001)
    desk.play([0xE0, 0, 0x40])
    desk.wait(0.2)
    #expect(desk.program.state.tempo == Tempo(120))
  }
}

@Suite("Following a drummer")
struct DrummerTests {
  /// Plays a drummer's taps while the tempo goes from `first` to `last`. For each beat, `says` lists the taps
  /// as milliseconds off the beat. In addition, each tap gets a random error of up to `clumsy` milliseconds.
  /// Returns the largest error of the followed beat after 12 beats, in milliseconds, and the last estimate of
  /// the tempo.
  private func play(
    from first: Double, to last: Double, beats: Int, clumsy: Double, says: (Int) -> [Double] = { _ in [0] }
  ) -> (worst: Double, tempo: Double) {
    var drummer = Drummer()
    var time = 1e6
    var seed: UInt64 = 20
    var worst = 0.0
    var tempo = 0.0
    for beat in 0..<beats {
      for extra in says(beat) {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1
        let off = (Double(seed >> 40) / Double(1 << 24) * 2 - 1) * clumsy * 1000
        if let believed = drummer.tap(at: Micros(rounding: time + off + extra * 1000)) {
          tempo = 60e6 / believed.length
          let distance = (believed.time - time) / believed.length
          if beat > 12 { worst = max(worst, abs(distance - distance.rounded()) * believed.length / 1000) }
        }
      }
      time += 60e6 / (first + (last - first) * Double(beat) / Double(beats))
    }
    return (worst, tempo)
  }

  @Test
  func `a drummer's taps with 10 ms of jitter give the beat to 10 ms`() {
    let (worst, tempo) = play(from: 118, to: 118, beats: 64, clumsy: 10)
    #expect(worst < 10, "\(worst)")
    #expect(abs(tempo - 118) < 0.5, "\(tempo)")
  }

  @Test
  func `a drummer's taps that speed up by 6 BPM over 16 bars are followed`() {
    let (worst, tempo) = play(from: 118, to: 124, beats: 64, clumsy: 8)
    #expect(worst < 15, "\(worst)")
    #expect(abs(tempo - 124) < 1, "\(tempo)")
  }

  @Test
  func `a drummer's missing, doubled and misplaced taps change nothing`() {
    let (worst, tempo) = play(from: 97, to: 97, beats: 96, clumsy: 6) { beat in
      switch beat % 16 {
      case 5, 6, 11: []
      case 9: [0, 35]
      case 13: [0, 290]
      default: [0]
      }
    }
    #expect(worst < 10, "\(worst)")
    #expect(abs(tempo - 97) < 0.5, "\(tempo)")
  }

  @Test
  func `a drummer's pause, or three taps off the beat, start a new estimate`() {
    var drummer = Drummer()
    for beat in 0..<8 { _ = drummer.tap(at: Micros(Int64(beat) * 500_000)) }
    var believed: Drummer.Beat?
    for beat in 0..<12 { believed = drummer.tap(at: Micros(60_000_000 + Int64(beat) * 400_000)) }
    #expect(abs((believed?.length ?? 0) - 400_000) < 1)
    // From here on, the taps come half a beat later than expected.
    for beat in 0..<8 { believed = drummer.tap(at: Micros(64_600_000 + Int64(beat) * 400_000)) ?? believed }
    #expect(abs((believed?.time ?? 0) - 67_400_000) < 1)
  }

  @Test
  func `a drummer may miss 8 beats; a tap moves the tempo by at most 4 %`() {
    /// The estimate after a tap that comes `beats` beats, plus `late` microseconds, after the last tap of a
    /// drummer whose beat is known.
    func tap(after beats: Int64, late: Int64 = 0) -> Drummer.Beat? {
      var drummer = Drummer()
      for beat in 0..<16 { _ = drummer.tap(at: Micros(Int64(beat) * 500_000)) }
      return drummer.tap(at: Micros((15 + beats) * 500_000 + late))
    }
    #expect(tap(after: 1)?.length == 500_000)
    #expect(tap(after: Drummer.mostMissed)?.length == 500_000)
    #expect(tap(after: Drummer.mostMissed + 1) == nil)
    // A late tap changes the estimate less, the longer the drummer has tapped, so test the limit after few
    // taps.
    var drummer = Drummer()
    for beat in 0..<4 { _ = drummer.tap(at: Micros(Int64(beat) * 500_000)) }
    let known = drummer.tap(at: Micros(4 * 500_000 + 124_000))
    #expect(known?.length == 500_000 * (1 + Drummer.mostChange), "\(known?.length ?? 0)")
    drummer = Drummer()
    for beat in 0..<4 { _ = drummer.tap(at: Micros(Int64(beat) * 500_000)) }
    #expect(drummer.tap(at: Micros(4 * 500_000 - 124_000))?.length == 500_000 * (1 - Drummer.mostChange))
  }

  @Test
  func `the session follows the drummer's tempo and beat`() {
    var desk = Desk()
    desk.send("/tactus/tempo/follow", .int32(1))
    var time = 2_137_000.0
    for _ in 0..<48 {
      desk.wait(max(0, (time - Double(desk.now.count)) / 1e6))
      desk.send("/tactus/tempo/tap")
      time += 60e6 / 104
    }
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 104) < 0.1 || desk.machine.hand.session != nil)
    desk.wait(1)
    let beat = desk.program.state.sessionBeats(at: Micros(rounding: time - 60e6 / 104)).value
    #expect(abs(beat - beat.rounded()) * 60_000 / 104 < 4, "\(beat)")
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 104) < 0.1)
  }
}
