// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Starts and stops between the transport and the session, in both directions.
struct StartStopTests {
  private func studio() -> Studio {
    let studio = Studio(tempo: 120)
    studio.settings.syncsStartStop = true
    return studio
  }

  /// Sets whether the session plays and whether the transport rolls. Returns what we ask of the transport:
  /// true to start, false to stop; nil: nothing.
  private func asked(_ studio: Studio, _ isPlaying: Bool, rolling: Bool? = nil) -> Bool? {
    studio.isPlaying = isPlaying
    if let rolling { studio.transport.state = rolling ? .rolling : .stopped }
    let number = studio.report.startStop.number
    studio.play(seconds: 1)
    let command = studio.report.startStop
    return command.number == number ? nil : command.starts
  }

  /// The beats for which we proposed a start to the session, and the beat on which the song began.
  private func toldAndPlayed(_ studio: Studio, _ change: (Studio) -> Void) -> (told: [Double], played: Double)
  {
    studio.asksBeforeRolling = true
    studio.play(seconds: 0.7)
    studio.pressPlay()
    studio.play(seconds: 0.4)
    change(studio)
    for _ in 0..<5_000 where !studio.report.song.isRolling { studio.play(256) }
    let told = studio.told.map { proposal in
      #expect(proposal.change == .playing(true))
      return studio.beat(at: Double(proposal.moment.count))
    }
    return (told, studio.report.sessionBeat - studio.report.song.beat)
  }

  @Test func `a waiting start that gets another bar is sent to the session again`() {
    let changes: [@Sendable (Studio) -> Void] = [
      { $0.settings.launch.countIn = 2 }, { $0.settings.quantum = 16 },
      { studio in
        studio.settings.meter = Meter(beatsPerBar: 5, beatType: 4)
        studio.settings.quantum = 5
      },
    ]
    for change in changes {
      let (told, played) = toldAndPlayed(studio(), change)
      #expect(told.count == 2 && abs((told.last ?? 0) - played) < 1e-3, "\(told), \(played)")
    }
  }

  @Test func `a waiting start that keeps its bar is sent to the session once`() {
    let (told, played) = toldAndPlayed(studio()) { $0.settings.click.gain = 0.5 }
    #expect(told.count == 1 && abs((told.last ?? 0) - played) < 1e-3)
  }

  @Test func `a start that a slow client delays is sent to the session again`() {
    let studio = studio()
    studio.othersTake = 1_700_000
    let (told, played) = toldAndPlayed(studio) { _ in }
    #expect(told.count >= 2 && abs((told.last ?? 0) - played) < 1e-3, "\(told), \(played)")
  }

  /// After each locate the start has another beat, and the peers receive that beat. The next beat may be
  /// earlier than the beat that the peers received.
  @Test func `locates while a start waits delay it by a bar at most`() {
    for pause in [0.004, 0.02, 0.06] {
      let studio = studio()
      var locatedAt = 0.0
      let (told, played) = toldAndPlayed(studio) { studio in
        for beat in 1...20 as ClosedRange<UInt32> {
          studio.locate = beat * 24_000
          studio.play(seconds: pause)
        }
        locatedAt = studio.due
      }
      #expect(studio.due - locatedAt < 2_050_000, "\(pause) s")
      #expect(abs((told.last ?? 0) - played - 20) < 1e-3, "\(pause) s: \(told), \(played)")
    }
  }

  @Test func `switching a waiting start from bar to beat starts it on the next beat`() {
    let studio = studio()
    studio.settings.quantum = 16
    var changedAt = 0.0
    let (told, played) = toldAndPlayed(studio) { studio in
      changedAt = studio.due
      studio.settings.launch.moment = .beat
    }
    #expect(studio.due - changedAt < 600_000)
    #expect(told.count == 2 && abs((told.last ?? 0) - played) < 1e-3, "\(told), \(played)")
  }

  @Test func `a user's start before a peer's start time is sent to the peers`() {
    let studio = studio()
    (studio.asksBeforeRolling, studio.followsSession) = (true, true)
    studio.play(seconds: 1)
    (studio.isPlaying, studio.timeOfPlaying) = (true, Micros(rounding: studio.due + 20e6))
    studio.play(seconds: 1)
    #expect(studio.report.song.isWaiting && studio.told.isEmpty)
    studio.settings.launch.moment = .now
    studio.play(seconds: 0.1)
    #expect(studio.report.song.isRolling && studio.told.count == 1)
    #expect(abs(Double(studio.timeOfPlaying.count) - studio.due) < 600_000)
  }

  @Test func `peers get the time of a start that waits for no beat or bar`() {
    for wait in 0..<8 {
      let studio = studio()
      studio.settings.launch.moment = .now
      studio.play(seconds: 0.0625 * Double(wait))
      let (told, _) = toldAndPlayed(studio) { _ in }
      #expect(told.count == 1 && abs((told.first ?? 0) - 0.125 * Double(wait) - 1.4) < 0.05, "\(told)")
    }
  }

  @Test func `a peer's stop at a later time acts at that time`() {
    let studio = studio()
    studio.play(seconds: 1)
    #expect(asked(studio, true) == true)
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.timeOfPlaying = Micros(rounding: studio.due + 1_500_000)
    #expect(asked(studio, false) == nil)
    #expect(asked(studio, false) == false)
    #expect(studio.told.isEmpty)
  }

  @Test func `a start shown before JACK asks us is on the bar that peers were told`() {
    for delay in 0..<8 {
      let studio = studio()
      studio.play(seconds: 0.23 * Double(delay))
      studio.unaskedCycles = 1
      let (told, played) = toldAndPlayed(studio) { _ in }
      #expect(abs(played / 4 - (played / 4).rounded()) < 1e-6, "\(played)")
      #expect(abs((told.last ?? 0) - played) < 1e-3, "\(told), \(played)")
    }
  }

  @Test func `a peer's start that a slow client delays is not sent back to peers`() {
    let studio = studio()
    studio.asksBeforeRolling = true
    studio.othersTake = 1_700_000
    studio.play(seconds: 0.7)
    #expect(asked(studio, true) == true)
    studio.transport.state = .starting
    for _ in 0..<5_000 where !studio.report.song.isRolling { studio.play(256) }
    #expect(studio.report.song.isRolling && studio.told.isEmpty)
  }

  @Test func `the session's start or stop is obeyed unless the transport did it`() {
    let studio = studio()
    #expect(asked(studio, true) == nil && asked(studio, true) == nil)
    #expect(asked(studio, false) == nil)
    #expect(asked(studio, true) == true)
    #expect(asked(studio, true, rolling: true) == nil)
    #expect(asked(studio, false) == false)
    #expect(asked(studio, false, rolling: false) == nil)
    #expect(asked(studio, true, rolling: true) == nil)
    #expect(studio.told.isEmpty)
    studio.settings.syncsStartStop = false
    #expect(asked(studio, false) == nil)
    studio.settings.syncsStartStop = true
    #expect(asked(studio, false) == nil)
  }

  /// The control thread carries out the command, and JACK obeys some cycles later.
  @Test(arguments: [0, 1, 3, 9, 40], [true, false])
  func `a peer's start or stop, taken back at once, makes us propose nothing`(
    cycles: Int, carriesOutBoth: Bool
  ) {
    let studio = studio()
    studio.play(seconds: 1)
    for isStart in [true, false, true, false] {
      // The peer sends a start or stop, and sends the opposite before the transport has obeyed.
      let number = studio.report.startStop.number
      for (count, isPlaying) in [isStart, !isStart].enumerated() {
        studio.isPlaying = isPlaying
        for _ in 0...cycles { studio.play(256) }
        #expect(studio.report.startStop.starts == isPlaying)
        #expect(studio.report.startStop.number == number &+ UInt32(count) &+ 1)
      }
      // The transport carries out both commands, or only the second one.
      for rolls in carriesOutBoth ? [isStart, !isStart] : [!isStart] {
        studio.transport.state = rolls ? .rolling : .stopped
        for _ in 0...cycles { studio.play(256) }
      }
      studio.play(seconds: 2)
      #expect(studio.told.isEmpty && studio.isPlaying == !isStart)
      #expect(studio.report.startStop.number == number &+ 2)
      // Brings the transport to the opposite state for the next round.
      #expect(asked(studio, isStart) == isStart)
      studio.transport.state = isStart ? .rolling : .stopped
      studio.play(seconds: 1)
      #expect(studio.told.isEmpty)
    }
  }

  @Test func `a peer's stop is obeyed however long the peer's start has waited`() {
    let studio = studio()
    studio.settings.launch.wait = .stopped
    studio.play(seconds: 1)
    #expect(asked(studio, true) == true)
    studio.play(seconds: 12)
    #expect(asked(studio, false) == false)
    #expect(studio.told.isEmpty)
  }

  @Test func `a user's start that contradicts a peer's stop is sent within a second`() {
    let studio = studio()
    studio.play(seconds: 1)
    #expect(asked(studio, true, rolling: true) == nil)
    studio.isPlaying = false
    studio.play(256)
    #expect(!studio.report.startStop.starts)
    studio.transport.state = .stopped
    studio.play(256)
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    #expect(studio.told.map(\.change) == [.playing(true)])
  }

  @Test func `the last of a peer's starts and stops during an export holds after it`() {
    let studio = studio()
    #expect(asked(studio, true, rolling: true) == nil)
    studio.isFreewheeling = true
    for isPlaying in [false, true, false] { #expect(asked(studio, isPlaying) == nil) }
    studio.isFreewheeling = false
    #expect(asked(studio, false) == false)
  }

  /// An attacker may send starts, stops and tempos in every cycle of an export. The exported song must still
  /// have its tempo and its clicks.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `a storm of starts, stops and tempos moves nothing during an export`(seed: UInt64) {
    var dice = Dice(seed: seed)
    let studio = studio()
    studio.settings.click.when = .rolling
    for _ in 0..<8 {
      studio.play(seconds: 1)
      studio.isFreewheeling = true
      studio.play(256)
      let (number, tempo, isPlaying) = (studio.report.startStop.number, studio.report.tempo, studio.isPlaying)
      studio.transport = Transport(state: .rolling, frame: 0)
      let before = studio.clicks.count
      for _ in 0..<900 {
        studio.isPlaying = Bool.random(using: &dice)
        studio.setTempo(Double.random(in: 20...999, using: &dice))
        studio.play(256)
        #expect(studio.report.startStop.number == number && studio.report.tempo == tempo)
      }
      let beats = Int((Double(900 * 256) / 48_000 * tempo / 60).rounded(.up))
      #expect((beats - 1...beats + 1).contains(studio.clicks.count - before))
      studio.transport.state = .stopped
      studio.play(256)
      studio.isFreewheeling = false
      studio.play(seconds: 1)
      let isAsked = studio.isPlaying && !isPlaying
      #expect(studio.report.startStop.number == number &+ (isAsked ? 1 : 0) && studio.told.isEmpty)
      if isAsked { studio.transport.state = .rolling }
      studio.play(seconds: 1)
      studio.isPlaying = false
      studio.play(seconds: 1)
      studio.transport.state = .stopped
      studio.play(seconds: 1)
    }
  }

  /// An export runs faster than real time, so our own start or stop is still on its way through the network
  /// when the export begins.
  @Test func `our own start or stop that comes back after an export moves nothing`() {
    let studio = studio()
    studio.takesStartStops = false
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    studio.play(256)
    #expect(studio.told.map(\.change) == [.playing(true)])
    studio.isFreewheeling = true
    studio.play(seconds: 20)
    studio.transport.state = .stopped
    studio.play(256)
    studio.isFreewheeling = false
    studio.startStopsTaken = studio.told[0].number
    #expect(asked(studio, true) == nil)
    #expect(studio.told.map(\.change) == [.playing(true), .playing(false)])
    studio.startStopsTaken = studio.told[1].number
    #expect(asked(studio, false) == nil)
    #expect(asked(studio, true) == true)
  }

  @Test(arguments: [true, false])
  func `a start or stop during an export is sent to peers once, after it`(rolls: Bool) {
    let studio = studio()
    studio.transport.state = rolls ? .stopped : .rolling
    studio.isPlaying = !rolls
    studio.play(seconds: 1)
    studio.isFreewheeling = true
    studio.play(seconds: 1)
    for state in [Transport.State.rolling, .stopped, rolls ? .rolling : .stopped] {
      studio.transport.state = state
      studio.play(seconds: 5)
    }
    #expect(studio.told.isEmpty)
    studio.isFreewheeling = false
    #expect(asked(studio, !rolls) == nil)
    #expect(studio.told.map(\.change) == [.playing(rolls)])
    #expect(asked(studio, rolls) == nil && asked(studio, !rolls) == !rolls)
  }

  /// While sync is off, `LinkSession` keeps our starts and stops from other peers.
  @Test func `with start/stop sync off our session follows the transport only`() {
    let studio = studio()
    studio.isPlaying = true
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.settings.syncsStartStop = false
    studio.play(seconds: 1)
    #expect(studio.told.isEmpty)
    studio.transport.state = .stopped
    studio.play(256)
    #expect(studio.told.map(\.change) == [.playing(false)])
    #expect(asked(studio, false) == nil && asked(studio, true) == nil)
    studio.settings.syncsStartStop = true
    #expect(asked(studio, true) == nil && asked(studio, false) == nil)
    studio.transport.state = .rolling
    studio.play(256)
    #expect(studio.told.last?.change == .playing(true))
  }

  /// The session shows our starts and stops some cycles later, or much later, when the transport has already
  /// changed again.
  @Test(arguments: [1, 2, 5, 20, 700]) func `our own starts that come back late move nothing`(delay: Int) {
    var dice = Dice(seed: UInt64(delay))
    let studio = studio()
    studio.takesStartStops = false
    var shown = [(isPlaying: Bool, taken: UInt32)](repeating: (false, 0), count: delay)
    for cycle in 0..<800 + delay {
      if cycle < 600, Bool.random(using: &dice) {
        studio.transport.state = studio.transport.state == .stopped ? .rolling : .stopped
      }
      studio.play(256)
      var next = shown[delay - 1]
      for proposal in studio.proposals {
        if case .playing(let plays) = proposal.change { next = (plays, proposal.number) }
      }
      shown.append(next)
      (studio.isPlaying, studio.startStopsTaken) = shown.removeFirst()
      #expect(studio.report.startStop.number == 0, "cycle \(cycle)")
    }
    #expect(studio.told.count > 60)
    #expect(studio.isPlaying == (studio.transport.state == .rolling))
  }

  @Test(arguments: [0.05, 0.5]) func `a peer's start or stop after ours is obeyed`(seconds: Double) {
    let studio = studio()
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    studio.play(256)
    #expect(studio.proposals.map(\.change) == [.playing(true)])
    #expect(asked(studio, true) == nil)
    studio.transport.state = .stopped
    studio.play(256)
    studio.isPlaying = false
    studio.play(seconds: seconds)
    #expect(asked(studio, true) == true)
  }

  /// The peer's command has a later timestamp than ours, so the session never shows our command.
  @Test func `a peer that overrules our start or stop at once is obeyed`() {
    let studio = studio()
    studio.takesStartStops = false
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    studio.play(seconds: 3)
    #expect(studio.told.count == 1 && studio.report.startStop.number == 0)
    studio.startStopsTaken = studio.told[0].number
    #expect(asked(studio, false) == false)
    #expect(asked(studio, false, rolling: false) == nil)
    #expect(asked(studio, true) == true)
  }

  /// A new server has a new audio cycle. Commands of the old audio cycle may still be under way, and must not
  /// count as commands of the new one.
  @Test func `on a new JACK server the session's starts and stops are obeyed`() {
    let studio = studio()
    for number in [7, .max - 1, .max] as [UInt32] {
      studio.sync = HostSync()
      studio.takesStartStops = false
      studio.startStopsTaken = number
      studio.transport.state = .stopped
      studio.play(256)
      #expect(asked(studio, false) == nil)
      studio.startStopsTaken = number &+ 1
      #expect(asked(studio, true) == true)
      studio.takesStartStops = true
      studio.transport.state = .rolling
      studio.play(256)
      for rolls in [false, true] {
        studio.transport.state = rolls ? .rolling : .stopped
        studio.play(256)
        #expect(studio.told.last?.change == .playing(rolls) && studio.isPlaying == rolls)
      }
      #expect(asked(studio, false) == false)
    }
  }

  /// A tactus that was frozen leaves JACK and joins it again, while the transport rolls on. The old client
  /// may run some more cycles before it leaves, and may see the stop in them.
  @Test(arguments: [true, false], [0, 1, 3])
  func `a session that stopped while tactus was frozen stays stopped`(isOurs: Bool, cycles: Int) {
    let studio = studio()
    studio.play(seconds: 1)
    if isOurs { studio.transport.state = .rolling } else { #expect(asked(studio, true) == true) }
    studio.play(256)
    #expect(asked(studio, true, rolling: true) == nil)
    let told = studio.told.count
    for _ in 0..<2 {
      studio.isPlaying = false
      for _ in 0..<cycles { studio.play(256) }
      studio.rejoin()
      #expect(asked(studio, false) == false)
      #expect(asked(studio, false, rolling: false) == nil && studio.told.count == told)
      #expect(asked(studio, true) == true && asked(studio, true, rolling: true) == nil)
    }
  }

  @Test(arguments: [true, false]) func `a transport that rolls on by itself starts nobody`(syncs: Bool) {
    let studio = studio()
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    // The machine joins a session that stands, and goes on alone.
    studio.settings.syncsStartStop = false
    #expect(asked(studio, false) == nil)
    studio.settings.syncsStartStop = syncs
    studio.play(seconds: 1)
    let told = studio.told.count
    studio.rejoin()
    #expect(asked(studio, false) == nil && studio.told.count == told && !studio.report.isStartOurs)
    // A user's stop and start go to the session as ever.
    for rolls in [false, true, false] {
      studio.transport.state = rolls ? .rolling : .stopped
      studio.play(seconds: 1)
      #expect(studio.isPlaying == rolls)
    }
  }

  @Test(arguments: [true, false])
  func `a session that plays when tactus wakes up starts and stops nothing`(rolls: Bool) {
    let studio = studio()
    studio.play(seconds: 1)
    if rolls { studio.transport.state = .rolling }
    studio.play(seconds: 1)
    let told = studio.told.count
    studio.isPlaying = true
    studio.rejoin()
    #expect(asked(studio, true) == nil && studio.told.count == told && !studio.report.isStartOurs)
    #expect(asked(studio, false) == (rolls ? false : nil))
  }

  /// A server that ended has taken the transport with it, so tactus sends no stop to the session.
  @Test func `a server that returns stopped stops no peer`() {
    let studio = studio()
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    studio.play(seconds: 1)
    studio.transport.state = .stopped
    studio.rejoin()
    #expect(asked(studio, true) == nil && studio.told.count == 1 && studio.isPlaying)
    #expect(asked(studio, true, rolling: true) == nil && asked(studio, false) == false)
  }

  /// The user's start is still on its way to the session when the client is lost.
  @Test func `a start just before the client is lost is not undone`() {
    let studio = studio()
    studio.takesStartStops = false
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    studio.play(256)
    studio.rejoin()
    #expect(asked(studio, false) == nil && studio.told.count == 1)
    studio.startStopsTaken = studio.told[0].number
    #expect(asked(studio, true) == nil && asked(studio, false) == false)
  }
}
