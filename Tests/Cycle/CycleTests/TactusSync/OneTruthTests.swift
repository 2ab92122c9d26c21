// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// The bars that we show JACK are the bars that are heard and that starts use.
struct OneTruthTests {
  private static let seven = Meter(beatsPerBar: 7, beatType: 8)

  @Test(arguments: [false, true])
  func `the unit of another timebase master's tempo is known once it rolled`(
    countsQuarters: Bool
  ) {
    for lead in [Lead.link, .auto] {
      let studio = Studio(tempo: 97)
      studio.settings.lead = lead
      func play(_ cycles: Int) {
        for _ in 0..<cycles {
          let song = Double(studio.transport.frame) / 24_000
          var bbt = BBT(song: Beats(song), meter: Self.seven, beatsPerMinute: 120)
          if countsQuarters { bbt.beatsPerMinute = 120 }
          studio.transport.bbt = bbt
          studio.play(256)
        }
      }
      play(20)
      #expect(studio.report.master.timebase == .foreign && studio.report.master.foreignTempo == 0)
      studio.transport.state = .rolling
      play(100)
      #expect(abs(studio.report.master.foreignTempo - 120) < 1e-9, "\(lead)")
      // At a locate the master shows no position for a cycle, but it is the same master.
      studio.transport.bbt = nil
      studio.play(256)
      #expect(studio.report.master.foreignTempo == 0)
      play(2)
      #expect(abs(studio.report.master.foreignTempo - 120) < 1e-9)
      studio.transport.bbt = nil
      studio.play(seconds: 2.1)
      play(2)
      #expect(studio.report.master.foreignTempo == 0)
    }
  }

  @Test
  func `while the transport stands, bars fit the meter or else the grid`() {
    for (quantum, meter, notes, length) in [
      (4, Self.seven, 1, 4), (3.5, Meter(), 0.5, 3.5), (7, Self.seven, 0.5, 3.5), (8, Meter(), 1, 4),
      (1, Meter(), 1, 4), (0, Meter(), 1, 4), (3, Meter(), 1, 3), (4, Meter(beatsPerBar: 3), 1, 4),
      (2.25, Meter(), 0.25, 2.25), (63.875, Meter(), 1, 4),
    ] as [(Double, Meter, Double, Double)] {
      let studio = Studio()
      studio.settings.meter = meter
      studio.settings.quantum = quantum
      var bar = OutputSettings(.pulse)
      bar.gate?.rate = Rate(isInBars: true)
      studio.rack = [OutputSlot(number: 1, settings: bar)]
      studio.play(seconds: 8.2)
      let standing = studio.settings.standingMeter
      #expect(standing.length.value == length && 1 / standing.notesPerBeat == notes, "\(quantum) \(meter)")
      func beats(_ onsets: [Studio.Onset]) -> [Double] {
        onsets.map { (1000 * studio.beat(at: $0.heard)).rounded() / 1000 }
      }
      let all = Array(stride(from: notes, through: 16, by: notes))
      let bars = Array(stride(from: length, through: 16, by: length))
      #expect(beats(studio.clicks).filter { $0 > 0.01 && $0 < 16.01 } == all, "\(quantum) \(meter)")
      #expect(beats(studio.clicks.filter { $0.value == 1 }).filter { $0 > 0.01 && $0 < 16.01 } == bars)
      #expect(beats(studio.rackEdges[0].filter { $0.value > 0 }).filter { $0 > 0.01 && $0 < 16.01 } == bars)
    }
  }

  @Test
  func `a new meter during a count-in restarts the count-in on the new grid`() {
    for (meter, quantum, bars) in [
      (Meter(beatsPerBar: 3), nil, 1), (Meter(beatsPerBar: 7), nil, 1), (Self.seven, nil, 2),
      (Meter(beatsPerBar: 5), 4, 1),
      (Meter(beatsPerBar: 3), 4, 2),
    ] as [(Meter, Double?, Int32)] {
      for moment in [9.2, 10.7, 11.4] {
        let studio = Studio()
        studio.asksBeforeRolling = true
        studio.settings.click.when = .rolling
        studio.settings.launch.countIn = bars
        if let quantum { studio.settings.quantum = quantum }
        studio.play(seconds: 6.4 / 2)
        studio.transport = Transport(state: .starting, frame: 0)
        studio.play(seconds: (moment - 6.4) / 2)
        #expect(!studio.report.song.isRolling)
        studio.settings.meter = meter
        let changed = studio.beat(at: studio.due)
        while !studio.report.song.isRolling, studio.due < 1e9 + 60e6 { studio.play(256) }
        studio.play(seconds: 0.1)
        let origin = ((studio.report.sessionBeat - studio.report.song.beat) * 8).rounded() / 8
        let grid = quantum ?? meter.length.value
        #expect(origin == (origin / grid).rounded() * grid)
        let start = origin - Double(bars) * meter.length.value
        #expect(start >= changed && start < changed + grid + 0.1)
        let counted = studio.clicks.filter {
          studio.beat(at: $0.heard) > changed && studio.beat(at: $0.heard) < origin - 0.01
        }
        let note = 1 / meter.notesPerBeat
        #expect(
          counted.map { (studio.beat(at: $0.heard) * 1000).rounded() / 1000 }
            == Array(stride(from: start, to: origin, by: note)), "\(meter) at \(moment)")
        #expect(counted.filter { $0.value == 1 }.count == bars)
      }
    }
  }

  @Test
  func `we show JACK new bars after a stop or a meter change while stopped`() {
    let studio = Studio()
    studio.isMaster = true
    studio.transport.state = .starting
    studio.play(256)
    studio.transport.state = .rolling
    while studio.report.song.beat < 5.5 { studio.play(256) }
    studio.settings.meter = Self.seven
    while studio.report.song.beat < 9 { studio.play(256) }
    #expect(!studio.report.master.showsOther)
    // JACK does not call the timebase master while the transport stands.
    studio.isMaster = false
    studio.transport.state = .stopped
    studio.play(256)
    studio.play(256)
    #expect(studio.report.master.showsOther)
    func ask() -> BBT? {
      let shown = studio.sync.bbt(nextFrame: studio.transport.frame)
      studio.play(256)
      return shown
    }
    // The song is slightly past beat 9, after 18 eighths of the song.
    let shown = ask()
    #expect(shown?.bar == 3 && shown?.beat == 5 && shown?.beatsPerBar == 7)
    #expect(!studio.report.master.showsOther)
    #expect(studio.report.bars.place(at: studio.report.song.beat).bar == 2)
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.play(256)
    #expect(studio.report.master.showsOther && ask()?.beatsPerBar == 3)
    #expect(!studio.report.master.showsOther)
  }

  @Test
  func `a cycle without frames or rate repeats nothing of the cycle before`() {
    var sync = HostSync()
    var outputs = Outputs()
    var events = MIDIEvents()
    var clock = OutputSettings(.clock)
    clock.clock?.when = .always
    for (frames, rate) in [(8192, 48_000), (64, 0)] as [(UInt32, UInt32)] {
      var cycle = Cycle(
        frames: frames, sampleRate: rate,
        times: RawTimes(
          frame: 0, wakeMicros: 1_000_000, isPairValid: false, currentMicros: 0, nextMicros: 0),
        transport: Transport(state: .stopped, frame: 0), latencies: PerPort(repeating: 0), clock: .identity,
        session: SessionView(SessionState(tempo: 300), startStopsTaken: 0),
        settings: Settings(), settingsNumber: 0, sounds: SoundBank(), isFreewheeling: false, relocation: nil)
      sync.run(&cycle, into: &outputs)
      var slot = OutputSlot(number: 1, settings: clock)
      sync.play(&slot, at: 0, into: AudioBuffer(nil, frames: frames), &events)
      #expect((sync.bbt(nextFrame: 0) == nil) == (rate == 0))
      #expect((events.count == 0) == (rate == 0))
    }
  }

  @Test(arguments: [(44_100, 999), (192_000, 300), (192_000, 999)] as [(UInt32, Double)])
  func `the longest buffer at the fastest tempo drops no pulse and no click`(
    rate: UInt32, tempo: Double
  ) {
    let studio = Studio(sampleRate: rate, tempo: tempo)
    studio.settings.meter = Meter(beatsPerBar: 64, beatType: 32)
    studio.settings.click.subdivision = 8
    var pulse = OutputSettings(.pulse)
    pulse.gate?.rate = Rate(96)
    studio.rack = [OutputSlot(number: 1, settings: pulse)]
    while studio.beat(at: studio.due) < 8 { studio.play(8192) }
    func places(_ onsets: [Studio.Onset], _ perBeat: Double) -> [Int] {
      onsets.map { Int((studio.beat(at: $0.heard) * perBeat).rounded()) }.filter {
        $0 > 0 && $0 <= Int(7 * perBeat)
      }
    }
    #expect(places(studio.rackEdges[0].filter { $0.value > 0 }, 96) == Array(1...7 * 96))
    #expect(places(studio.clicks, 64) == Array(1...7 * 64))
  }
}
