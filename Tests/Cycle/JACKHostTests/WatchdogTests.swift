// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusJACK

/// Looks every 20 ms at a server that runs a cycle every 5 ms unless it is stopped.
private struct Watch {
  var watchdog = Watchdog()
  var now = Micros(1_000_000)
  var waited = Micros.zero
  var cycles: UInt = 0
  var cycle = 5_000.0
  var isServerStopped = false
  var found: [Watchdog.Finding] = []

  mutating func run(milliseconds: Int) {
    for _ in 0..<milliseconds / 20 { look(after: 20_000) }
  }

  /// Looks at the server after `micros` microseconds. `plays`: whether the audio thread keeps running
  /// meanwhile.
  mutating func look(after micros: Int64, plays: Bool = true) {
    now = now + Micros(micros)
    if plays, !isServerStopped { cycles &+= UInt(Double(micros) / cycle) }
    let finding = watchdog.poll(cycles: cycles, of: cycle, at: now, waited: waited)
    if finding != .nothing { found.append(finding) }
  }
}

@Suite struct WatchdogTests {
  @Test func `cycles of an earlier server do not show that the present one runs`() {
    var watch = Watch(cycles: 4_711, isServerStopped: true)
    watch.run(milliseconds: 200)
    #expect(!watch.watchdog.hasCycled)
    watch.isServerStopped = false
    watch.run(milliseconds: 20)
    #expect(watch.watchdog.hasCycled)
  }

  @Test func `a server's silence and its return are each reported once`() {
    var watch = Watch()
    watch.run(milliseconds: 1_000)
    #expect(watch.found.isEmpty && watch.watchdog.isPrompt)
    watch.isServerStopped = true
    watch.run(milliseconds: 100)
    #expect(!watch.watchdog.isPrompt && !watch.watchdog.isSilent)
    watch.run(milliseconds: 1_860)
    #expect(watch.found == [.silence] && watch.watchdog.isSilent)
    watch.run(milliseconds: 60_000)
    #expect(watch.found == [.silence] && !watch.watchdog.isPrompt)
    watch.isServerStopped = false
    watch.run(milliseconds: 60_000)
    #expect(watch.found == [.silence, .answer] && watch.watchdog.isPrompt && !watch.watchdog.isSilent)
  }

  @Test func `the longest JACK cycles do not count as a server's silence`() {
    var watch = Watch()
    watch.cycle = 371_519
    for _ in 0..<100 {
      for _ in 0..<18 { watch.look(after: 20_000, plays: false) }
      watch.cycles += 1
      #expect(watch.watchdog.isPrompt)
    }
    #expect(watch.found.isEmpty)
  }

  @Test func `we leave JACK if the process was stopped, not if a thread was busy`() {
    for stop in [700, 1_000, 5_000, 3_600_000] as [Int64] {
      var watch = Watch()
      watch.run(milliseconds: 1_000)
      watch.look(after: stop * 1_000)
      watch.run(milliseconds: 1_000)
      #expect(watch.found.isEmpty)
      watch.look(after: stop * 1_000, plays: false)
      #expect(watch.found == [.standstill(Micros(stop * 1_000))])
    }
    var watch = Watch()
    watch.run(milliseconds: 1_000)
    for _ in 0..<100 { watch.look(after: 400_000) }
    #expect(watch.found.isEmpty)
  }

  @Test func `time spent waiting for JACK does not count as a stopped process`() {
    for wait in [700_000, 4_000_000] as [Int64] {
      var watch = Watch()
      watch.run(milliseconds: 1_000)
      watch.waited = watch.waited + Micros(wait)
      watch.look(after: wait + 20_000, plays: false)
      watch.run(milliseconds: 1_000)
      #expect(watch.found.isEmpty && watch.watchdog.isPrompt)
      watch.look(after: wait, plays: false)
      #expect(watch.found == [.standstill(Micros(wait))])
    }
  }

  @Test func `the watchdog's count of cycles may wrap`() {
    var watch = Watch()
    watch.cycles = .max - 100
    watch.run(milliseconds: 10_000)
    #expect(watch.found.isEmpty && watch.watchdog.isPrompt)
  }
}

@Suite struct PatchbayTests {
  @Test func `connections are not read while no port or connection changes`() {
    var patchbay = Patchbay()
    patchbay.want([.ports("click_1", "mixer:in 1"), .clickToSpeakers])
    let isTaken = patchbay.wish(for: [Connection(port: .clock, other: "drums:in")])
    #expect(isTaken)
    func looks(_ seconds: Int64, from start: Int64) -> Int {
      var looks = 0
      for step in 0..<seconds * 50
      where patchbay.isLookDue(graphChanged: false, at: Micros(start + step * 20_000)) { looks += 1 }
      return looks
    }
    #expect(looks(5, from: 1_000_000) > 1)
    #expect(looks(3_600, from: 60_000_000) == 0)
    let isDue = patchbay.isLookDue(graphChanged: true, at: Micros(7_200_000_000))
    #expect(isDue)
    #expect(looks(1, from: 7_200_100_000) > 1)
    #expect(looks(3_600, from: 7_260_000_000) == 0)
  }

  @Test func `after a change the connections are read for a while`() {
    var patchbay = Patchbay()
    let isDue = patchbay.isLookDue(graphChanged: true, at: Micros(1_000_000))
    #expect(isDue)
    var looks = 0
    for step in 1...200 as ClosedRange<Int64>
    where patchbay.isLookDue(graphChanged: false, at: Micros(1_000_000 + step * 20_000)) { looks += 1 }
    #expect((2...20).contains(looks), "\(looks)")
  }
}
