// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld
import Testing

@testable import TactusStudioDay

/// Some minutes of the day that `LinkSimulator --day` plays in full. The sample rate is 8 kHz, because the
/// tests look only at beats.
struct DayTests {
  private func plan(seed: UInt64, minutes: Int64 = 6, plant: Plant? = nil) -> Day.Plan {
    var plan = Day.Plan(seed: seed)
    plan.length = Micros(minutes * 60_000_000)
    plan.longestTrouble = Micros(60_000_000)
    plan.peers = 4
    plan.sampleRate = 8000
    plan.frames = 128
    plan.plant = plant
    return plan
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `every beat of a simulated set full of faults has click and clocks`(seed: UInt64) {
    let outcome = Day(plan(seed: seed)).run()
    #expect(outcome.isKept, "\(outcome.broken) \(outcome.network.violations)")
    #expect(outcome.acts >= 2 && outcome.network.convergences.count == outcome.acts)
    #expect(outcome.exports.count > 0 && outcome.exports.clicks > 0)
    #expect(outcome.clicks.count > 500 && outcome.clocks.count > 12_000)
    // Only few clicks may be excused because they are late or come after a jump.
    #expect(outcome.clicks.afterJumps + outcome.clicks.late < outcome.clicks.count / 5)
  }

  @Test func `in an hour at one tempo a host lags only by its crystal's drift`() {
    var night = plan(seed: 5, minutes: 60)
    (night.isNight, night.peers, night.frames) = (true, 2, 1024)
    let outcome = Day(night).run()
    #expect(outcome.isKept, "\(outcome.broken) \(outcome.network.violations)")
    #expect(outcome.countedHours > 0.99)
  }

  @Test(arguments: [LaunchStage.waiting, .released])
  func `a launch in which the server dies succeeds on the next server`(stage: LaunchStage) {
    // Six minutes are long enough for some launches to succeed.
    var plan = plan(seed: 3, minutes: 6)
    plan.diesIn = stage
    let outcome = Day(plan).run()
    #expect(outcome.isKept, "\(outcome.broken) \(outcome.network.violations)")
    // Each death of the server is followed by a start, except the last.
    #expect(outcome.deaths.inLaunches > 0, "\(outcome.deaths)")
    #expect(outcome.starts >= outcome.deaths.inLaunches - 1, "\(outcome.starts) starts, \(outcome.deaths)")
  }

  @Test func `a simulated day with the same seed repeats exactly`() {
    let (first, second) = (
      Day(plan(seed: 4, minutes: 2)).run(), Day(plan(seed: 4, minutes: 2)).run()
    )
    #expect(first.clicks == second.clicks && first.clocks == second.clocks)
    #expect(first.network.datagramsSent == second.network.datagramsSent)
    #expect(first.network.portrait == second.network.portrait)
  }

  @Test(arguments: Plant.allCases)
  func `the checks of the simulated day find each planted fault`(plant: Plant) {
    let outcome = Day(plan(seed: 1, plant: plant)).run()
    let found = Set(outcome.broken.map(\.promise))
    switch plant {
    case .clickSkipped, .clickDoubled: #expect(found == [.oneClick])
    case .clickLate: #expect(found == [.inPhase])
    case .clockSkipped, .clockDoubled: #expect(found == [.oneClock])
    }
    #expect(outcome.network.isKept)
  }
}

struct EarTests {
  /// Plays clicks at these times, in buffers of 10 ms. The buffers `lost` are left out.
  private func ear(
    clicks: [Double], until end: Double = 4e6, lost: Range<Int> = 0..<0,
    beats: (Double) -> SessionBeats = { _ in SessionBeats(origin: 0, beatMicros: 500_000) }
  ) -> Ear {
    var ear = Ear(.oneClick, perBeat: 1, closest: 0.25)
    for buffer in 0..<Int(end / 10_000) where !lost.contains(buffer) {
      let start = Double(buffer) * 10_000
      ear.open(from: start, to: start + 10_000, beats: beats(start), isTimeInDoubt: false)
      for click in clicks where click >= start && click < start + 10_000 { ear.listen(at: click) }
    }
    return ear
  }

  /// Plays clock messages at these times, in buffers of 256 frames. Seven buffers are lost, and the tempo
  /// changes in one of the seven.
  private func ear(
    clocks: [Double], from fast: SessionBeats, to slow: SessionBeats, atBuffer change: Int
  ) -> Ear {
    var ear = Ear(.oneClock, perBeat: 24, closest: 0.4)
    for buffer in 0..<400 where !(120..<127).contains(buffer) {
      let start = Double(buffer) * 16_000 / 3
      ear.open(
        from: start, to: start + 16_000 / 3, beats: buffer < change ? fast : slow, isTimeInDoubt: false)
      for clock in clocks where clock >= start && clock < start + 16_000 / 3 { ear.listen(at: clock) }
    }
    return ear
  }

  private let even = (0..<8).map { Double($0) * 500_000 }

  @Test func `the check of played clicks accepts evenly spaced clicks`() {
    let ear = ear(clicks: even)
    #expect(ear.complaints.all.isEmpty && ear.heard == 8 && ear.errors.total == 8)
  }

  @Test func `the check of played clicks reports missing, double and late clicks`() {
    func promises(_ clicks: [Double]) -> [Promise] { ear(clicks: clicks).complaints.all.map(\.promise) }
    #expect(promises(even.filter { $0 != 1_500_000 }) == [.oneClick])
    #expect(promises((even + [1_520_000]).sorted()).first == .oneClick)
    #expect(promises(even.map { $0 == 1_500_000 ? $0 + 700 : $0 }) == [.inPhase])
    #expect(promises(Array(even.prefix(3))).contains(.oneClick))
  }

  @Test func `the check lets a click be missing in lost cycles and nowhere else`() {
    let clicks = even.filter { $0 != 1_500_000 }
    #expect(ear(clicks: clicks, lost: 149..<152).complaints.all.isEmpty)
    #expect(ear(clicks: clicks, lost: 140..<143).complaints.all.map(\.promise) == [.oneClick])
  }

  @Test func `after a tempo change, the check takes no lost click for a late one`() {
    // At 1.7 s the tempo becomes five times as fast, and the session's beat jumps ahead by 0.2 beats. Clicks
    // that this jump skips may be late by 100 ms, which is a whole beat at the new tempo.
    let faster = { (time: Double) in
      SessionBeats(
        origin: time < 1_700_000 ? 0 : 1_340_000, beatMicros: time < 1_700_000 ? 500_000 : 100_000)
    }
    let clicks = [0, 500_000, 1_000_000, 1_500_000] + (4..<30).map { 1_340_000 + Double($0) * 100_000 }
    let lost = clicks.filter { $0 != 1_840_000 }
    let heard = ear(clicks: lost, lost: 183..<185, beats: faster)
    #expect(
      heard.complaints.all.isEmpty && heard.excused.lost == 1, "\(heard.complaints.all) \(heard.excused)")
    #expect(ear(clicks: lost, beats: faster).complaints.all.map(\.promise) == [.oneClick])
  }

  @Test(arguments: [false, true])
  func `the check lets MIDI clocks catch up later when the tempo slows down`(isOneMissing: Bool) {
    let fast = SessionBeats(origin: 0, beatMicros: 151_515)
    let slow = SessionBeats(origin: 682_667 - 107.07 / 24 * 476_190, beatMicros: 476_190)
    var clocks = (0..<102).map { fast.time(of: Double($0) / 24) } + [677_334, 680_490]
    clocks += (0..<7).map { 690_411 + Double($0) * 9_921 }
    clocks += (111..<200).map { slow.time(of: Double($0) / 24) }
    if isOneMissing { clocks.remove(at: 107) }
    let ear = ear(clocks: clocks, from: fast, to: slow, atBuffer: 128)
    #expect(ear.complaints.all.map(\.promise) == (isOneMissing ? [.oneClock] : []), "\(ear.complaints.all)")
  }

  /// The tempo falls from 185 BPM to 58, and the beat jumps by 0.119. So three clock messages are late. The
  /// first of the three waits for half of the new distance between clocks.
  @Test(arguments: [0.0, 12_000]) func `MIDI clocks made late by a slower tempo must keep their distance`(
    later: Double
  ) {
    let fast = SessionBeats(origin: 0, beatMicros: 324_324)
    let change = 12_970_000.0
    let slow = SessionBeats(
      origin: change - (fast.beat(at: change) + 0.119) * 1_034_483, beatMicros: 1_034_483)
    let last = fast.time(of: 40 - 1 / 24)
    var clocks = (0..<960).map { fast.time(of: Double($0) / 24) }
    let half = 1_034_483.0 / 48
    clocks += (1...6).map { last + later + Double($0) * half }
    clocks += (966..<1000).map { slow.time(of: Double($0) / 24) }
    var ear = Ear(.oneClock, perBeat: 24, closest: 0.45)
    for buffer in 0..<3000 {
      let start = Double(buffer) * 5000
      let beats = start < change ? fast : slow
      ear.open(from: start, to: start + 5000, beats: beats, isTimeInDoubt: false)
      for clock in clocks where clock >= start && clock < start + 5000 { ear.listen(at: clock) }
    }
    #expect(ear.complaints.all.isEmpty == (later == 0), "\(ear.complaints.all)")
  }

  /// The tempo falls from 693 BPM to 93 in the middle of lost cycles. The clocks are late by more than a beat
  /// of the old tempo and by less than a beat of the new tempo.
  @Test(arguments: [false, true])
  func `MIDI clocks lost in a slowdown may come a beat of the new tempo late`(isOneMissing: Bool) {
    let fast = SessionBeats(origin: 0, beatMicros: 86_580)
    let slow = SessionBeats(origin: 656_000 - fast.beat(at: 656_000) * 645_161, beatMicros: 645_161)
    var clocks = (0..<178).map { fast.time(of: Double($0) / 24) }
    clocks += (0..<10).map { 677_334 + Double($0) * 13_441 }
    clocks += (188..<250).map { slow.time(of: Double($0) / 24) }
    if isOneMissing { clocks.remove(at: 180) }
    let ear = ear(clocks: clocks, from: fast, to: slow, atBuffer: 120)
    #expect(ear.complaints.all.map(\.promise) == (isOneMissing ? [.oneClock] : []), "\(ear.complaints.all)")
  }

  @Test func `for a session jump the check excuses one missing beat and no more`() {
    // At 1.7 s the session's beat jumps ahead by 0.4 beats.
    let jumped = { (time: Double) in
      SessionBeats(origin: time < 1_700_000 ? 0 : 200_000, beatMicros: 500_000)
    }
    let clicks =
      [0, 500_000, 1_000_000, 1_500_000, 2_200_000, 2_700_000, 3_200_000, 3_700_000] as [Double]
    #expect(ear(clicks: clicks, beats: jumped).complaints.all.isEmpty)
    #expect(
      ear(clicks: clicks.filter { $0 != 2_700_000 }, beats: jumped).complaints.all.map(\.promise) == [
        .oneClick
      ])
    // Clicks that do not follow the jump are reported as wrong.
    #expect(!ear(clicks: even, beats: jumped).complaints.all.isEmpty)
  }

  @Test func `clicks that a clock correction skips may be late by that correction`() {
    let period = 500_001.0
    let small = { (time: Double) in
      SessionBeats(origin: time < 1_498_000 ? 0 : -4_000, beatMicros: period)
    }
    let rest = (4..<8).map { Double($0) * period - 4_000 }
    let first = (0..<3).map { Double($0) * period }
    #expect(ear(clicks: first + [1_500_000] + rest, beats: small).complaints.all.isEmpty)
    #expect(
      ear(clicks: first + [1_506_000] + rest, beats: small).complaints.all.map(\.promise) == [.inPhase])
  }
}
