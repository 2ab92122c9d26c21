// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// With `--launch-align exact`, the host's bar falls on the session's bar, exact to the frame.
struct ExactLaunchTests {
  private func transport(at beat: Double = 16) -> LaunchBench {
    let jack = LaunchBench()
    jack.settings.alignment = .exact
    // At this tempo no bar is a whole number of cycles.
    jack.bpm = 117.3
    jack.stand(at: beat)
    return jack
  }

  @Test(arguments: [20.0, 120, 187.3, 300], [1.0, 4, 7])
  func `an exact start's place is heard on its bar or beat, to the frame`(bpm: Double, quantum: Double) throws
  {
    for press in 0..<9 {
      let jack = transport()
      jack.bpm = bpm
      jack.stand(at: 28)
      jack.quantum = Beats(quantum)
      jack.origin = -123_456
      jack.studio.jitter = 4
      for _ in 0..<(press * 37 + 2) { jack.cycle() }
      let asked = jack.time
      jack.pressPlay()
      jack.run(seconds: 2 * quantum * 60 / bpm + 0.4)
      let error = try #require(jack.launchError)
      #expect(jack.songOrigin?.phase(in: Beats(quantum)) == .zero)
      #expect(
        abs(error) <= jack.frameMicros + 2 * jack.studio.jitter,
        "\(bpm) BPM, quantum \(quantum), press \(press): \(error) us")
      // If Play is pressed so close to the bar or beat that no pre-roll fits, the start takes the next bar or
      // beat.
      let room = (try #require(jack.studio.rolling).heard) - jack.latency - asked
      #expect(room <= quantum * 60e6 / bpm + 60_000)
      #expect(jack.pressedAt &- jack.studio.rolling!.frame <= 256)
      #expect(jack.studio.placed.count <= 3)
    }
  }

  @Test func `an exact start from the song's beginning takes the nearest cycle`() throws {
    for start in [0, 3] as [UInt32] {
      let jack = transport()
      jack.studio.transport.frame = start
      jack.run(seconds: 0.313)
      jack.pressPlay()
      jack.run(seconds: 2.2)
      #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
      #expect(jack.studio.rolling!.frame == start)
    }
  }

  @Test func `a cycle lost while an exact start waits leaves the start exact`() throws {
    for lost in 1...90 {
      for count in 1...3 {
        let jack = transport()
        jack.bpm = 293.7
        jack.quantum = Beats(2)
        jack.stand(at: 28)
        jack.studio.jitter = 4
        for _ in 0...lost % 13 { jack.cycle() }
        jack.loses = { (lost..<lost + count).contains($0) }
        jack.pressPlay()
        jack.run(seconds: 2)
        let error = try #require(jack.launchError, "cycle \(lost)")
        #expect(
          abs(error) <= jack.frameMicros + 2 * jack.studio.jitter, "cycle \(lost), \(count) lost: \(error) us"
        )
        #expect(jack.songOrigin?.phase(in: jack.quantum) == .zero)
      }
    }
  }

  @Test func `a driver stall while an exact start waits delays it, still exact`() throws {
    var put = 0
    for stalled in 1...90 {
      let jack = transport()
      jack.bpm = 293.7
      jack.quantum = Beats(2)
      jack.stand(at: 28)
      jack.run(seconds: 0.1)
      jack.stall = { $0 == stalled ? 7_123 : 0 }
      jack.pressPlay()
      jack.run(seconds: 0.5)
      let isPutOff = jack.studio.rolling == nil
      jack.run(seconds: 1.6)
      let error = try #require(jack.launchError, "cycle \(stalled)")
      // A stall between our yes and the first rolling cycle cannot be corrected.
      let tolerance = jack.lastAnswer == stalled ? jack.period * 2 : jack.frameMicros
      #expect(abs(error) <= tolerance, "stall before cycle \(stalled): \(error) us")
      if isPutOff { put += 1 }
    }
    #expect((1...40).contains(put))
  }

  @Test func `an exact start stays exact beside a client that seeks at each locate`() throws {
    for press in 0..<20 {
      let jack = transport()
      jack.otherHolds = 200_000
      jack.run(seconds: 0.1)
      jack.pressPlay()
      jack.run(seconds: 4.5)
      jack.pressStop()
      jack.run(seconds: 0.4 + Double(press) * 0.017)
      jack.stand(at: 16)
      jack.pressPlay()
      jack.run(seconds: 4.5)
      #expect(abs(try #require(jack.launchError)) <= jack.frameMicros)
    }
  }

  /// We correct the transport's place a last time shortly before the beat. The client has to seek for this
  /// last locate, too.
  @Test func `a slow client not known before delays a start, which stays exact`() throws {
    var moved: UInt64 = 0
    for press in 0..<200 {
      let jack = transport()
      jack.bpm = 60
      jack.stand(at: 16)
      jack.otherHolds = 200_000
      jack.studio.jitter = 40
      for _ in 0..<(press * 3 + 2) { jack.cycle() }
      jack.pressPlay()
      jack.run(seconds: 12.5)
      #expect(
        abs(try #require(jack.launchError)) <= jack.frameMicros + 2 * jack.studio.jitter, "press \(press)")
      #expect(jack.songOrigin?.phase(in: jack.quantum) == .zero)
      // The client was ready after four seconds, and was late only for the last correction of the transport's
      // place.
      #expect(jack.launch.others.micros < 2_000_000)
      moved += jack.launch.moved
    }
    #expect(moved > 10)
  }

  @Test func `a start is exact if tempo, quantum and session change while it waits`() throws {
    let jack = transport()
    jack.stand(at: 12)
    jack.run(seconds: 0.1)
    jack.pressPlay()
    jack.run(seconds: 0.4)
    jack.bpm = 60
    jack.run(seconds: 1)
    jack.quantum = Beats(3)
    jack.run(seconds: 0.3)
    jack.origin += 700_000
    jack.run(seconds: 4)
    #expect(abs(try #require(jack.launchError)) <= jack.frameMicros)
    #expect(try #require(jack.songOrigin).phase(in: Beats(3)) == .zero)
  }

  @Test func `a stop while an exact start waits returns to where Play was pressed`() throws {
    for moment in 0..<30 {
      let jack = transport()
      let place = jack.frame
      jack.run(seconds: 0.3)
      jack.pressPlay()
      jack.run(seconds: 0.05 + Double(moment) * 0.05)
      guard jack.state != .rolling else { continue }
      if moment > 1 { #expect(jack.frame != place) }
      jack.pressStop()
      jack.run(seconds: 0.3)
      #expect(jack.frame == place)
      let actions = jack.studio.placed.count
      jack.run(seconds: 5)
      #expect(jack.frame == place && jack.studio.placed.count == actions)
      jack.pressPlay()
      jack.run(seconds: 2.3)
      #expect(abs(try #require(jack.launchError)) <= jack.frameMicros)
    }
  }

  @Test func `a client's locate while an exact start waits, or after, is not undone`() throws {
    let jack = transport()
    jack.run(seconds: 0.3)
    jack.pressPlay()
    jack.run(seconds: 0.5)
    jack.pressStop()
    jack.studio.locate = 96_000
    jack.run(seconds: 1)
    #expect(jack.frame == 96_000)

    jack.run(seconds: 0.3)
    jack.pressPlay()
    jack.run(seconds: 0.3)
    jack.send(to: 2)
    jack.run(seconds: 3)
    #expect(abs(try #require(jack.launchError)) <= jack.frameMicros)
    #expect(jack.studio.rolling?.start?.songBeat == Beats(2))
  }

  @Test func `after an exact start inside a beat the first click is the next beat's`() throws {
    let studio = Studio(tempo: 117)
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.launch.alignment = .exact
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.latencies = [.click1: 512, .click2: 512, .clock: 300, .pulse: 512, .run: 512, .jack: 512]
    studio.transport.frame = 100_001
    studio.play(seconds: 0.277)
    studio.transport.state = .starting
    studio.play(seconds: 1.5)
    #expect(studio.transport.frame > 100_001 - 256 && studio.transport.frame < 100_001)
    #expect(studio.report.song.isWaiting)
    studio.play(seconds: 3.5)
    let grid = Grid(studio.timeline)
    let first = try #require(studio.clicks.first)
    // The start is at the song's beat 4.0625, so the first click is that of beat 5.
    #expect(abs(first.heard - grid.time(of: 5)) <= 12 && first.value == 0.5)
    #expect(abs(studio.report.launch.error) <= 21)
    #expect(abs(studio.report.song.hostLag) <= 21)
    #expect(abs(studio.report.song.beat - studio.report.sessionBeat) < 1e-6)
  }
}
