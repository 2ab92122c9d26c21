// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusSync

/// A sequencer that sends MIDI clock over a cable with jitter, our cycles that receive the clock, and a
/// session. The session carries out each proposal some milliseconds later, as if the proposal had gone
/// through the queue to the network thread.
private struct Sequencer {
  var tempo: (Double) -> Double = { _ in 120 }
  /// The largest random delay of a clock message, in microseconds.
  var jitter = 0.0
  /// The length of a USB frame, in microseconds: a message is handed over at the end of its frame.
  var usbFrame = 0.0
  /// Returns whether the clock message of this number gets lost.
  var loses: (Int) -> Bool = { _ in false }
  var isSilent = false

  var clockIn = ClockIn()
  var session: SessionState
  private(set) var commits: [(time: Double, change: Proposal.Change)] = []
  private(set) var now = 1e9
  /// The seconds since the beginning. `clocks` is the number of clock messages since the last Start.
  private(set) var played = 0.0
  private(set) var clocks = 0.0
  private var sent = 0
  private var waiting: [(due: Double, status: UInt8, position: UInt16)] = []
  private var pending: [(due: Double, proposal: Proposal)] = []
  private var dice = Dice(seed: 11)
  private static let length = 256 / 48_000.0

  init(sessionTempo: Double = 100, isConnected: Bool = false) {
    session = SessionState(
      timeline: Timeline(tempo: Tempo(sessionTempo), beatOrigin: .zero, timeOrigin: Micros(999_000_123)),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: isConnected)
  }

  var beats: Double { clocks / 24 }

  /// The sequencer's beat minus the session's beat, in microseconds, wrapped into a quantum of 4.
  var error: Double {
    let grid = Grid(session.timeline)
    let away = beats - grid.beat(at: now)
    return (away - 4 * (away / 4).rounded()) * grid.beatMicros
  }

  mutating func start() {
    clocks = 0
    sent = 0
    send(MIDI.start)
  }

  mutating func resume(atSixteenth position: UInt16) {
    clocks = Double(position) * 6
    sent = Int(position) * 6
    waiting.append((now, MIDI.songPosition, position))
    send(MIDI.resume)
  }

  /// Pauses for this share of the time between two clock messages.
  mutating func pause(_ share: Double) { clocks -= share }

  mutating func send(_ status: UInt8) { waiting.append((now, status, 0)) }

  mutating func run(seconds: Double, each: (inout Sequencer) -> Void = { _ in }) {
    for _ in 0..<Int(seconds / Self.length) {
      cycle()
      each(&self)
    }
  }

  /// For ten seconds a user pushes the sequencer every `pause` seconds, each time by a share of the time
  /// between two clock messages.
  mutating func push(by share: ClosedRange<Double>, each pause: ClosedRange<Double>, _ dice: inout Dice) {
    var untilNext = 1.0
    run(seconds: 10) { sequencer in
      untilNext -= Self.length
      guard untilNext <= 0 else { return }
      sequencer.pause(share.lowerBound + dice.unit() * (share.upperBound - share.lowerBound))
      untilNext = pause.lowerBound + dice.unit() * (pause.upperBound - pause.lowerBound)
    }
  }

  private mutating func cycle() {
    tickAway()
    var events = MIDIEvents()
    waiting.sort { $0.due < $1.due }
    while let first = waiting.first, first.due < now + Self.length * 1e6 {
      let frame = UInt32(max(0, min(255, (first.due - now) * 0.048)))
      events.insert(
        first.status == MIDI.songPosition
          ? MIDIEvent(frame: frame, position: first.position) : MIDIEvent(frame: frame, status: first.status))
      waiting.removeFirst()
    }
    now += Self.length * 1e6
    played += Self.length
    while let first = pending.first, first.due <= now {
      session.apply(first.proposal)
      pending.removeFirst()
    }
    let line = FrameLine(start: now - Self.length * 1e6, frameMicros: 1e6 / 48_000)
    clockIn.receive(&events, line, passing: line, frames: 256, sessionTempo: session.tempo)
    let proposal = clockIn.propose(CycleContext(session, heard: now))
    guard let proposal else { return }
    commits.append((now, proposal.change))
    pending.append((now + 5_000, proposal))
  }

  /// Sends the clock messages of this cycle.
  private mutating func tickAway() {
    let end = clocks + tempo(played) / 60 * 24 * Self.length
    while Double(sent) < end {
      let share = (Double(sent) - clocks) / (end - clocks)
      var due = now + max(0, share) * Self.length * 1e6 + dice.unit() * jitter
      if usbFrame > 0 { due = (due / usbFrame).rounded(.up) * usbFrame }
      if !isSilent, !loses(sent) { waiting.append((due, MIDI.clock, 0)) }
      sent += 1
    }
    clocks = end
  }

  var tempos: [Double] {
    commits.compactMap { if case .tempo(let tempo) = $0.change { tempo } else { nil } }
  }

  var forces: Int {
    commits.reduce(0) { if case .forceBeat = $1.change { $0 + 1 } else { $0 } }
  }

  mutating func forget() { commits = [] }
}

@Suite struct ClockInTests {
  @Test(arguments: [24.0, 60, 97.3, 120, 174, 300])
  func `a steady clock is locked within four seconds and sets the tempo`(tempo: Double) {
    var sequencer = Sequencer()
    sequencer.tempo = { _ in tempo }
    sequencer.run(seconds: 4)
    #expect(sequencer.clockIn.loop.state == .locked)
    #expect(abs(sequencer.session.tempo - tempo) <= 0.1)
  }

  @Test(arguments: [60.0, 120, 174])
  func `a clock with USB's jitter changes the session's tempo only once`(tempo: Double) {
    var sequencer = Sequencer()
    sequencer.tempo = { _ in tempo }
    sequencer.jitter = 1000
    sequencer.usbFrame = 1000
    sequencer.run(seconds: 10)
    sequencer.forget()
    var worst = 0.0
    sequencer.run(seconds: 60) { worst = max(worst, abs($0.session.tempo - tempo)) }
    #expect(sequencer.tempos.isEmpty, "\(sequencer.tempos)")
    #expect(worst <= 0.05)
  }

  @Test func `after Start the session's bars stay within 1 ms of the sequencer's`() {
    var sequencer = Sequencer()
    sequencer.tempo = { _ in 121.7 }
    sequencer.jitter = 1000
    sequencer.run(seconds: 3)
    sequencer.start()
    sequencer.run(seconds: 6)
    #expect(sequencer.forces >= 1)
    sequencer.forget()
    var worst = 0.0
    // On average the jitter delays a message by half of its maximum. This looks like a latency of the device.
    sequencer.run(seconds: 60) { worst = max(worst, abs($0.error - 500)) }
    #expect(worst < 1000, "\(worst) us")
    #expect(sequencer.forces == 0)
  }

  @Test func `corrections of the beat are never taken for the sequencer's tempo`() {
    // With these pushes a correction of the beat is always under way.
    var dice = Dice(seed: 77)
    for _ in 0..<30 {
      var sequencer = Sequencer(sessionTempo: 121.7, isConnected: true)
      sequencer.tempo = { _ in 97 }
      sequencer.run(seconds: 6)
      sequencer.start()
      sequencer.push(by: -0.3...0.7, each: 0.05...1.55, &dice)
      sequencer.run(seconds: 15)
      #expect(abs(sequencer.clockIn.tempo - 97) < 0.0001)
      #expect(abs(sequencer.session.tempo - 97) < 0.001)
    }
  }

  @Test func `if other peers are there, a leading clock changes only the tempo`() {
    var sequencer = Sequencer(isConnected: true)
    sequencer.run(seconds: 2)
    sequencer.start()
    sequencer.run(seconds: 20)
    #expect(sequencer.forces == 0)
  }

  @Test(arguments: [1, 3, 5])
  func `lost clock messages move neither beat nor tempo`(count: Int) {
    var sequencer = Sequencer()
    sequencer.run(seconds: 3)
    sequencer.start()
    sequencer.run(seconds: 5)
    sequencer.forget()
    sequencer.loses = { (500..<500 + count).contains($0) }
    var worst = 0.0
    sequencer.run(seconds: 15) { worst = max(worst, abs($0.error)) }
    #expect(abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.beats) < 0.01, "each is counted")
    #expect(sequencer.clockIn.loop.state == .locked)
    #expect(worst < 1000 && sequencer.forces == 0, "\(worst) us")
  }

  @Test(arguments: [false, true])
  func `a pause of half a clock interval moves the beat, not the tempo`(
    among peers: Bool
  ) {
    var sequencer = Sequencer(sessionTempo: 120, isConnected: peers)
    sequencer.run(seconds: 3)
    sequencer.start()
    sequencer.run(seconds: 8)
    sequencer.forget()
    sequencer.pause(0.5)
    var worst = 0.0
    sequencer.run(seconds: 1) { worst = max(worst, abs($0.session.tempo - 120)) }
    #expect(sequencer.forces == (peers ? 0 : 1))
    sequencer.run(seconds: 5) { worst = max(worst, abs($0.session.tempo - 120)) }
    // A small distance may remain after the beat was moved. It is corrected like any small distance.
    #expect(worst <= (peers ? 0.1 : 120 * HostFollower.steepestNudge + 0.01), "\(worst) BPM")
    #expect(peers || abs(sequencer.error) < 1000, "\(sequencer.error) us")
    #expect(abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.beats) < 0.01, "none is lost")
  }

  @Test(arguments: [(120.0, 60.0), (60, 120), (120, 150), (150, 120), (90, 180), (120, 122), (100, 33)])
  func `a new tempo is found within a second, and no beat is lost`(
    from: Double, to: Double
  ) {
    var sequencer = Sequencer(sessionTempo: from)
    sequencer.tempo = { $0 < 8 ? from : to }
    sequencer.jitter = 300
    sequencer.run(seconds: 2)
    sequencer.start()
    sequencer.run(seconds: 7)
    #expect(abs(sequencer.clockIn.tempo - to) < 1.5, "\(sequencer.clockIn.tempo)")
    sequencer.run(seconds: 20)
    #expect(abs(sequencer.clockIn.tempo - to) <= 0.1)
    #expect(abs(sequencer.error) < 1500, "\(sequencer.error) us")
  }

  @Test func `a tempo ramp of the clock causes at most twenty changes a second`() {
    var sequencer = Sequencer()
    sequencer.tempo = { $0 < 10 ? 100 : $0 < 30 ? 100 + ($0 - 10) * 2 : 140 }
    sequencer.run(seconds: 3)
    sequencer.start()
    sequencer.run(seconds: 6)
    sequencer.forget()
    var worst = 0.0
    sequencer.run(seconds: 22) { worst = max(worst, abs($0.error)) }
    #expect(worst < 20_000, "\(worst) us")
    let times = sequencer.commits.map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 49_999 })
    sequencer.run(seconds: 15)
    #expect(abs(sequencer.error) < 1000 && abs(sequencer.session.tempo - 140) <= 0.1)
  }

  @Test func `a clock that stops counts as lost, and its tempo stays`() {
    var sequencer = Sequencer()
    sequencer.tempo = { _ in 128 }
    sequencer.run(seconds: 4)
    sequencer.isSilent = true
    sequencer.run(seconds: 0.2)
    #expect(sequencer.clockIn.loop.state == .locked)
    sequencer.forget()
    sequencer.run(seconds: 5)
    #expect(sequencer.clockIn.loop.state == .lost && sequencer.commits.isEmpty)
    #expect(abs(sequencer.session.tempo - 128) <= 0.1)
    sequencer.isSilent = false
    sequencer.run(seconds: 4)
    #expect(sequencer.clockIn.loop.state == .locked)
  }

  @Test func `the beat follows a song position and Continue; Stop keeps the tempo`() {
    var sequencer = Sequencer()
    sequencer.run(seconds: 3)
    sequencer.resume(atSixteenth: 42)
    sequencer.run(seconds: 8)
    #expect(sequencer.clockIn.loop.isRunning && abs(sequencer.error) < 1000)
    #expect(abs(sequencer.clockIn.loop.beat(at: sequencer.now) - sequencer.beats) < 0.01)
    sequencer.send(MIDI.stop)
    sequencer.run(seconds: 1)
    #expect(!sequencer.clockIn.loop.isRunning && sequencer.clockIn.loop.state == .locked)
  }

  @Test func `a device that sends clocks only while it plays is followed, too`() {
    var sequencer = Sequencer()
    sequencer.isSilent = true
    sequencer.run(seconds: 1)
    sequencer.isSilent = false
    sequencer.start()
    sequencer.run(seconds: 8)
    #expect(sequencer.clockIn.loop.state == .locked && abs(sequencer.error) < 1000, "\(sequencer.error)")
  }

  @Test func `a sequencer whose tempo is nudged is not taken for our own clock`() {
    var dice = Dice(seed: 3)
    for _ in 0..<20 {
      var sequencer = Sequencer()
      sequencer.run(seconds: 3)
      sequencer.start()
      sequencer.push(by: -0.45...0.45, each: 0.2...1.2, &dice)
      sequencer.run(seconds: 4)
      #expect(!sequencer.clockIn.isEcho)
      #expect(abs(sequencer.error) < 1_000, "\(sequencer.error) us")
    }
  }

  @Test func `noise in place of a clock yields no tempo outside of Link's range`() {
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
