// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Outputs that a user adds: several clocks, pulses and resets at the same time.
struct OwnOutputTests {
  private static let offsets: [Double] = [0, 4, -7, 12.5, 30, -30, 0.01, 21]

  private static func clock(
    _ number: Int, offset: Double = 0, _ change: (inout ClockSettings) -> Void = { _ in }
  )
    -> OutputSlot
  {
    var settings = OutputSettings(.clock)
    settings.clock?.when = .always
    change(&settings.clock!)
    return OutputSlot(
      number: UInt32(number), settings: settings, offset: Micros(rounding: offset * 1000), latency: 256)
  }

  private static func gate(_ kind: OutputKind, _ change: (inout GateSettings) -> Void = { _ in })
    -> OutputSlot
  {
    var settings = OutputSettings(kind)
    change(&settings.gate!)
    return OutputSlot(number: 1, settings: settings)
  }

  private static func roll(_ studio: Studio, _ frames: UInt32 = 256) {
    studio.transport.state = .starting
    studio.play(frames)
    studio.transport.state = .rolling
  }

  /// A message of one of eight MIDI clocks, with the session's beat at the time of the message, and the time
  /// since the last change of tempo.
  private struct Heard {
    var status: UInt8
    var beat: Double
    var heard: Double
    var sinceChange: Double
    var beatMicros: Double
  }

  private func playEight(tempo: Double, frames: UInt32, arming: [Int], seed: UInt64? = nil) -> [[Heard]] {
    let studio = Studio(tempo: tempo, seed: seed)
    studio.rack = Self.offsets.enumerated().map { Self.clock($0 + 1, offset: $1) }
    var heard: [[Heard]] = Array(repeating: [], count: 8)
    var changed = studio.clock.nextDue
    func play(beats: Double) {
      let length = beats * Grid(studio.timeline).beatMicros / 1e6
      studio.play(seconds: length, frames: frames)
      let grid = Grid(studio.timeline)
      for place in 0..<8 {
        let offset = Self.offsets[place] * 1000
        for message in studio.rackMessages[place].dropFirst(heard[place].count) {
          let time = message.heard + offset
          heard[place].append(
            Heard(
              status: message.event.status, beat: grid.beat(at: time), heard: time,
              sinceChange: message.heard - changed, beatMicros: grid.beatMicros))
        }
      }
    }
    for place in arming { studio.rack[place].settings.clock?.plays = false }
    play(beats: 3.3)
    Self.roll(studio, frames)
    play(beats: 6)
    for (turn, place) in arming.enumerated() {
      studio.rack[place].settings.clock?.plays = true
      play(beats: 5.7)
      studio.setTempo(turn == 0 ? tempo * 1.25 : tempo * 0.8)
      changed = studio.due
      play(beats: 5.4)
    }
    if arming.isEmpty { play(beats: 1) }
    return heard
  }

  @Test func `MIDI program changes go to their machine once, before a start`() {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.clock(1), Self.clock(2)]
    studio.rack[0].settings.programs?.ask(for: 9, channel: 9)
    studio.rack[0].settings.programs?.ask(for: 4, channel: 9)
    studio.rack[0].settings.programs?.ask(for: 127, channel: 0)
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    func programs(_ place: Int) -> [[UInt8]] {
      studio.rackMessages[place].map(\.event).filter { $0.count == 2 }.map { [$0.byte(0), $0.byte(1)] }
    }
    // Only the last request of each channel was sent.
    #expect(programs(0) == [[0xC0, 127], [0xC9, 4]] && programs(1).isEmpty)
    studio.play(seconds: 2, frames: 256)
    #expect(programs(0).count == 2)
    studio.rack[0].settings.programs?.ask(for: 4, channel: 9)
    studio.play(256)
    #expect(programs(0).last == [0xC9, 4] && programs(0).count == 3)
    // The new output in this slot has no requests, so no message is sent.
    studio.rack[0].settings.programs = Programs()
    studio.play(seconds: 1, frames: 256)
    #expect(programs(0).count == 3)
  }

  @Test func `16 MIDI program changes fit in a cycle, and their counts may wrap`() {
    let studio = Studio(tempo: 300)
    studio.rack = [Self.clock(1)]
    for channel in 0..<16 { studio.rack[0].settings.programs?.ask(for: UInt8(channel), channel: channel) }
    studio.play(256)
    #expect(studio.rackMessages[0].map(\.event).count { $0.count == 2 } == 16)
    for turn in 0..<70_000 {
      studio.rack[0].settings.programs?.ask(for: UInt8(turn % 128), channel: 3)
      if turn % 1000 == 999 { studio.play(64) }
    }
    #expect(studio.rackMessages[0].map(\.event).count { $0.count == 2 } == 16 + 70)
  }

  @Test(arguments: [20, 120, 300], [64, 256, 1024])
  func `eight MIDI clocks with offsets stay on their grids as tempo changes`(
    tempo: Double, frames: UInt32
  ) {
    for (place, clock) in playEight(tempo: tempo, frames: frames, arming: [2, 5]).enumerated() {
      let clocks = clock.filter { $0.status == MIDI.clock }
      #expect(clocks.count > 24 * 25)
      // Because of its offset and latency, an output may have sent messages before it knew of a change of
      // tempo. 150 ms after the change the output must be right again.
      let judged = clocks.filter { $0.sinceChange > 150_000 }
      #expect(judged.count * 10 > clocks.count * 7)
      for one in judged {
        let exact = one.beat * 24
        let off = abs(exact - exact.rounded()) / 24 * one.beatMicros
        #expect(off <= 21, "clock \(place) is \(off) us from its place at beat \(one.beat)")
      }
    }
  }

  @Test(arguments: [20, 120, 300])
  func `a MIDI machine that may play again starts once, on a bar line`(
    tempo: Double
  ) throws {
    let heard = playEight(tempo: tempo, frames: 256, arming: [2, 5])
    for place in [2, 5] {
      let commands = heard[place].filter { $0.status != MIDI.clock }
      #expect(commands.map(\.status) == [MIDI.start], "clock \(place)")
      let at = try #require(heard[place].firstIndex { $0.status == MIDI.start })
      let first = heard[place][(at + 1)...].first { $0.status == MIDI.clock }
      let beat = try #require(first).beat
      // The song began at beat 3, the session's nearest beat.
      #expect(abs(beat - beat.rounded()) < 1e-3)
      #expect((Int(beat.rounded()) - 3) % 4 == 0 && beat > 8)
    }
  }

  @Test func `letting a MIDI machine play again changes no other MIDI clock`() {
    func messages(arms: Bool) -> [[Studio.Message]] {
      let studio = Studio(tempo: 120)
      studio.rack = Self.offsets.enumerated().map { Self.clock($0 + 1, offset: $1) }
      studio.rack[3].settings.clock?.plays = !arms
      studio.play(seconds: 1.3)
      Self.roll(studio)
      studio.play(seconds: 2)
      studio.rack[3].settings.clock?.plays = true
      studio.play(seconds: 4)
      return studio.rackMessages
    }
    let (with, without) = (messages(arms: true), messages(arms: false))
    for place in 0..<8 where place != 3 {
      #expect(with[place].map(\.event) == without[place].map(\.event))
      #expect(with[place].map(\.frame) == without[place].map(\.frame))
    }
    #expect(with[3].map(\.event) != without[3].map(\.event))
  }

  /// The count of connections wraps, so the test also begins with a count of `UInt32.max`.
  @Test(arguments: [0, UInt32.max])
  func `a MIDI receiver that connects in a song gets position and clocks`(
    earlier: UInt32
  ) {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.clock(1) { $0.when = .rolling }]
    (studio.rack[0].connections, studio.clockConnections) = (earlier, earlier)
    studio.settings.clock.isOn = true
    studio.play(seconds: 1.3)
    Self.roll(studio)
    studio.play(seconds: 3.3)
    let (own, all) = (studio.rackMessages[0].count, studio.messages.count)
    studio.rack[0].connections &+= 1
    studio.clockConnections &+= 1
    studio.play(seconds: 2)
    for (heard, before) in [(studio.rackMessages[0], own), (studio.messages, all)] {
      let commands = heard.filter { $0.event.status != MIDI.clock }
      #expect(commands.map(\.event.status) == [MIDI.start, MIDI.stop, MIDI.songPosition, MIDI.resume])
      #expect(commands.dropFirst().allSatisfy { $0.frame >= heard[before].frame })
      let clocks = heard.filter { $0.event.status == MIDI.clock }.map(\.heard)
      for (one, next) in zip(clocks, clocks.dropFirst()) { #expect(abs(next - one - 500_000 / 24) < 22) }
      guard commands.count == 4, let beginning = clocks.first,
        let resumed = clocks.first(where: { $0 > commands[3].heard })
      else { continue }
      let sixteenths = Double(commands[2].event.data1) + 128 * Double(commands[2].event.data2)
      #expect(abs(resumed - beginning - sixteenths * 125_000) < 22)
    }
  }

  /// The receiver's cable was out, or the server was gone, at the time of the Stop.
  @Test(arguments: [true, false], [RunsWhen.always, .rolling])
  func `a MIDI receiver that reconnects after a song gets its missed Stop`(
    isAfterAnother: Bool, when: RunsWhen
  ) {
    let studio = Studio(tempo: 120)
    if isAfterAnother { studio.sync = HostSync(machinesMayPlay: true) }
    studio.rack = [Self.clock(1) { $0.when = when }]
    (studio.settings.clock.isOn, studio.settings.clock.when) = (true, when)
    func stops(whenAllCome connections: UInt32) -> [Int] {
      let before = (studio.rackMessages[0].count, studio.messages.count)
      studio.rack[0].connections = connections
      studio.clockConnections = connections
      studio.play(seconds: 1)
      return [studio.rackMessages[0].dropFirst(before.0), studio.messages.dropFirst(before.1)].map { told in
        told.count { $0.event.status == MIDI.stop }
      }
    }
    studio.play(seconds: 1.3)
    #expect(stops(whenAllCome: 1) == (isAfterAnother ? [1, 1] : [0, 0]))
    #expect(stops(whenAllCome: 2) == [0, 0])
    Self.roll(studio)
    studio.play(seconds: 2)
    studio.transport.state = .stopped
    studio.play(seconds: 1)
    #expect(stops(whenAllCome: 3) == [1, 1])
    #expect(stops(whenAllCome: 4) == [0, 0])
  }

  @Test func `a MIDI clock that becomes timecode sends Stop first`() {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.clock(1)]
    studio.play(seconds: 1.3)
    Self.roll(studio)
    studio.play(seconds: 2)
    let before = studio.rackMessages[0].count
    studio.rack[0].settings = OutputSettings(.mtc)
    studio.play(seconds: 1)
    let told = studio.rackMessages[0].dropFirst(before)
    #expect(told.first?.event.status == MIDI.stop && told.count > 10)
    #expect(!told.dropFirst().contains { $0.event.status == MIDI.stop || $0.event.status == MIDI.clock })
  }

  @Test func `a MIDI machine that gets clocks and no Start counts as playing`() {
    let studio = Studio(tempo: 120)
    func states() -> [ClockFigures.State] { (0..<3).map { studio.sync.clockFigures(at: $0).state } }
    studio.rack = [
      Self.clock(1) { ($0.when, $0.sendsTransport) = (.rolling, false) },
      Self.clock(2) { $0.sendsTransport = false },
      Self.clock(3),
    ]
    studio.play(seconds: 0.1)
    #expect(states() == [.rests, .plays, .rests])
    Self.roll(studio)
    studio.play(seconds: 1)
    #expect(states() == [.plays, .plays, .plays])
    for place in 0..<3 { studio.rack[place].settings.clock?.plays = false }
    studio.play(seconds: 0.1)
    #expect(states() == [.rests, .rests, .rests])
  }

  @Test func `one MIDI machine alone can be stopped, and keeps clocks if chosen`() {
    for when in [RunsWhen.always, .rolling] {
      let studio = Studio(tempo: 120)
      studio.rack = [Self.clock(1) { $0.when = when }, Self.clock(2)]
      studio.play(seconds: 1.3)
      Self.roll(studio)
      studio.play(seconds: 2)
      studio.rack[0].settings.clock?.plays = false
      let before = studio.rackMessages[0].count
      studio.play(seconds: 2)
      let after = studio.rackMessages[0].dropFirst(before)
      #expect(after.first?.event.status == MIDI.stop)
      #expect(after.dropFirst().count == (when == .always ? 96 : 0))
      #expect(!studio.rackMessages[1].contains { $0.event.status == MIDI.stop })
      #expect(
        studio.sync.clockFigures(at: 0).state == .rests && studio.sync.clockFigures(at: 1).state == .plays)
    }
  }

  @Test(arguments: [6, 8, 12, 18, 36, 48, 96])
  func `a machine with another number of clocks a beat gets its song place`(perBeat: Int32) {
    let studio = Studio(tempo: 120)
    studio.rack = [
      Self.clock(1) {
        $0.perBeat = perBeat
        $0.when = .rolling
      }
    ]
    studio.play(seconds: 1.3)
    studio.transport = Transport(state: .starting, frame: 100_001)
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 4)
    let grid = Grid(studio.timeline)
    let receiver = MIDIClockTests.Receiver(studio.rackMessages[0])
    #expect(receiver.continues == 1 && receiver.counted.count > 3 * Int(perBeat))
    // Frame 100001 is beat 4.17. The start comes at the session's beat 2.6, so the song's beat 0 is at the
    // session's beat -2 or -1.
    let origin = Double(Int(grid.beat(at: receiver.counted[0].heard) - 4))
    for (place, heard) in receiver.counted {
      let exact = grid.beat(at: heard) * Double(perBeat)
      #expect(abs(exact - exact.rounded()) * grid.beatMicros / Double(perBeat) <= 21)
      let song = (grid.beat(at: heard) - origin) * Double(perBeat)
      #expect((Int(song.rounded()) - place) % Int(perBeat) == 0)
    }
  }

  @Test
  func `a MIDI clock may go without song positions, or without transport`()
    throws
  {
    let studio = Studio(tempo: 120)
    studio.rack = [
      Self.clock(1) { $0.sendsPosition = false },
      Self.clock(2) {
        $0.sendsTransport = false
        $0.when = .rolling
      },
    ]
    studio.play(seconds: 1)
    studio.transport.frame = 60_000
    studio.play(seconds: 0.5)
    #expect(studio.rackMessages[0].allSatisfy { $0.event.status == MIDI.clock })
    #expect(studio.rackMessages[1].isEmpty)
    Self.roll(studio)
    studio.play(seconds: 4)
    let commands = studio.rackMessages[0].filter { $0.event.status != MIDI.clock }
    #expect(commands.map(\.event.status) == [MIDI.start])
    let start = try #require(commands.first)
    let first = try #require(studio.rackMessages[0].first { $0.heard > start.heard })
    // The song's beat 2.5 is at the session's beat 3. So the song's beat 0, a bar line, is rounded to the
    // session's beat 0 or 1.
    let beat = Grid(studio.timeline).beat(at: first.heard)
    #expect(abs(beat - beat.rounded()) < 1e-3 && (beat.rounded() == 4 || beat.rounded() == 5))
    #expect(
      studio.rackMessages[1].count > 180
        && studio.rackMessages[1].allSatisfy { $0.event.status == MIDI.clock })
  }

  @Test func `another output in the same slot begins with new state`() {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.clock(1)]
    studio.play(seconds: 1.3)
    Self.roll(studio)
    studio.play(seconds: 1)
    studio.rack[0] = Self.clock(2)
    let before = studio.rackMessages[0].count
    studio.play(seconds: 2)
    // The new output joins the song at its present place, with a song position and Continue.
    let commands = studio.rackMessages[0].dropFirst(before).filter { $0.event.status != MIDI.clock }
    #expect(commands.map(\.event.status) == [MIDI.songPosition, MIDI.resume])
    #expect(studio.sync.clockFigures(at: 0).sent < 100)
  }

  @Test(
    arguments: [
      (Rate(96), 96.0), (Rate(24), 24), (Rate(3, in: 4), 0.75), (Rate(5, in: 3), 5.0 / 3),
      (Rate(isInBars: true), 0.25),
      (Rate(7, in: 2, isInBars: true), 7.0 / 8), (Rate(in: 64, isInBars: true), 1.0 / 256),
    ] as [(Rate, Double)])
  func `pulses come at each rate from 96 a beat to one in 64 bars`(rate: Rate, perBeat: Double) {
    for tempo in [20, 120, 300, 999] as [Double] {
      let studio = Studio(sampleRate: 8000, tempo: tempo)
      studio.rack = [
        Self.gate(.pulse) {
          $0.rate = rate
          $0.width = Micros(1000)
        }
      ]
      let beats = max(6, 2.1 / perBeat)
      studio.play(seconds: beats * 60 / tempo, frames: 256)
      let grid = Grid(studio.timeline)
      let rises = studio.rackEdges[0].filter { $0.value > 0 }
      let end = grid.beat(at: studio.clock.nextDue)
      #expect(abs(Double(rises.count) - end * perBeat) <= 1.01)
      for (index, rise) in rises.enumerated() {
        let number = Double(index) / perBeat
        #expect(abs(rise.heard - grid.time(of: number)) <= studio.microsPerFrame / 2 + 1.1)
      }
    }
  }

  @Test func `each pulse output has its own level, width, polarity and offset`() throws {
    let studio = Studio(tempo: 120)
    var late = Self.gate(.pulse) { $0.width = Micros(20_000) }
    late.offset = Micros(10_000)
    studio.rack = [
      Self.gate(.pulse) {
        $0.level = 0.5
        $0.isInverted = true
        $0.width = Micros(2000)
      }, late,
    ]
    studio.play(seconds: 3)
    let grid = Grid(studio.timeline)
    let inverted = studio.rackEdges[0].dropFirst(2)
    for (fall, rise) in zip(inverted, inverted.dropFirst()) where fall.value == 0 {
      #expect(rise.value == 0.5 && rise.frame - fall.frame == 96)
      #expect(abs(grid.beat(at: fall.heard) - grid.beat(at: fall.heard).rounded()) < 1e-3)
    }
    for (rise, fall) in zip(studio.rackEdges[1], studio.rackEdges[1].dropFirst()).dropFirst(2)
    where rise.value == 1 {
      #expect(fall.frame - rise.frame == 960)
      #expect(abs(grid.beat(at: rise.heard + 10_000) - grid.beat(at: rise.heard + 10_000).rounded()) < 1e-3)
    }
  }

  @Test func `a reset output marks the song's start and the bars of its rate`() {
    for (rate, bars) in [(Rate(isInBars: true), 1), (Rate(in: 2, isInBars: true), 2), (Rate(0), 0)] {
      let studio = Studio(tempo: 240)
      studio.rack = [Self.gate(.reset) { $0.rate = rate }, Self.gate(.run)]
      studio.play(seconds: 2.65)
      #expect(studio.rackEdges[0].isEmpty)
      Self.roll(studio)
      studio.play(seconds: 6)
      studio.transport.state = .stopped
      studio.play(seconds: 3)
      Self.roll(studio)
      studio.play(seconds: 1)
      let rises = studio.rackEdges[0].filter { $0.value > 0 }.map(\.frame)
      let starts = studio.rackEdges[1].filter { $0.value > 0 }.map(\.frame)
      #expect(starts.count == 2 && rises.contains(starts[0]) && rises.contains(starts[1]))
      // Six seconds are 24 beats or 6 bars.
      let between = rises.filter { $0 < starts[1] }
      let expected = bars == 0 ? 1 : 6 / bars
      #expect((expected...expected + 1).contains(between.count), "\(between)")
    }
  }

  @Test func `after lost cycles a MIDI clock catches up and counts late messages`() {
    let studio = Studio(tempo: 120)
    studio.rack = [Self.clock(1)]
    studio.play(seconds: 2)
    #expect(studio.sync.clockFigures(at: 0).madeUp == 0 && studio.sync.clockFigures(at: 0).jitter <= 21)
    for _ in 0..<12 { _ = studio.clock.idealCycle(frames: 256) }
    studio.play(seconds: 2)
    let figures = studio.sync.clockFigures(at: 0)
    // The lost 64 ms hold three clock messages.
    #expect((1...8).contains(figures.madeUp) && figures.jitter > 1000)
    #expect(abs(Int(figures.sent) - 48 * 4 - 3) <= 2)
  }
}
