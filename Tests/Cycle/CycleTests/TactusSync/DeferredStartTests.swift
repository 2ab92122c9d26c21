// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Starts that leave JACK's transport standing until just before their beat.
struct StandingStartTests {
  private func standing(at frame: UInt32 = 0, period: UInt32 = 256) -> Studio {
    let studio = Studio()
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.launch.wait = .stopped
    studio.plan.choices = studio.settings
    studio.transport.frame = frame
    studio.play(seconds: 1.3, frames: period)
    return studio
  }

  /// Plays until the transport rolls, and returns the cycles in which JACK said "starting".
  private func cyclesOfStarting(_ studio: Studio, period: UInt32 = 256) -> Int {
    var cycles = 0
    for _ in 0..<6_000 where !studio.report.song.isRolling {
      studio.play(period)
      if case .starting = studio.transport.state { cycles += 1 }
    }
    return cycles
  }

  @Test func `a waiting start asks JACK just before its beat and is on the beat`() throws {
    for (wait, period) in zip(
      0..<18, [64, 256, 1024, 256, 128, 512, 256, 64, 1024, 256, 256, 512, 64, 128, 256, 1024, 64, 256])
    {
      for moment in [LaunchMoment.bar, .beat] {
        for alignment in [Alignment.nearest, .exact] {
          let period = UInt32(period)
          // Every second start is from the third beat of a bar in the middle of the song.
          let studio = standing(at: wait % 2 == 0 ? 0 : 6 * 24_000, period: period)
          studio.settings.launch.moment = moment
          studio.settings.launch.alignment = alignment
          studio.plan.choices = studio.settings
          studio.play(seconds: Double(wait) * 0.117, frames: period)
          let asked = studio.report.sessionBeat, step = moment == .bar ? 4.0 : 1
          let waits = studio.plan.start(from: studio.report)
          #expect(waits)
          #expect(studio.plan.isBusy)
          let beat = try #require(studio.plan.startBeat)
          #expect(beat >= asked && beat < asked + step + 0.6)
          let cycle = Double(period) / 48
          let cycles = cyclesOfStarting(studio, period: period)
          // JACK needs two cycles, and the control thread one. An exact start also needs the time of a
          // locate.
          let longest = alignment == .nearest ? 4 + 4 * cycle : 30 + 9 * cycle
          #expect(Double(cycles) * cycle <= longest + 2 * cycle, "\(cycles) cycles of \(period)")
          #expect(studio.report.song.isRolling && !studio.plan.isBusy)
          #expect(abs(studio.report.launch.error) <= cycle * 510, "\(studio.report.launch.error)")
          #expect(abs(studio.report.sessionBeat - beat) < 0.15, "\(studio.report.sessionBeat), not \(beat)")
          let phase = (studio.report.sessionBeat - studio.report.song.beat) / step
          #expect(abs(phase - phase.rounded()) * step < 0.02)
        }
      }
    }
  }

  /// A start may have to be requested several beats or bars before its beat. It must begin all the same.
  @Test(arguments: [LaunchMoment.beat, .bar], [60.0, 120, 240, 300])
  func `a start that must be requested long before its beat still begins`(moment: LaunchMoment, tempo: Double)
    throws
  {
    for (take, offset) in [
      (300_000.0, 0.0), (600_000, 0), (1_200_000, 0), (1_700_000, 0), (0, 500_000), (600_000, 500_000),
    ] {
      let studio = standing()
      studio.setTempo(tempo)
      studio.settings.launch.moment = moment
      studio.settings.offsets[.click1] = Micros(rounding: offset)
      studio.plan.choices = studio.settings
      studio.othersTake = take
      for start in 1...3 {
        studio.play(seconds: 0.4)
        let asked = studio.due
        let waits = studio.plan.start(from: studio.report)
        #expect(waits)
        _ = cyclesOfStarting(studio)
        let step = (moment == .bar ? 4 : 1) * studio.report.moment.beatMicros
        let name = "others: \(take), offset: \(offset), start \(start)"
        try #require(studio.report.song.isRolling, "\(name)")
        // In the first two starts we learn how much time the other clients need.
        #expect(studio.due - asked < 12e6, "\(name)")
        if start == 3 {
          #expect(
            studio.due - asked < 4_200_000 + offset + 2 * step, "\(name): \((studio.due - asked) / 1e6) s")
          #expect(abs(studio.report.launch.error) <= 2_720, "\(name)")
        }
        studio.transport.state = .stopped
        studio.play(seconds: 0.2)
        studio.transport.frame = 0
      }
    }
  }

  /// The test has the settings of the session `qtractor` (docs/launching.md).
  @Test(arguments: [64, 256, 1024] as [UInt32])
  func `a negative offset of port jack does not lengthen JACK's Starting`(period: UInt32) throws {
    var cycles: [Int] = []
    for offset in [0.0, -3 * Double(period) / 0.048] {
      let studio = standing(period: period)
      studio.settings.offsets[.jack] = Micros(rounding: offset)
      studio.plan.choices = studio.settings
      studio.play(seconds: 0.3, frames: period)
      let waits = studio.plan.start(from: studio.report)
      #expect(waits)
      cycles.append(cyclesOfStarting(studio, period: period))
      #expect(
        studio.report.song.isRolling && abs(studio.report.launch.error) <= Double(period) / 0.048 * 0.51)
    }
    #expect(abs(cycles[0] - cycles[1]) <= 1, "\(cycles)")
  }

  @Test func `a start that cannot wait on a standing transport is requested at once`() {
    func isRefused(_ change: (Studio) -> Void) -> Bool {
      let studio = standing()
      change(studio)
      studio.plan.choices = studio.settings
      let waits = studio.plan.start(from: studio.report)
      return !waits && !studio.plan.isBusy
    }
    #expect(!isRefused { _ in })
    #expect(isRefused { $0.settings.launch.wait = .starting })
    #expect(isRefused { $0.settings.launch.moment = .now })
    #expect(isRefused { $0.settings.launch.countIn = 1 })
    #expect(isRefused { $0.settings.launch.othersCountIn = 2 })
    #expect(isRefused { $0.settings.lead = .midi })
    #expect(
      isRefused { studio in
        studio.transport.state = .rolling
        studio.play(256)
      })
  }

  @Test func `a start waits for the next beat if the next bar is too far away`() throws {
    let studio = standing()
    studio.settings.quantum = 256
    studio.plan.choices = studio.settings
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    let beat = try #require(studio.plan.startBeat)
    #expect(beat > studio.report.sessionBeat && beat < studio.report.sessionBeat + 1.6)
    _ = cyclesOfStarting(studio)
    #expect(studio.report.sessionBeat > beat - 0.1)
  }

  /// The settings may change while the start waits.
  @Test(
    arguments: [
      { $0.launch.moment = .now }, { $0.quantum = 0 }, { $0.launch.wait = .starting },
      { $0.launch.countIn = 1 },
    ] as [@Sendable (inout Settings) -> Void])
  func `a waiting start that may wait no longer is requested at once`(
    change: @Sendable (inout Settings) -> Void
  ) {
    let studio = standing()
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    change(&studio.plan.choices)
    guard studio.plan.step(studio.report, at: Micros(rounding: studio.report.moment.due)).asksToStart
    else {
      Issue.record("it waits")
      return
    }
  }

  @Test func `a waiting start takes the next beat if the user chooses a beat`() throws {
    let studio = standing()
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    studio.settings.launch.moment = .beat
    studio.plan.choices = studio.settings
    studio.play(256)
    let beat = try #require(studio.plan.startBeat)
    #expect(beat < studio.report.sessionBeat + 1.6)
  }

  @Test func `a start's beat stays known until half a second after the request`() throws {
    let studio = standing()
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    let beat = try #require(studio.plan.startBeat)
    var plan = studio.plan
    studio.plan.cancel()
    var asked: Micros?
    while studio.report.sessionBeat < beat + 4 {
      studio.play(256)
      let time = Micros(rounding: studio.report.moment.due)
      if plan.step(studio.report, at: time).asksToStart { asked = time }
      let since = asked.map { time - $0 } ?? .zero
      #expect((plan.startBeat != nil) == (since < TransportLimits.answerTimeout), "\(since)")
    }
    #expect(asked != nil)
  }

  @Test func `a locate, a session jump and a peer's later time move a start`() throws {
    let studio = standing()
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    let first = try #require(studio.plan.startBeat)
    // This locate goes to the second beat of the bar.
    studio.locate = 24_000
    studio.play(256)
    studio.play(256)
    let second = try #require(studio.plan.startBeat)
    #expect(
      abs((second - first).truncatingRemainder(dividingBy: 4).magnitude - 1) < 1e-6 || second == first + 1
        || second == first - 3)
    studio.settings.syncsStartStop = true
    studio.isPlaying = true
    studio.timeOfPlaying = Micros(rounding: studio.report.moment.heard.start + 9_000_000)
    studio.play(256)
    studio.play(256)
    let third = try #require(studio.plan.startBeat)
    #expect(third >= studio.report.sessionBeat + 17.9 && third < studio.report.sessionBeat + 22)
    #expect(abs((third - 1) / 4 - ((third - 1) / 4).rounded()) < 1e-6)
    // The session jumps: its beat numbers become smaller by a thousand.
    studio.isPlaying = false
    studio.play(256)
    studio.timeline.beatOrigin = studio.timeline.beatOrigin - Beats(millionths: 1_000_000_000)
    studio.play(256)
    studio.play(256)
    let last = try #require(studio.plan.startBeat)
    #expect(last > studio.report.sessionBeat && last < studio.report.sessionBeat + 4.5)
  }

  /// A control thread that was stopped for a while must not make JACK hold the start for a whole bar.
  @Test func `if the control thread is too late for a start, it takes the next bar`() throws {
    let studio = standing()
    let waits = studio.plan.start(from: studio.report)
    #expect(waits)
    let beat = try #require(studio.plan.startBeat)
    while studio.report.sessionBeat < beat - 1 { studio.play(256) }
    var late = studio.plan
    studio.plan.cancel()
    while studio.report.sessionBeat < beat - 0.01 { studio.play(256) }
    guard late.step(studio.report, at: Micros(rounding: studio.report.moment.due)).asksNothing else {
      Issue.record("it was asked for too late")
      return
    }
    #expect(abs(try #require(late.startBeat) - beat - 4) < 1e-6)
  }
}
