// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

@Suite struct LaunchTests {
  @Test func `a start rolls in the cycle nearest to the session's bar`() throws {
    for bpm in [20.0, 120, 187.3, 300] {
      for quantum in [1.0, 3.5, 4, 7] {
        for press in 0..<40 {
          let jack = LaunchBench()
          jack.bpm = bpm
          jack.quantum = Beats(quantum)
          jack.origin = -123_456
          for _ in 0..<(press * 13 + 2) { jack.cycle() }
          jack.pressPlay()
          jack.run(seconds: quantum * 60 / bpm + 0.1)
          let error = try #require(jack.launchError)
          #expect(abs(error) <= jack.period / 2 + 1, "\(bpm) BPM, quantum \(quantum), press \(press)")
          #expect(jack.songOrigin?.phase(in: Beats(quantum)) == .zero)
          #expect(jack.studio.rolling!.heard - jack.time < 0)
          // JACK tells whole microseconds.
          #expect(abs(jack.launch.error - error) < 1)
        }
      }
    }
  }

  @Test func `no start waits longer than one quantum`() throws {
    for press in 0..<100 {
      let jack = LaunchBench()
      jack.run(seconds: 0.1 + Double(press) * 0.037)
      let asked = jack.time
      jack.pressPlay()
      jack.run(seconds: 2.2)
      #expect(try #require(jack.studio.rolling).heard - asked < 2e6 + jack.latency + 3 * jack.period)
    }
  }

  @Test func `a start inside the song's bar waits for that place in a session bar`() throws {
    let jack = LaunchBench()
    jack.stand(at: 9.25)
    jack.run(seconds: 0.3)
    jack.pressPlay()
    jack.run(seconds: 2.2)
    let origin = try #require(jack.songOrigin)
    #expect(origin.phase(in: Beats(4)) == .zero)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
  }

  @Test func `a start waits only for a beat, or not at all, if the user chose so`() throws {
    let jack = LaunchBench()
    jack.settings.moment = .beat
    jack.run(seconds: 0.3)
    jack.pressPlay()
    jack.run(seconds: 0.6)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
    #expect(try #require(jack.songOrigin).phase(in: Beats(1)) == .zero)

    let hasty = LaunchBench()
    hasty.settings.moment = .now
    hasty.run(seconds: 0.3)
    hasty.pressPlay()
    hasty.run(seconds: 0.1)
    #expect(hasty.waited == 1)
    // The song's beats still fall on the session's beats.
    #expect(try #require(hasty.songOrigin).phase(in: Beats(1)) == .zero)
  }

  @Test func `a locate of a rolling transport is never held`() {
    let jack = LaunchBench()
    jack.settings.moment = .now
    jack.run(seconds: 0.1)
    jack.pressPlay()
    jack.run(seconds: 0.1)
    jack.settings.moment = .bar
    for _ in 0..<20 {
      jack.run(seconds: 0.077)
      let before = jack.waited
      jack.pressPlay()  // At a locate JACK goes through Starting, too.
      jack.cycle()
      jack.cycle()
      #expect(jack.state == .rolling)
      #expect(jack.waited - before <= 1)
    }
    #expect(jack.studio.placed.count == 0)
  }

  @Test func `a stop ends a start's wait, and the next start waits for a bar again`() throws {
    let jack = LaunchBench()
    jack.run(seconds: 0.3)
    jack.pressPlay()
    jack.run(seconds: 0.2)
    #expect(jack.launch.isHolding)
    jack.pressStop()
    jack.run(seconds: 0.3)
    #expect(!jack.launch.isHolding)
    #expect(jack.studio.rolling == nil)
    jack.pressPlay()
    jack.run(seconds: 2.2)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
  }

  @Test func `a start is on its bar though tempo, quantum and session change first`() throws {
    let jack = LaunchBench()
    jack.run(seconds: 0.1)
    jack.pressPlay()
    jack.run(seconds: 0.4)
    jack.bpm = 60  // Beat 4 moves from 2 s to 4 s.
    jack.run(seconds: 1)
    #expect(jack.state == .starting)
    jack.quantum = Beats(3)
    jack.run(seconds: 0.3)
    jack.origin += 700_000  // The peer joins another session.
    jack.run(seconds: 4)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
    #expect(try #require(jack.songOrigin).phase(in: Beats(3)) == .zero)
  }

  @Test func `a session that jumps over a start's bar does not hold it for ever`() throws {
    let jack = LaunchBench()
    jack.run(seconds: 0.1)
    jack.pressPlay()
    jack.run(seconds: 1.5)
    jack.origin -= 900_000
    jack.run(seconds: 2.2)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
  }

  @Test func `a peer's start does not begin before the time that the peer set`() throws {
    let jack = LaunchBench()
    jack.run(seconds: 0.1)
    jack.studio.settings.syncsStartStop = true
    jack.studio.session.setPlaying(true, at: Micros(2_100_000))
    jack.pressPlay()
    jack.run(seconds: 5)
    #expect(try #require(jack.songOrigin) == Beats(8))
  }

  @Test func `a start that would wait too long takes the next beat`() throws {
    let jack = LaunchBench()
    jack.bpm = 20
    jack.quantum = Beats(16)  // The quantum lasts 48 s.
    jack.settings.longestWait = Micros(10_000_000)
    jack.run(seconds: 0.2)
    let asked = jack.time
    jack.pressPlay()
    jack.run(seconds: 12)
    #expect(try #require(jack.studio.rolling).heard - asked < 10.1e6)
    #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
    #expect(try #require(jack.songOrigin).phase(in: Beats(1)) == .zero)
  }

  @Test func `the time that a slow client needs is learned for the next start`() throws {
    let jack = LaunchBench()
    jack.otherHolds = 200_000
    jack.bpm = 300
    jack.quantum = Beats(1)
    jack.run(seconds: 0.155)
    jack.pressPlay()
    jack.run(seconds: 1)
    let first = try #require(jack.launchError)
    jack.pressStop()
    jack.run(seconds: 0.155)
    for _ in 0..<20 {
      jack.pressPlay()
      jack.run(seconds: 1.013)
      let error = try #require(jack.launchError)
      #expect(abs(error) <= jack.period / 2 + 1, "the first was \(first)")
      jack.pressStop()
      jack.run(seconds: 0.117)
    }
  }

  @Test func `a transport that rolls without asking us counts as no launch`() {
    var launch = Launch()
    launch.observe(CycleContext(SessionState(), heard: 0, transport: Transport(state: .rolling, frame: 0)))
    #expect(launch.error == 0)
  }

  @Test(arguments: [Alignment.nearest, .exact])
  func `a start moves to the next bar if another client is not ready`(alignment: Alignment) throws {
    for hold in [1000.0, 5000, 10_000, 30_000, 200_000, 700_000] {
      for press in 0..<12 {
        let jack = LaunchBench()
        jack.settings.alignment = alignment
        jack.stand(at: 16)
        jack.run(seconds: 0.9 + Double(press) * 0.01)
        // The client gets ready only `hold` microseconds after the bar line.
        jack.otherHoldsOnce = 2_000_000 - jack.latency - jack.time + hold
        jack.pressPlay()
        jack.run(seconds: 4.5)
        let error = try #require(jack.launchError)
        #expect(
          abs(error) <= (alignment == .exact ? jack.frameMicros : jack.period / 2 + 1), "\(hold) \(press)")
        #expect(jack.songOrigin?.phase(in: Beats(4)) == .zero)
        #expect(jack.launch.moved >= 1 && jack.launch.moved <= 2)
      }
    }
  }

  /// A transport at a bar line of its song. Another client lets it roll only a cycle or two after the
  /// session's bar line.
  private func lateTransport() -> LaunchBench {
    let jack = LaunchBench()
    jack.stand(at: 16)
    jack.run(seconds: 0.9)
    jack.otherHoldsOnce = 2_000_000 - jack.latency - jack.time + 4000
    jack.pressPlay()
    return jack
  }

  @Test func `a late start that a client has stopped or located is not taken back`() throws {
    for locates in [false, true] {
      let jack = lateTransport()
      jack.studio.controlCycles = .max
      while jack.state != .rolling { jack.cycle() }
      #expect(jack.launch.isHolding)
      if locates { jack.studio.transport.frame = 96_000 } else { jack.pressStop() }
      jack.studio.controlCycles = 4
      jack.run(seconds: 5)
      #expect(jack.studio.placed.count == 0)
      #expect(jack.state == (locates ? .rolling : .stopped))
      #expect(!jack.launch.isHolding)
    }
  }

  @Test func `a late start that was not taken back in its first cycles goes on`() throws {
    let jack = lateTransport()
    jack.studio.controlCycles = .max
    jack.run(seconds: 1.5)
    jack.studio.controlCycles = 4
    jack.run(seconds: 5)
    #expect(jack.state == .rolling && jack.studio.placed.count == 0)
    let late = try #require(jack.studio.rolling).heard - 2_000_000
    #expect(late > jack.period * 0.7 && abs(jack.launch.error - late) < 1)
  }

  @Test func `a client that is never in time does not hold a start for ever`() throws {
    let jack = LaunchBench()
    jack.run(seconds: 0.3)
    jack.otherHolds = 2_900_000
    jack.pressPlay()
    jack.run(seconds: 30)
    #expect(jack.studio.rolling != nil)
    #expect(jack.launch.moved <= 2)
  }
}
