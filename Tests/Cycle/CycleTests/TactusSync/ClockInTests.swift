// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusSync

extension ClockCable {
  /// A sequencer that leads by its MIDI clock, and a session with another tempo.
  fileprivate convenience init(sessionTempo: Double = 100, isConnected: Bool = false) {
    self.init(.own { _ in 120 }, tempo: sessionTempo, seed: 11)
    studio.settings.clock.when = .rolling
    studio.isConnected = isConnected
  }

  fileprivate var clockIn: ClockIn { studio.sync.clockIn }

  /// For ten seconds a user pushes the sequencer every `pause` seconds, each time by a share of the time
  /// between two clock messages.
  fileprivate func push(by share: ClosedRange<Double>, each pause: ClosedRange<Double>, _ dice: inout Dice) {
    let end = played + 10
    while played < end {
      play(seconds: pause.lowerBound + dice.unit() * (pause.upperBound - pause.lowerBound))
      self.pause(share.lowerBound + dice.unit() * (share.upperBound - share.lowerBound))
    }
  }

  fileprivate var tempos: [Double] {
    proposals.compactMap { if case .tempo(let tempo) = $0.proposal.change { tempo } else { nil } }
  }

  fileprivate var forces: Int {
    proposals.reduce(0) { if case .forceBeat = $1.proposal.change { $0 + 1 } else { $0 } }
  }
}

@Suite struct ClockInTests {
  @Test(arguments: [24.0, 60, 97.3, 120, 174, 300])
  func `a steady MIDI clock is locked in four seconds and sets the tempo`(tempo: Double) {
    let sequencer = ClockCable()
    sequencer.device = .own { _ in tempo }
    sequencer.play(seconds: 4)
    #expect(sequencer.clockIn.loop.state == .locked)
    #expect(abs(sequencer.tempo - tempo) <= 0.1)
  }

  @Test(arguments: [60.0, 120, 174])
  func `a MIDI clock with USB jitter changes the session's tempo only once`(tempo: Double) {
    let sequencer = ClockCable()
    sequencer.device = .own { _ in tempo }
    sequencer.jitter = 1000
    sequencer.usbFrame = 1000
    sequencer.play(seconds: 10)
    sequencer.look()
    var worst = 0.0
    sequencer.play(seconds: 60) { worst = max(worst, abs($0.tempo - tempo)) }
    #expect(sequencer.tempos.isEmpty, "\(sequencer.tempos)")
    #expect(worst <= 0.05)
  }

  @Test func `after Start the session's bars stay within 1 ms of the sequencer's`() {
    let sequencer = ClockCable()
    sequencer.device = .own { _ in 121.7 }
    sequencer.jitter = 1000
    sequencer.play(seconds: 3)
    sequencer.startSong()
    sequencer.play(seconds: 6)
    #expect(sequencer.forces >= 1)
    sequencer.look()
    var worst = 0.0
    // On average the jitter delays a message by half of its maximum. This looks like a latency of the device.
    sequencer.play(seconds: 60) { worst = max(worst, abs($0.error - 500)) }
    #expect(worst < 1000, "\(worst) us")
    #expect(sequencer.forces == 0)
  }

  @Test func `our beat corrections are never taken for the sequencer's tempo`() {
    // With these pushes a correction of the beat is always under way.
    var dice = Dice(seed: 77)
    for _ in 0..<30 {
      let sequencer = ClockCable(sessionTempo: 121.7, isConnected: true)
      sequencer.device = .own { _ in 97 }
      sequencer.play(seconds: 6)
      sequencer.startSong()
      sequencer.push(by: -0.3...0.7, each: 0.05...1.55, &dice)
      sequencer.play(seconds: 15)
      #expect(abs(sequencer.clockIn.tempo - 97) < 0.0001)
      #expect(abs(sequencer.tempo - 97) < 0.001)
    }
  }

  @Test func `if other peers are there, a leading MIDI clock changes only the tempo`() {
    let sequencer = ClockCable(isConnected: true)
    sequencer.play(seconds: 2)
    sequencer.startSong()
    sequencer.play(seconds: 20)
    #expect(sequencer.forces == 0)
  }

  @Test(arguments: [1, 3, 5])
  func `lost MIDI clock messages move neither beat nor tempo`(count: Int) {
    let sequencer = ClockCable()
    sequencer.play(seconds: 3)
    sequencer.startSong()
    sequencer.play(seconds: 5)
    sequencer.look()
    sequencer.loses = { (500..<500 + count).contains($0) }
    var worst = 0.0
    sequencer.play(seconds: 15) { worst = max(worst, abs($0.error)) }
    #expect(
      abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.songBeat) < 0.01, "each is counted")
    #expect(sequencer.clockIn.loop.state == .locked)
    #expect(worst < 1000 && sequencer.forces == 0, "\(worst) us")
  }

  @Test(arguments: [false, true])
  func `a MIDI clock's pause of half an interval moves beat, not tempo`(
    among peers: Bool
  ) {
    let sequencer = ClockCable(sessionTempo: 120, isConnected: peers)
    sequencer.play(seconds: 3)
    sequencer.startSong()
    sequencer.play(seconds: 8)
    sequencer.look()
    sequencer.pause(0.5)
    var worst = 0.0
    sequencer.play(seconds: 1) { worst = max(worst, abs($0.tempo - 120)) }
    #expect(sequencer.forces == (peers ? 0 : 1))
    sequencer.play(seconds: 5) { worst = max(worst, abs($0.tempo - 120)) }
    // A small distance may remain after the beat was moved. It is corrected like any small distance.
    #expect(worst <= (peers ? 0.1 : 120 * HostFollower.steepestNudge + 0.01), "\(worst) BPM")
    #expect(peers || abs(sequencer.error) < 1000, "\(sequencer.error) us")
    #expect(abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.songBeat) < 0.01, "none is lost")
  }

  @Test(arguments: [(120.0, 60.0), (60, 120), (120, 150), (150, 120), (90, 180), (120, 122), (100, 33)])
  func `a MIDI clock's new tempo is found in a second and no beat is lost`(
    from: Double, to: Double
  ) {
    let sequencer = ClockCable(sessionTempo: from)
    sequencer.device = .own { $0 < 8 ? from : to }
    sequencer.jitter = 300
    sequencer.play(seconds: 2)
    sequencer.startSong()
    sequencer.play(seconds: 7)
    #expect(abs(sequencer.clockIn.tempo - to) < 1.5, "\(sequencer.clockIn.tempo)")
    sequencer.play(seconds: 20)
    #expect(abs(sequencer.clockIn.tempo - to) <= 0.1)
    #expect(abs(sequencer.error) < 1500, "\(sequencer.error) us")
  }

  @Test func `a MIDI clock's tempo ramp causes at most twenty changes a second`() {
    let sequencer = ClockCable()
    sequencer.device = .own { $0 < 10 ? 100 : $0 < 30 ? 100 + ($0 - 10) * 2 : 140 }
    sequencer.play(seconds: 3)
    sequencer.startSong()
    sequencer.play(seconds: 6)
    sequencer.look()
    var worst = 0.0
    sequencer.play(seconds: 22) { worst = max(worst, abs($0.error)) }
    #expect(worst < 20_000, "\(worst) us")
    let times = sequencer.proposals.map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 49_999 })
    sequencer.play(seconds: 15)
    #expect(abs(sequencer.error) < 1000 && abs(sequencer.tempo - 140) <= 0.1)
  }

  @Test func `a MIDI clock that stops counts as lost, and its tempo stays`() {
    let sequencer = ClockCable()
    sequencer.device = .own { _ in 128 }
    sequencer.play(seconds: 4)
    sequencer.losesOneOf = 1
    sequencer.play(seconds: 0.2)
    #expect(sequencer.clockIn.loop.state == .locked)
    sequencer.look()
    sequencer.play(seconds: 5)
    #expect(sequencer.clockIn.loop.state == .lost && sequencer.proposals.isEmpty)
    #expect(abs(sequencer.tempo - 128) <= 0.1)
    sequencer.losesOneOf = 0
    sequencer.play(seconds: 4)
    #expect(sequencer.clockIn.loop.state == .locked)
  }

  @Test func `a received song position moves the beat, a received Stop no tempo`() {
    let sequencer = ClockCable()
    sequencer.play(seconds: 3)
    sequencer.resumeSong(atSixteenth: 42)
    sequencer.play(seconds: 8)
    #expect(sequencer.clockIn.loop.isRunning && abs(sequencer.error) < 1000)
    #expect(abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.songBeat) < 0.01)
    sequencer.send(MIDI.stop)
    sequencer.play(seconds: 1)
    #expect(!sequencer.clockIn.loop.isRunning && sequencer.clockIn.loop.state == .locked)
  }

  @Test func `a sequencer that sends clocks only while it plays is followed, too`() {
    let sequencer = ClockCable()
    sequencer.losesOneOf = 1
    sequencer.play(seconds: 1)
    sequencer.losesOneOf = 0
    sequencer.startSong()
    sequencer.play(seconds: 8)
    #expect(sequencer.clockIn.loop.state == .locked && abs(sequencer.error) < 1000, "\(sequencer.error)")
  }

  @Test func `a sequencer whose tempo is nudged is not taken for our own clock`() {
    var dice = Dice(seed: 3)
    for _ in 0..<20 {
      let sequencer = ClockCable()
      sequencer.play(seconds: 3)
      sequencer.startSong()
      sequencer.push(by: -0.45...0.45, each: 0.2...1.2, &dice)
      sequencer.play(seconds: 4)
      #expect(!sequencer.clockIn.isEcho)
      #expect(abs(sequencer.error) < 1_000, "\(sequencer.error) us")
    }
  }

  @Test func `noise in place of a MIDI clock gives no tempo outside Link's range`() {
    var dice = Dice(seed: 5)
    var loop = ClockLoop()
    var time = 1e9
    for _ in 0..<200_000 {
      time += dice.unit() * 60_000
      switch Int(dice.unit() * 40) {
      case 0: loop.start()
      case 1: loop.stop()
      case 2: loop.locate(sixteenth: Int64(dice.unit() * 16_384))
      case 3: loop.resume()
      case 4: loop.tick(at: time + dice.unit() * 1e6)
      case 5: loop.clock(at: time - dice.unit() * 1e5)
      default: loop.clock(at: time)
      }
      guard loop.isTracking else { continue }
      #expect((9.9...1251).contains(loop.beatsPerMinute) && loop.beat(at: time).isFinite)
    }
  }
}

extension Dice {
  fileprivate mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }
}
