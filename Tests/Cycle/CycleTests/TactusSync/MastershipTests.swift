// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// A transport with a timebase master. We look at it every 20 ms.
private struct Stage {
  var mastership = Mastership()
  var now = Micros(0)
  var calls: UInt = 0, cycles: UInt = 0
  var isRolling = true
  var tempo = 120.0, shownTempo = 0.0
  /// The client that JACK calls as timebase master, and whose bar and beat JACK shows.
  var master = Timebase.none
  var isWanted = true
  var refuses = false
  /// Whether JACK says yes to a request that it refuses, as PipeWire does.
  var refusesSilently = false
  /// Whether the server runs cycles but has not handled the request yet. `stands`: whether the server runs no
  /// cycles.
  var isLate = false
  var stands = false
  var asks: [Mastership.Action] = []

  mutating func run(milliseconds: Int) {
    for _ in 0..<milliseconds / 20 {
      now = now + Micros(20_000)
      if !stands { cycles += 4 }
      if master == .ours && isRolling && !stands {
        calls += 4
        shownTempo = tempo
      }
      var report = Report()
      (report.master.timebase, report.song.isRolling, report.tempo, report.master.showsOther) = (
        master, isRolling, tempo, tempo != shownTempo
      )
      let action = mastership.step(isWanted: isWanted, report, calls: calls, cycles: cycles, at: now)
      guard action != .nothing else { continue }
      asks.append(action)
      if case .ask = action { grant() }
      if action == .release { master = .none }
    }
  }

  mutating func grant(asking: Bool = true) {
    let isGranted = !refuses && !refusesSilently && !isLate && !stands
    if isGranted {
      master = .ours
      calls += 1  // JACK asks for the new position before the request has returned.
      shownTempo = tempo
    }
    if asking { mastership.asked(wasRefused: refuses, at: now) }
  }
}

@Suite struct MastershipTests {
  @Test func `a timebase without a master becomes ours at once`() {
    var stage = Stage()
    stage.run(milliseconds: 60)
    #expect(stage.mastership.standing == .master)
    #expect(stage.asks == [.ask(conditionally: true)])
  }

  @Test(arguments: [false, true])
  func `a server that stands or is late makes us timebase master later`(stands: Bool) {
    var stage = Stage()
    stage.isRolling = false
    (stage.stands, stage.isLate) = (stands, !stands)
    stage.run(milliseconds: 1_000)
    #expect(stage.mastership.standing == (stands ? .asked : .vacant))
    (stage.stands, stage.isLate) = (false, false)
    stage.grant(asking: false)
    stage.run(milliseconds: 40)
    #expect(stage.mastership.standing == .master)
    stage.tempo = 90
    stage.run(milliseconds: 1_000)
    #expect(stage.mastership.standing == .master && stage.shownTempo == 90)
  }

  @Test func `another client stays timebase master while its bars are shown`() {
    var stage = Stage()
    stage.run(milliseconds: 1_000)
    stage.master = .foreign
    stage.run(milliseconds: 1_000)
    #expect(stage.mastership.standing == .follower)
    stage.calls += 1
    for _ in 0..<100 {
      stage.run(milliseconds: 20)
      #expect(stage.mastership.standing == .follower)
    }
  }

  @Test func `callbacks of an earlier server do not make us master on the new one`() {
    var stage = Stage()
    stage.calls = 1_000
    stage.mastership = Mastership(calls: stage.calls)
    stage.refusesSilently = true
    stage.grant()
    stage.run(milliseconds: 60)
    #expect(stage.mastership.standing == .asked)
  }

  @Test func `if JACK refuses us the timebase, we follow and do not ask again`() {
    for silently in [false, true] {
      var stage = Stage()
      stage.master = .foreign
      stage.refuses = !silently
      stage.refusesSilently = silently
      stage.run(milliseconds: 480)
      #expect(stage.mastership.standing == .follower)
      stage.run(milliseconds: 5000)
      #expect(stage.asks.count == 1)
    }
  }

  @Test func `a client that takes the timebase from us is noticed in half a second`() {
    for isRolling in [true, false] {
      var stage = Stage()
      stage.isRolling = isRolling
      stage.run(milliseconds: 1000)
      stage.master = .foreign
      stage.run(milliseconds: 300)
      #expect(stage.mastership.standing == .follower)
      stage.run(milliseconds: 5000)
      #expect(stage.asks.count == 1, "a fight for the timebase")
    }
  }

  @Test func `after a master leaves, the timebase is free until we ask for it`() {
    var stage = Stage()
    stage.run(milliseconds: 1000)
    stage.master = .foreign
    stage.run(milliseconds: 1000)
    stage.master = .none
    stage.run(milliseconds: 300)
    #expect(stage.mastership.standing == .vacant)
    stage.run(milliseconds: 2000)
    #expect(stage.asks.count == 1)
    stage.grant()
    stage.run(milliseconds: 100)
    #expect(stage.mastership.standing == .master)
  }

  @Test(arguments: [0, 300, 5000])
  func `a timebase that another tactus has left becomes ours`(wait: Int) {
    var stage = Stage()
    stage.master = .foreign
    stage.refuses = true
    stage.run(milliseconds: 500)
    stage.refuses = false
    if wait == 0 { stage.mastership.neighbourLeft(at: stage.now) }
    stage.master = .none
    stage.run(milliseconds: wait)
    stage.mastership.neighbourLeft(at: stage.now)
    stage.run(milliseconds: 500)
    #expect(stage.mastership.standing == .master)
  }

  @Test func `we do not take a timebase if another tactus left long before`() {
    var stage = Stage()
    stage.master = .foreign
    stage.refuses = true
    stage.run(milliseconds: 500)
    stage.mastership.neighbourLeft(at: stage.now)
    stage.run(milliseconds: 2500)
    stage.master = .none
    stage.run(milliseconds: 500)
    #expect(stage.mastership.standing == .vacant)
  }

  @Test func `invalid bars for one cycle after a locate leave us timebase master`() {
    var stage = Stage()
    stage.run(milliseconds: 1000)
    stage.master = .foreign
    stage.run(milliseconds: 20)
    stage.master = .ours
    stage.run(milliseconds: 1000)
    #expect(stage.mastership.standing == .master)
  }

  @Test func `a tempo set while the transport stands is written to JACK once`() {
    var stage = Stage()
    stage.isRolling = false
    stage.run(milliseconds: 500)
    stage.tempo = 133
    stage.run(milliseconds: 500)
    #expect(stage.asks == [.ask(conditionally: true), .ask(conditionally: true)])
    #expect(stage.mastership.standing == .master)
  }

  @Test func `a tempo changed while we ask for the timebase is shown, too`() {
    var stage = Stage()
    stage.isRolling = false
    stage.run(milliseconds: 20)
    stage.tempo = 93
    stage.run(milliseconds: 500)
    #expect(stage.shownTempo == 93)
  }

  @Test func `while rolling, a new tempo is shown without asking for the timebase`() {
    var stage = Stage()
    stage.run(milliseconds: 500)
    for _ in 0..<50 {
      stage.tempo += 1
      stage.run(milliseconds: 40)
    }
    stage.isRolling = false
    stage.run(milliseconds: 500)
    #expect(stage.asks.count == 1)
  }

  @Test func `we give the timebase back only while the transport stands`() {
    var stage = Stage()
    stage.run(milliseconds: 500)
    stage.isWanted = false
    stage.run(milliseconds: 1000)
    #expect(stage.asks.count == 1)
    stage.isRolling = false
    stage.run(milliseconds: 100)
    #expect(stage.asks.last == .release)
    #expect(stage.mastership.standing == .uninvolved)
  }
}

@Suite("The wish to be timebase master")
struct SessionWishTests {
  @Test
  func `we want the timebase on request, or with auto if it is free`() {
    for shown in [Timebase.none, .ours, .foreign] {
      for lead in [Lead.link, .host, .midi] {
        #expect(Mastership.isWanted(lead, isAsked: true, shown: shown))
        #expect(!Mastership.isWanted(lead, isAsked: false, shown: shown))
      }
      for isAsked in [false, true] {
        let wanted = shown != .foreign
        #expect(Mastership.isWanted(.auto, isAsked: isAsked, shown: shown) == wanted)
      }
    }
  }
}
