// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// A DAW that counts frames drifts from the session, and relocations bring it back.
struct RelocationTests {
  /// A transport that rolls. It was started from `frame`, and we held the start until the session's next bar.
  /// The server asks its clients in the way that JACK does.
  private func rolling(tempo: Double = 117, from frame: UInt32 = 0, latency: UInt32 = 512) -> Studio {
    let studio = Studio(tempo: tempo)
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.latencies = [.click1: latency, .jack: latency]
    studio.transport.frame = frame
    studio.play(seconds: 0.2)
    studio.transport.state = .starting
    while !studio.report.song.isRolling { studio.play(256) }
    studio.play(seconds: 0.3)
    return studio
  }

  /// The distance of a DAW from the session, in microseconds; positive is late. The DAW's beats are its
  /// frames at the session's tempo, counted from frame 0.
  private func truth(_ studio: Studio) -> Double {
    let report = studio.report
    let daw = Double(report.moment.frame) / 48_000 * 1e6 / report.moment.beatMicros
    return (report.song.beat - daw) * report.moment.beatMicros
  }

  @Test func `the lag of a host that counts frames begins with its start's error`() {
    for frame in [0, 24_617 * 4] as [UInt32] {
      let studio = rolling(from: frame)
      #expect(abs(studio.report.song.hostLag - studio.report.launch.error) < 1)
      #expect(abs(studio.report.song.hostLag - truth(studio)) < 1)
      studio.play(seconds: 5)
      #expect(abs(studio.report.song.hostLag - studio.report.launch.error) < 1)
    }
  }

  @Test func `stalls and off-grid locates change a host's lag, new tempos do not`() {
    let studio = rolling()
    let start = studio.report.song.hostLag
    studio.play(256, stall: 60_000)
    studio.play(seconds: 3)
    #expect(
      studio.report.song.hostLag - start > 50_000 && abs(studio.report.song.hostLag - truth(studio)) < 300)
    let stalled = studio.report.song.hostLag
    studio.setTempo(90)
    studio.play(seconds: 1)
    #expect(abs(studio.report.song.hostLag - stalled) < 300)
    studio.locate = 1_000_000
    studio.play(seconds: 1)
    let beat = studio.report.moment.beatMicros
    #expect(abs(studio.report.song.hostLag) < beat / 2 + 1)
    #expect(abs(studio.report.song.hostLag - truth(studio)) < 300)
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    #expect(studio.report.song.hostLag == 0)
  }

  /// While the transport stands, the bars move to the host's place, so the errors of several starts do not
  /// add up.
  @Test func `a stop and a start remove a host's lag`() {
    let studio = rolling()
    studio.settings.launch.alignment = .nearest
    for round in 0..<6 {
      if round % 2 == 0 { studio.play(256, stall: 60_000) }
      studio.play(seconds: 2.9)
      #expect(round % 2 != 0 || truth(studio) > 50_000)
      // A tempo change does not change the lag.
      if round == 5 { studio.setTempo(90) }
      let lag = studio.report.song.hostLag, beat = studio.report.song.beat
      studio.transport.state = .stopped
      studio.play(256)
      let back = (beat - studio.report.song.beat) * studio.report.moment.beatMicros
      #expect(abs(back - lag) < 10_000)
      studio.play(seconds: 0.5)
      if round < 5 { #expect(abs(truth(studio)) < 1) }
      studio.transport.state = .starting
      while !studio.report.song.isRolling { studio.play(256) }
      studio.play(seconds: 0.3)
      #expect(abs(studio.report.song.hostLag) < 3_000)
      if round < 5 { #expect(abs(truth(studio)) < 3_000) }
    }
  }

  /// The place at which the song goes on comes from the sequencer's song, and not from our count of frames.
  @Test func `with a leading sequencer a stop moves none of the song's bars`() {
    let studio = rolling()
    studio.play(256, stall: 60_000)
    studio.play(seconds: 3)
    studio.settings.lead = .midi
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    #expect(truth(studio) > 50_000)
  }

  @Test func `with correction off, we never locate a host that drifts`() {
    let studio = rolling()
    studio.play(256, stall: 60_000)
    studio.play(seconds: 20)
    #expect(studio.relocations == 0)
  }

  @Test(arguments: [64, 256, 1024] as [UInt32])
  func `a host that fell behind is on the grid at the next bar, to the frame`(frames: UInt32) throws {
    let studio = rolling(latency: 2 * frames)
    studio.plan.choices.correction = .locate
    studio.play(frames, stall: 60_000)
    studio.play(seconds: 0.4, frames: frames)
    #expect(abs(studio.report.song.hostLag) > 30_000 && studio.relocations == 0)
    var silent = 0
    var landed: Double?
    for _ in 0..<Int(5 * 48_000 / frames) {
      studio.play(frames)
      if !studio.report.song.isRolling { silent += 1 }
      if landed == nil, studio.relocations == 1, studio.report.song.isRolling, silent > 0 {
        landed = studio.report.song.beat
      }
    }
    #expect(studio.relocations == 1)
    #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 325)
    // The transport is silent for the cycles that JACK needs, and for the time in which the control thread
    // reacts.
    let silence = Double(silent * Int(frames)) / 48
    let most = Double(3 * frames) / 48 + 6
    #expect(silent >= 1 && silence < most)
    let bar = try #require(landed) / 4
    let fromBarLine = abs(bar - bar.rounded()) * 4 * 60 / 117
    #expect(fromBarLine < Double(frames) / 48_000 * 1.01)
    // The song goes on from its place, without a jump.
    #expect(studio.report.song.beat > 7 && studio.report.song.beat < 16)
  }

  @Test func `correcting a host's lag after a tempo change keeps the song's bars`() {
    let studio = rolling()
    studio.play(seconds: 6)
    studio.setTempo(60)
    studio.play(seconds: 4)
    studio.plan.choices.correction = .locate
    studio.play(256, stall: 60_000)
    let before = studio.report.song.beat
    studio.play(seconds: 8)
    #expect(studio.relocations == 1 && abs(studio.report.song.hostLag) <= 25)
    #expect(abs(studio.report.song.beat - before - 8) < 0.07)
  }

  @Test func `correcting a host's lag after a meter change keeps the bars' numbers`() {
    let studio = rolling()
    studio.play(seconds: 3)
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.play(seconds: 8)
    let bars = studio.report.bars
    #expect(bars.first > 0 && bars.meter == studio.settings.meter)
    studio.plan.choices.correction = .locate
    studio.play(256, stall: 60_000)
    var silent = 0
    while studio.relocations == 0 || silent == 0 || !studio.report.song.isRolling {
      studio.play(256)
      if !studio.report.song.isRolling { silent += 1 }
      #expect(studio.report.bars == bars)
    }
    studio.play(seconds: 8)
    #expect(studio.relocations == 1 && studio.report.bars == bars)
    // After a locate or a stop all bars of the song have the present meter.
    studio.locate = studio.transport.frame - 96_000
    studio.play(seconds: 1)
    #expect(studio.report.song.isRolling && studio.report.bars == Bars(studio.settings.meter))
  }

  @Test func `a host whose lag cannot be corrected is left alone for a minute`() {
    let studio = rolling()
    studio.plan.choices.correction = .locate
    for _ in 0..<60 {
      studio.play(seconds: 1)
      studio.play(256, stall: 30_000)
    }
    #expect(studio.relocations <= 2 * (1 + TransportLimits.mostRetries) && studio.relocations >= 2)
  }

  @Test(arguments: [0.0, 1, 4])
  func `a locate while rolling keeps the host on the grid`(step: Double) throws {
    for wait in 0..<8 {
      let studio = rolling()
      studio.play(seconds: 0.3 + Double(wait) * 0.21)
      // The locate goes to bar 9, the song's beat 32.
      let frame = UInt32((32 * 60.0 / 117 * 48_000).rounded())
      let asked = studio.report.sessionBeat
      studio.locate(frame: frame, beat: 32, step: step)
      while studio.report.song.isRolling { studio.play(256) }
      while !studio.report.song.isRolling { studio.play(256) }
      let landed = studio.report.song.beat
      studio.play(seconds: 1)
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60)
      #expect(landed > 31.98 && landed < (step > 0 ? 32.01 : 33.01))
      let waited = studio.report.sessionBeat - asked - 1 * 117 / 60
      #expect(waited <= max(step, 0.2) + 0.3)
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / max(step, 1)
      #expect(abs(phase - phase.rounded()) < 1e-6)
    }
  }

  /// The control thread may be stopped after it has read the clock and before it sends the request.
  @Test(arguments: [64, 256, 1024] as [UInt32], [1, 2, 3, 5])
  func `a locate that is requested too late still lands on the grid`(frames: UInt32, late: Int) {
    for step in [0.0, 1, 4] {
      let studio = rolling(latency: 2 * frames)
      studio.relocatesLate = late
      let frame = UInt32((32 * 60.0 / 117 * 48_000).rounded())
      studio.locate(frame: frame, beat: 32, step: step)
      while studio.report.song.beat < 30 { studio.play(frames) }
      var stands = 0
      while studio.transport.state != .rolling {
        studio.play(frames)
        stands += 1
      }
      let landed = studio.report.song.beat
      studio.play(seconds: 1, frames: frames)
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60)
      #expect(landed > 31.9 && landed < 33.5, "\(landed)")
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / max(step, 1)
      #expect(abs(phase - phase.rounded()) < 1e-6)
      // The locate cost one silence and at most one other locate that replaced it.
      #expect(Double(stands) < Double(6 * late + 20) && studio.relocations <= 2)
      #expect(!studio.plan.isBusy)
    }
  }

  /// A locate beside a slow client is planned up to 240 cycles ahead, so the cycle's length must be exact.
  @Test(arguments: [64, 256, 1024] as [UInt32])
  func `a locate meets its cycle though the server cuts times to microseconds`(frames: UInt32) throws {
    for wait in 0..<8 {
      let studio = rolling(latency: 2 * frames)
      studio.cutsCycleEnds = true
      studio.othersTake = 300_000
      studio.locate = 480_000
      studio.play(seconds: 3 + Double(wait) * 0.21, frames: frames)
      studio.locate(to: 44, step: 1)
      while studio.relocations == 0 { studio.play(frames) }
      while !studio.report.song.isRolling || studio.report.song.beat < 43 { studio.play(frames) }
      let planned = try #require(studio.relocation)
      #expect(abs(planned.heardAt - studio.report.moment.heard.start) < 1.6)
    }
  }

  enum Others: CaseIterable { case quick, slow, slowBefore }

  /// A knob or a second user sends another locate during the first one. It comes in the cycle before JACK
  /// stands for the first one, while JACK stands, or between the release and the first rolling cycle. The
  /// other clients are quick or slow.
  @Test(arguments: campaign([64, 256, 1024] as [UInt32]), campaign(Others.allCases))
  func `a second locate during the first one lands on the grid, too`(frames: UInt32, others: Others) {
    for behind in 0...60 {
      let step = Double(behind % 2)
      let studio = rolling(latency: 2 * frames)
      // An earlier locate shows how much time the slow clients need.
      studio.othersTake = others == .quick ? 0 : 100_000
      if others != .quick { studio.locate = 480_000 }
      studio.play(seconds: 0.5, frames: frames)
      if others != .slow { studio.othersTake = 0 }
      studio.locate(to: 4, step: step)
      while studio.relocations == 0 { studio.play(frames) }
      for _ in 0..<behind { studio.play(frames) }
      // JACK handles the second locate up to two cycles late. Slow clients get the time that they need and
      // one cycle more.
      studio.relocatesLate = behind % (others == .slow ? 2 : 3)
      studio.locate(to: 44, step: step)
      var mayRoll = true
      while studio.report.song.beat < 44 || !studio.report.song.isRolling {
        studio.play(frames)
        #expect(mayRoll || !studio.report.song.isRolling || studio.report.song.beat > 40, "\(behind)")
        // If all clients have let the transport roll, it will roll. But if JACK gets a second request before
        // the transport rolls, no sound may come between the two requests.
        mayRoll = studio.relocations == 1 || mayRoll && studio.transport.state == .rolling
      }
      studio.play(seconds: 1, frames: frames)
      #expect(studio.report.song.isRolling && !studio.plan.isBusy)
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60, "\(behind) cycles behind it")
      #expect(studio.report.song.beat > 44 && studio.report.song.beat < 52)
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / max(step, 1)
      #expect(abs(phase - phase.rounded()) < 1e-6)
      #expect(studio.relocations == 2 || behind % 3 > 0 && studio.relocations == 3)
    }
  }

  /// The start begins at the locate's target. But it waits for its own beat, and not for the time at which
  /// the target was to be heard.
  @Test(arguments: [64, 256, 1024] as [UInt32])
  func `a start after a stop during a locate waits for its own beat`(frames: UInt32) {
    for behind in 0..<8 {
      let studio = rolling(latency: 2 * frames)
      studio.locate(to: 4, step: 1)
      while studio.relocations == 0 { studio.play(frames) }
      for _ in 0..<behind { studio.play(frames) }
      studio.transport.state = .stopped
      studio.plan.cancel()
      studio.play(frames)
      studio.transport.state = .starting
      studio.play(seconds: 4, frames: frames)
      #expect(studio.report.song.isRolling)
      #expect(abs(studio.report.launch.error) < 0.51e6 / 48_000 * Double(frames), "\(behind)")
      #expect(abs(studio.report.song.hostLag - studio.report.launch.error) <= 60, "\(behind)")
    }
  }

  @Test(arguments: [0, 1, 2, 3, 6, 12])
  func `a stop on the bar and a locate in any order both take effect`(behind: Int) {
    for stopsFirst in [true, false] {
      let studio = rolling()
      if stopsFirst { studio.plan.stop(onBar: true) }
      studio.locate(frame: 98_463, beat: 4, step: 4)
      for _ in 0..<behind { studio.play(256) }
      if !stopsFirst { studio.plan.stop(onBar: true) }
      var last = studio.report
      while studio.transport.state != .stopped {
        studio.play(256)
        if studio.report.song.isRolling { last = studio.report }
      }
      studio.play(seconds: 0.1)
      #expect(studio.transport.frame == 98_463 && studio.relocations == 0 && !studio.plan.isBusy)
      let end = last.song.beat + last.moment.cycleMicros / last.moment.beatMicros
      #expect(abs(end / 4 - (end / 4).rounded()) * 4 * last.moment.beatMicros < 2_700)
    }
  }

  /// The stop takes effect on a bar line after the locate's target.
  @Test func `a stop on the bar that is requested during a locate is carried out`() {
    for behind in 0..<6 {
      let studio = rolling()
      studio.locate(to: 3, step: 1)
      while studio.relocations == 0 { studio.play(256) }
      for _ in 0..<behind { studio.play(256) }
      studio.plan.stop(onBar: true)
      // The plan no longer waits for a locate, so a start that came now would cancel the stop.
      #expect(!studio.plan.isLocating)
      var last = studio.report
      while studio.transport.state != .stopped {
        studio.play(256)
        if studio.report.song.isRolling { last = studio.report }
      }
      let end = last.song.beat + last.moment.cycleMicros / last.moment.beatMicros
      #expect(abs(end - 4) * last.moment.beatMicros < 2_700, "\(end)")
      #expect(!studio.plan.isBusy)
    }
  }

  @Test(arguments: [0.0, 100_000])
  func `a locate during another client's locate lands on the grid`(
    othersTake: Double
  ) {
    let studio = rolling()
    studio.othersTake = othersTake
    studio.locate = 480_000
    studio.play(seconds: 1)
    studio.locate = 960_000
    studio.play(256)
    #expect(studio.report.isBetweenPlaces && studio.report.isMoving)
    studio.locate(to: 44, step: 1)
    studio.play(seconds: 3)
    #expect(studio.report.song.isRolling && !studio.report.isBetweenPlaces && studio.report.song.beat > 44)
    #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60)
    // A transport that stood before its start is not on the way between two places.
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    studio.transport.state = .starting
    while !studio.report.song.isRolling {
      studio.play(256)
      #expect(!studio.report.isBetweenPlaces)
    }
  }

  /// The first locate shows how much time the client needs, and is corrected once. That time is remembered
  /// even after locates in which the client was ready in time.
  @Test(arguments: campaign([64, 256, 1024] as [UInt32]), campaign([20_000.0, 100_000, 300_000, 900_000]))
  func `each locate beside a slow client lands on the grid`(frames: UInt32, othersTake: Double) {
    let studio = rolling(latency: 2 * frames)
    studio.othersTake = othersTake
    for number in 1...12 {
      studio.locate(to: 4, step: 1)
      studio.play(seconds: 4, frames: frames)
      let isKnown = othersTake < 4_000 + 3 * Double(frames) * 1e6 / 48_000
      #expect(studio.relocations == number + (isKnown ? 0 : 1))
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60, "\(number)")
      #expect(studio.report.song.beat > 4 && studio.report.song.beat < 12 && !studio.plan.isBusy)
    }
    // The client is quick from here on. JACK now waits for the client and not for us, so we see how quick the
    // client is.
    studio.othersTake = 0
    for _ in 0..<8 {
      studio.locate = 480_000
      studio.play(seconds: 0.5)
    }
    #expect(studio.report.launch.othersTake < 10_000)
  }

  /// A start waits for its bar, so it does not show how much of the wait a slow client needed.
  @Test func `starts between locates do not make us forget a slow client's time`() {
    let studio = rolling()
    studio.settings.launch.alignment = .nearest
    studio.othersTake = 300_000
    for number in 1...8 {
      studio.locate(to: 4, step: 1)
      studio.play(seconds: 4)
      #expect(studio.relocations == number + 1, "\(number)")
      studio.transport.state = .stopped
      studio.play(seconds: 0.3)
      studio.transport.state = .starting
      studio.play(seconds: 4)
      #expect(studio.report.song.isRolling)
    }
    // A client that came after the slow client and left again is not the slow client. But an older client
    // that leaves may be the slow one.
    for clients in [4, 3, 4, 5, 4, 3] as [Int32] {
      studio.clients = clients
      studio.play(256)
      #expect(studio.report.launch.othersTake > 300_000)
    }
    studio.clients = 2
    studio.play(256)
    #expect(studio.report.launch.othersTake == 0)
  }

  /// `isKnown`: an earlier locate has shown that the client is slow. The session changes in each part of the
  /// locate's silence.
  @Test(arguments: campaign([0.0, 100_000, 300_000]), campaign([true, false]))
  func `after a session change during a locate the song keeps its bars`(
    othersTake: Double, isKnown: Bool
  ) {
    for change in [20.0, 100, 130, 300, 0] {
      for step in [1.0, 4] {
        for behind in [0, 2, 5, 20, 50, 70] {
          let studio = rolling()
          studio.othersTake = othersTake
          if isKnown { studio.locate = 480_000 }
          studio.play(seconds: 1)
          let place = studio.frame(of: 4)
          studio.locate(to: 4, step: step)
          while studio.relocations == 0 { studio.play(256) }
          for _ in 0..<behind { studio.play(256) }
          let isSilent = studio.report.isBetweenPlaces
          if change > 0 {
            studio.setTempo(change)
          } else {
            studio.timeline.timeOrigin = studio.timeline.timeOrigin - Micros(1_234_567_000)
          }
          studio.play(seconds: 6)
          let name = "\(change), \(step), \(behind)"
          #expect(studio.report.song.isRolling && !studio.plan.isBusy, "\(name)")
          let phase = (studio.report.sessionBeat - studio.report.song.beat) / step
          // After the silence the song plays, and is in phase with the quantum.
          #expect(abs(phase - phase.rounded()) < 1e-6, "\(name): \(phase)")
          #expect(studio.report.song.beat > 4 && studio.report.song.beat < 44, "\(name)")
          // From the locate's target on, a host that counts frames plays in the new tempo.
          let moment = studio.report.moment
          let passed = (Double(moment.frame) - Double(place)) / 0.048
          let behindSong = (studio.report.song.beat - 4) * moment.beatMicros - passed
          #expect(!isSilent || abs(behindSong) < 150, "\(name): \(behindSong) us")
        }
      }
    }
  }

  /// The tempo goes up or down in many steps, within the locate's silence or far beyond it. This also happens
  /// during the first locate, when we do not know yet that the client is slow.
  @Test(arguments: [0, 20_000, 300_000, 600_000, 900_000], [125.0, 413])
  func `a tempo dragged during a locate leaves the song in phase`(
    othersTake: Double, tempo: Double
  ) {
    for (seconds, isKnown) in [(0.3, false), (0.3, true), (0.4, true), (1.5, true), (1.5, false)] {
      let studio = rolling()
      studio.setTempo(240)
      studio.othersTake = othersTake
      if isKnown { studio.locate = 480_000 }
      studio.play(seconds: 3)
      studio.locate(frame: 192_000, beat: 16, step: 4)
      while studio.relocations == 0 || studio.report.song.isRolling { studio.play(256) }
      for step in 1...25 {
        studio.play(seconds: seconds / 25)
        studio.setTempo(240 + (tempo - 240) * Double(step) / 25)
      }
      let isSilent = studio.report.isBetweenPlaces
      studio.play(seconds: 6)
      let name = "in \(seconds) s, known: \(isKnown)"
      #expect(studio.report.song.isRolling && !studio.plan.isBusy, "\(name)")
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / 4
      #expect(abs(phase - phase.rounded()) < 1e-6, "\(name): \(phase)")
      // A change of tempo while the transport rolls may change the lag.
      #expect(
        !isSilent && othersTake < 500_000 || abs(studio.report.song.hostLag) < 150,
        "\(name): \(studio.report.song.hostLag) us")
    }
  }

  @Test func `a locate ends even if a slow client needs longer each time`() {
    let studio = rolling()
    studio.othersTake = 50_000
    studio.locate(to: 4, step: 1)
    for _ in 0..<4000 {
      let before = studio.relocations
      studio.play(256)
      if studio.relocations > before { studio.othersTake *= 3 }
    }
    #expect(studio.relocations == 1 + TransportLimits.mostRetries)
    #expect(studio.report.song.isRolling && !studio.plan.isBusy && studio.plan.leftLate == 1)
  }

  /// The client needs longer than the longest time that we ever estimate. So each locate is corrected, and
  /// starts do not wait that long.
  @Test(arguments: campaign([64, 256, 1024] as [UInt32]), campaign([2_500_000.0, 3_200_000, 6_400_000]))
  func `a locate beside a client that needs many seconds is on the grid`(frames: UInt32, othersTake: Double) {
    let studio = rolling(latency: 2 * frames)
    studio.othersTake = othersTake
    for number in 1...3 {
      studio.locate(to: 4, step: 4)
      studio.play(seconds: 20, frames: frames)
      #expect(studio.relocations == 2 * number)
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60, "\(number)")
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / 4
      #expect(abs(phase - phase.rounded()) < 1e-6)
      #expect(studio.report.song.beat > 4 && !studio.plan.isBusy && studio.plan.leftLate == 0)
    }
    #expect(studio.report.launch.othersTake <= ReadinessEstimate.longest)
    // The client is quick from here on. There is one silence, which is as long as the longest estimate.
    studio.othersTake = 0
    studio.locate(to: 4, step: 4)
    studio.play(seconds: 6, frames: frames)
    #expect(studio.relocations == 7 && studio.report.song.isRolling && abs(studio.report.song.hostLag) <= 25)
  }

  /// After its timeout JACK rolls without the client, and another locate would end in the same way.
  @Test func `a client slower than JACK's limit is reported and not waited for`() {
    let studio = rolling()
    for limit in [5_000_000, 10_000_000] as [Int64] {
      studio.server = TransportServer(
        usualLimit: Micros(limit), longestHold: limit == 5_000_000 ? Micros(limit) : nil)
      studio.othersTake = Double(limit) - 700_000
      let before = studio.relocations, left = studio.plan.leftLate
      studio.locate(to: 4, step: 4)
      studio.play(seconds: 14)
      #expect(studio.relocations == before + 1 && studio.plan.leftLate == left + 1)
      #expect(studio.report.song.isRolling && !studio.plan.isBusy)
    }
  }

  /// A cycle that is lost while the client gets ready leaves unknown how much time the client needs.
  @Test(arguments: [40_000.0, 300_000, 900_000])
  func `a locate beside a slow client is on the grid though a cycle is lost`(othersTake: Double) {
    for stall in [9_000.0, 30_000] {
      for behind in [1, 3, 6] {
        let studio = rolling()
        studio.othersTake = othersTake
        studio.locate(to: 4, step: 1)
        while !studio.report.isBetweenPlaces { studio.play(256) }
        for _ in 0..<behind { studio.play(256) }
        studio.play(256, stall: stall)
        studio.play(seconds: 5)
        let name = "\(stall) us, \(behind) cycles behind it"
        #expect(studio.report.song.isRolling && !studio.plan.isBusy, "\(name)")
        #expect(abs(studio.report.song.hostLag) <= 150, "\(name): \(studio.report.song.hostLag) us")
        let phase = studio.report.sessionBeat - studio.report.song.beat
        #expect(abs(phase - phase.rounded()) < 1e-6, "\(name)")
      }
    }
  }

  @Test func `a tempo that keeps changing does not keep a locate waiting for ever`() {
    let studio = rolling()
    studio.othersTake = 600_000
    studio.locate = 480_000
    studio.play(seconds: 3)
    studio.locate(frame: 192_000, beat: 8, step: 4)
    var seconds = 0.0
    while studio.relocations == 0 || studio.report.song.isRolling { studio.play(256) }
    while !studio.report.song.isRolling, seconds < 20 {
      seconds += 0.03
      studio.setTempo(120 + 20 * (seconds.truncatingRemainder(dividingBy: 2)))
      studio.play(seconds: 0.03)
    }
    #expect(seconds < 6.5)
  }

  /// The locate's target was chosen in the bars of the old meter.
  @Test(arguments: [0, 300_000])
  func `a meter that changes during a locate begins at the locate's target`(othersTake: Double) {
    let studio = rolling()
    studio.othersTake = othersTake
    if othersTake > 0 { studio.locate = 480_000 }
    studio.play(seconds: 1)
    studio.locate(to: 8, step: 4)
    while studio.relocations == 0 || studio.report.song.isRolling { studio.play(256) }
    studio.settings.meter = Meter(beatsPerBar: 3)
    while !studio.report.song.isRolling || studio.report.song.beat < 11.5 { studio.play(256) }
    #expect(studio.report.bars.first == 64 && studio.report.bars.place(at: 11.5).bar == 3)
    #expect(studio.report.bars.meter == studio.settings.meter)
  }

  /// `hasAnother`: another locate follows the stop.
  @Test(arguments: [20_000, 100_000, 300_000], [true, false])
  func `a start cancels a stop that waits during a locate, not the locate`(
    othersTake: Double, hasAnother: Bool
  ) {
    for behind in [0, 1, 2, 3, 8, 20, 60] {
      let studio = rolling()
      studio.othersTake = othersTake
      studio.locate(to: 4, step: 4)
      while studio.relocations == 0 { studio.play(256) }
      for _ in 0..<behind { studio.play(256) }
      studio.plan.stop(onBar: true)
      studio.play(256)
      if hasAnother { studio.locate(to: 44, step: 4) }
      studio.play(256)
      studio.command(.play)
      studio.play(seconds: 6)
      #expect(studio.report.song.isRolling && !studio.plan.isBusy, "\(behind)")
      #expect(abs(studio.report.song.hostLag) <= 25 && abs(truth(studio)) <= 60, "\(behind)")
      let phase = (studio.report.sessionBeat - studio.report.song.beat) / 4
      #expect(abs(phase - phase.rounded()) < 1e-6)
      #expect(studio.report.song.beat > (hasAnother ? 44 : 4))
    }
  }

  /// After its timeout JACK rolls without the client, at a time that is on no beat.
  @Test func `nothing plays before JACK rolls if a client never gets ready`() {
    let studio = Studio()
    studio.asksBeforeRolling = true
    studio.listensToPulse = true
    studio.othersTake = 1e9
    studio.settings.click.when = .rolling
    studio.play(seconds: 0.7)
    // The start comes with a locate, so that JACK asks the other clients.
    (studio.transport.state, studio.locate) = (.starting, 0)
    studio.play(seconds: 9)
    // At each beat for which the start was planned, a click may be heard before the delay is noticed.
    let clicks = studio.clicks.count, messages = studio.messages.count, edges = studio.runEdges.count
    #expect(clicks <= 3 && studio.messages.last?.event.status == MIDI.stop && edges % 2 == 0)
    studio.play(seconds: 5)
    #expect(studio.transport.state == .starting && studio.report.launch.moved == 2)
    #expect(studio.clicks.count == clicks && studio.messages.count == messages)
    #expect(studio.runEdges.count == edges && !studio.report.song.isWaiting && studio.report.launch.isGivenUp)
    studio.transport.state = .rolling
    studio.play(seconds: 4)
    #expect(
      studio.report.song.isRolling && studio.clicks.count >= clicks + 7 && !studio.report.launch.isGivenUp)
    // The nearest bar line is about 700 ms from the time at which JACK began to roll.
    #expect(abs(studio.report.launch.error - 709_000) < 6_000)
    #expect(studio.runEdges.count == edges + 1)
    let away = studio.report.sessionBeat - studio.report.song.beat
    #expect(abs(away - away.rounded()) < 1e-6)
  }

  /// We learn from the first locates that requests take long, and send later requests earlier.
  @Test func `a locate that is always requested too late rolls on the grid at last`() {
    let studio = rolling()
    studio.locate(to: 32, step: 4)
    for _ in 0..<600 {
      studio.relocatesLate = 12
      studio.play(256)
    }
    #expect(studio.report.song.isRolling && !studio.plan.isBusy && abs(studio.report.song.hostLag) <= 25)
    #expect(studio.relocations == 2 + TransportLimits.mostRetries && studio.plan.leftLate == 0)
  }

  @Test func `if each locate takes longer than the last, the song rolls late`() {
    let studio = rolling()
    studio.locate(to: 32, step: 4)
    var late = 12
    for _ in 0..<1_500 {
      studio.relocatesLate = late
      let before = studio.relocations
      studio.play(256)
      if studio.relocations > before { late *= 2 }
    }
    #expect(studio.report.song.isRolling && !studio.plan.isBusy && studio.report.song.hostLag > 5_000)
    #expect(studio.relocations <= (1 + TransportLimits.mostRetries) * (1 + TransportLimits.mostRetries))
  }

  @Test func `a locate that is requested too late and not repeated rolls late`() {
    let studio = rolling()
    studio.relocatesLate = 6
    studio.locate(to: 32, step: 4)
    while studio.relocations == 0 { studio.play(256) }
    studio.plan.cancel()
    studio.play(seconds: 0.5)
    #expect(studio.report.song.isRolling && studio.relocations == 1 && studio.report.song.hostLag > 5_000)
  }

  @Test func `a waiting locate is made at once if another client stops`() {
    let studio = rolling()
    studio.locate(to: 19.5, step: 4)
    studio.play(256)
    studio.transport.state = .stopped
    studio.play(seconds: 0.1)
    #expect(studio.transport.frame == 480_000 && studio.relocations == 0)
  }

  @Test func `a stop on the bar stops in the nearest cycle`() throws {
    for wait in 0..<12 {
      for step in [1.0, 4] {
        let studio = rolling()
        studio.play(seconds: Double(wait) * 0.173)
        let asked = studio.report.sessionBeat
        studio.plan.stop(onBar: step == 4)
        while studio.report.song.isRolling { studio.play(256) }
        let stopped = studio.report.sessionBeat
        let beat = (stopped / step).rounded() * step
        #expect(abs(stopped - beat) * studio.report.moment.beatMicros <= 0.51 * 5334)
        #expect(stopped - asked <= step + 0.02 && !studio.plan.isBusy)
      }
    }
  }

  @Test func `a stop on the bar follows the song's bars after another meter`() throws {
    for wait in 0..<8 {
      let studio = rolling()
      studio.settings.meter = Meter(beatsPerBar: 7, beatType: 8)
      while studio.report.song.beat < 5 { studio.play(256) }
      // After a bar of four quarters and a bar of seven eighths the meter is 4/4 again, so bar lines are at
      // beats 7.5, 11.5 and 15.5.
      studio.settings.meter = Meter()
      while studio.report.song.beat < 8 { studio.play(256) }
      studio.play(seconds: Double(wait) * 0.273)
      let origin = studio.report.sessionBeat - studio.report.song.beat
      studio.plan.stop(onBar: true)
      while studio.report.song.isRolling { studio.play(256) }
      let stopped = studio.report.sessionBeat - origin
      let line = ((stopped + 0.5) / 4).rounded() * 4 - 0.5
      #expect(abs(stopped - line) * studio.report.moment.beatMicros <= 0.51 * 5334)
      #expect(line > 8)
    }
  }

  @Test func `with lag correction on, other clients' locates are not held`() {
    let studio = rolling()
    studio.plan.choices.correction = .locate
    for _ in 0..<20 {
      studio.locate = 96_000
      studio.play(256)
      studio.play(256)
      #expect(studio.report.song.isRolling)
      studio.play(seconds: 0.2)
    }
  }
}

/// Tempo requests of other clients to the timebase master.
struct TempoRequestTests {
  @Test func `another client's tempo is a request, our tempo sent back is none`() {
    var request = TempoRequest()
    for (second, tempo) in [120.0, 121, 122].enumerated() { request.show(tempo, at: Double(second) * 1e6) }
    for echo in [122, 121.000_4, 120] {
      request.read(echo, at: 2.5e6)
      #expect(request.drain() == nil)
    }
    request.read(97, at: 2.5e6)
    #expect(request.drain() == 97)
    #expect(request.drain() == nil)
    // A tempo that was shown long ago may be requested again.
    request.show(122, at: 9e6)
    request.read(120, at: 9.5e6)
    #expect(request.drain() == 120)
  }

  /// A standing transport keeps showing the last tempo that was written, and jack2 does not call the timebase
  /// master again meanwhile.
  @Test func `a tempo that the standing transport still shows is no tempo request`() {
    var request = TempoRequest()
    request.show(120, at: 0)
    request.read(120, at: 60e6)
    #expect(request.drain() == nil)
    request.show(131, at: 90e6)
    request.read(120, at: 91e6)
    #expect(request.drain() == nil)
    request.read(120, at: 94e6)
    #expect(request.drain() == 120)
  }

  @Test func `impossible tempos of another client are no tempo requests`() {
    var request = TempoRequest()
    for tempo in [0, -1, .nan, .infinity, .leastNonzeroMagnitude, 19, 1000] {
      request.read(tempo, at: 0)
      #expect(request.drain() == nil)
    }
  }
}
