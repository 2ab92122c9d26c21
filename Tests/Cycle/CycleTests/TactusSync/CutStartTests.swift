// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Another client has shortened JACK's timeout for slow clients, so JACK lets a start roll that we hold.
struct CutStartTests {
  private func studio(_ alignment: Alignment = .nearest) -> Studio {
    let studio = Studio()
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.launch.alignment = alignment
    studio.settings.syncsStartStop = true
    studio.plan.choices = studio.settings
    studio.latencies = [.jack: 512]
    studio.longestHold = 30_000
    return studio
  }

  private func roll(_ studio: Studio, _ frames: UInt32) {
    var cycles = 0
    repeat {
      studio.play(frames)
      cycles += 1
    } while !studio.report.song.isRolling && cycles < 3_000
  }

  @Test(arguments: [Alignment.nearest, .exact], [256, 1024] as [UInt32])
  func `a held start that JACK lets roll early is repeated on its bar`(alignment: Alignment, frames: UInt32) {
    for moment in 1..<8 {
      let studio = studio(alignment)
      studio.play(seconds: 0.2 + 0.21 * Double(moment), frames: frames)
      studio.locate = 96_000
      studio.play(seconds: 0.1, frames: frames)
      // The transport starts in the way in which a DAW starts it.
      studio.transport.state = .starting
      roll(studio, frames)
      guard studio.report.launch.cutStarts > 0 else {
        #expect(abs(studio.report.launch.error) < Double(frames) / 0.048 * 3 + 10_000)
        continue
      }
      #expect(studio.report.launch.holdsBriefly && studio.report.launch.cutFrame == 96_000)
      // The control thread reacts: it stops the transport, and starts again from `cutFrame`.
      studio.transport.state = .stopped
      studio.play(frames)
      studio.locate = studio.report.launch.cutFrame
      studio.play(frames)
      studio.pressPlay()
      roll(studio, frames)
      #expect(studio.report.launch.cutStarts == 1)
      let bound = Double(frames) / 0.048 * (frames == 256 ? 0.76 : 1.1)
      #expect(
        abs(studio.report.launch.error) < bound, "\(alignment), \(frames): \(studio.report.launch.error) us")
      // The session got one start and no stop.
      studio.play(seconds: 4)
      #expect(studio.told.allSatisfy { $0.change == .playing(true) })
      studio.transport.state = .stopped
      studio.play(seconds: 0.2)
      #expect(studio.told.last?.change == .playing(false))
    }
  }

  @Test func `a start for which JACK asked no client is noticed as cut short`() {
    let studio = studio()
    studio.play(seconds: 0.3)
    studio.locate = 96_000
    studio.play(seconds: 0.3)
    // JACK's timeout is shorter than a period, so JACK asks no client.
    studio.transport.state = .rolling
    studio.play(256)
    #expect(
      studio.report.launch.cutStarts == 1 && studio.report.launch.holdsBriefly
        && studio.report.launch.cutFrame == 96_000)
    studio.play(seconds: 1)
    #expect(studio.report.launch.cutStarts == 1)
  }

  @Test func `a start that rolls after JACK's full timeout does not count as cut`() {
    let studio = Studio(tempo: 20)
    studio.asksBeforeRolling = true
    studio.longestHold = 5e6
    studio.play(seconds: 0.3)
    studio.transport.state = .starting
    roll(studio, 256)
    #expect(studio.report.song.isRolling && studio.report.launch.cutStarts == 0)
  }

  @Test func `after the client with the short timeout leaves, starts are held again`() {
    let studio = studio()
    studio.play(seconds: 0.3)
    studio.transport.state = .starting
    roll(studio, 256)
    #expect(studio.report.launch.holdsBriefly)
    studio.clients -= 1
    studio.longestHold = .infinity
    studio.transport.state = .stopped
    studio.play(seconds: 0.3)
    #expect(!studio.report.launch.holdsBriefly)
    studio.transport.state = .starting
    roll(studio, 256)
    #expect(abs(studio.report.launch.error) < 2_720 && studio.report.launch.cutStarts == 1)
  }

  @Test(arguments: [0.2, 0.5])
  func `between two of our locates the transport rolls for at least 150 ms`(othersTake: Double) {
    let studio = Studio()
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.play(seconds: 0.3)
    studio.transport.state = .rolling
    studio.play(seconds: 1.1)
    studio.othersTake = othersTake * 1e6
    studio.locate(frame: 768_000, beat: 32, step: 4)
    var rolled = 0.0, least = Double.infinity, silences = 0, wasStarting = false
    for _ in 0..<2_500 {
      studio.play(256)
      let isStarting = studio.transport.state == .starting
      if isStarting, !wasStarting {
        silences += 1
        if silences > 1 { least = min(least, rolled) }
      }
      rolled = isStarting ? 0 : rolled + 256 / 0.048
      wasStarting = isStarting
    }
    #expect(silences == 2, "the first comes late, and another makes up for it")
    #expect(least >= 150_000, "\(least) us between two locates")
    let bars = (studio.report.sessionBeat - studio.report.song.beat) / 4
    #expect(abs(bars - bars.rounded()) < 1e-6 && abs(studio.report.song.hostLag) < 5_334)
  }

  @Test func `a transport that claims to roll but stands is noticed after a second`() {
    let studio = Studio()
    studio.transport.state = .rolling
    studio.play(seconds: 0.5)
    #expect(!studio.report.standsStill)
    studio.isStuck = true
    studio.play(seconds: 0.9)
    #expect(!studio.report.standsStill)
    studio.play(seconds: 0.2)
    #expect(studio.report.standsStill)
    studio.isStuck = false
    studio.play(256)
    studio.play(256)
    #expect(!studio.report.standsStill)
  }

  /// Hydrogen 1.2.2 shows such bars: its ticks count through the whole bar, and its beat is always 1.
  @Test(arguments: [Lead.host, .link])
  func `a leading timebase master whose bars make no sense is noticed`(lead: Lead) {
    for isSane in [true, false] {
      let studio = Studio()
      studio.settings.lead = lead
      studio.transport.state = .rolling
      for cycle in 0..<800 {
        let ticks = Double(cycle) * 256 / 48_000 * 2 * 192
        let inBar = Int(ticks) % 768
        studio.transport.bbt = BBT(
          bar: Int32(ticks / 768) + 1, beat: isSane ? Int32(inBar / 192) + 1 : 1,
          tick: Int32(isSane ? inBar % 192 : inBar), barStartTick: Double(Int(ticks / 768) * 768),
          beatsPerBar: 4, beatType: 4, ticksPerBeat: 192, beatsPerMinute: 120)
        studio.play(256)
      }
      #expect(studio.report.master.isSenseless == (!isSane && lead == .host))
    }
  }
}
