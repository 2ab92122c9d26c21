// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// A MIDI machine counts the clock messages after Start or Continue. Its count must agree with the song,
/// whatever cycles are lost.
struct CommandOrderTests {
  private static func clock(_ when: RunsWhen, perBeat: Int32 = 24) -> OutputSlot {
    var settings = OutputSettings(.clock)
    settings.clock?.when = when
    settings.clock?.perBeat = perBeat
    return OutputSlot(number: 1, settings: settings)
  }

  private func lose(_ milliseconds: Double, _ studio: Studio, period: UInt32) {
    var left = milliseconds * 1000
    while left > 0 {
      _ = studio.clock.idealCycle(frames: period)
      left -= Double(period) * studio.microsPerFrame
    }
  }

  /// The number of clocks by which the machine is ahead of the song, at the last clock message that it
  /// counted.
  private func ahead(_ receiver: MIDIClockTests.Receiver, _ studio: Studio, origin: Double) -> Double? {
    guard let last = receiver.counted.last else { return nil }
    return Double(last.place) - (studio.beat(at: last.heard) - origin) * 24
  }

  /// Returns the first command that breaks the allowed order: Stop, then a position, then Start or Continue.
  /// A machine must be stopped before it gets a position or a Start, and may continue only from a position.
  /// Clock messages may come at any time.
  private func outOfOrder(_ messages: [(status: UInt8, heard: Double)]) -> String? {
    var last = MIDI.stop
    var moment = -Double.infinity
    for (index, message) in messages.enumerated() {
      let isInOrder =
        switch message.status {
        case MIDI.songPosition: last == MIDI.stop || last == MIDI.songPosition
        case MIDI.start: last == MIDI.stop
        case MIDI.resume: last == MIDI.songPosition
        case MIDI.stop: last == MIDI.start || last == MIDI.resume
        default: true
        }
      guard isInOrder, message.heard >= moment else {
        return "message \(index), \(message.status) after \(last)"
      }
      if message.status != MIDI.clock { last = message.status }
      moment = message.heard
    }
    return nil
  }

  @Test func `the check of MIDI commands finds each wrong order of them`() {
    let (stop, place, go, start, clock) = (MIDI.stop, MIDI.songPosition, MIDI.resume, MIDI.start, MIDI.clock)
    func isBroken(_ statuses: UInt8...) -> Bool {
      outOfOrder(statuses.enumerated().map { ($0.element, Double($0.offset)) }) != nil
    }
    #expect(!isBroken(clock, start, clock, stop, place, clock, place, go, clock, stop, clock, start))
    #expect(isBroken(start, clock, start) && isBroken(start, place) && isBroken(go) && isBroken(stop))
    #expect(isBroken(place, stop) && isBroken(place, start) && isBroken(start, stop, go))
    #expect(outOfOrder([(start, 2), (clock, 1)]) != nil)
  }

  /// The cycles are lost, for instance, because a DAW loads its disk buffers just before the bar.
  @Test(arguments: [64, 256, 1024] as [UInt32], [RunsWhen.always, .rolling])
  func `cycles lost before a start put no MIDI machine ahead of the song`(period: UInt32, when: RunsWhen) {
    for lost in [25, 60, 90, 180, 400] as [Double] {
      for until in stride(from: 2.0, through: 90, by: 11) {
        let studio = Studio(tempo: 120)
        studio.asksBeforeRolling = true
        studio.rack = [Self.clock(when)]
        studio.play(seconds: 0.7, frames: period)
        studio.transport.state = .starting
        // The start waits for the bar at 2 s.
        let stall = 1e9 + 2e6 - (lost + until) * 1000
        while studio.due < stall { studio.play(period) }
        lose(lost, studio, period: period)
        studio.play(seconds: 5, frames: period)
        let receiver = MIDIClockTests.Receiver(studio.rackMessages[0])
        let origin = studio.report.sessionBeat - studio.report.song.beat
        let ahead = ahead(receiver, studio, origin: origin)
        #expect(
          receiver.isRunning && abs(ahead ?? 99) < 0.1,
          "lost \(lost) ms until \(until) ms before: \(ahead ?? 99)")
      }
    }
  }

  @Test(arguments: campaign(1...16))
  func `a MIDI machine's count agrees with the song under random stalls`(seed: UInt64) {
    var dice = Dice(seed: seed)
    for _ in 0..<12 {
      let period = [64, 256, 1024][Int.random(in: 0..<3, using: &dice)] as UInt32
      let tempo = Double.random(in: 40...240, using: &dice)
      let studio = Studio(tempo: tempo)
      studio.asksBeforeRolling = true
      studio.rack = [Self.clock(Bool.random(using: &dice) ? .always : .rolling)]
      studio.rack[0].offset = Micros(Int64.random(in: -20_000...20_000, using: &dice))
      for _ in 0..<6 {
        studio.play(seconds: Double.random(in: 0.2...1.5, using: &dice), frames: period)
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: studio.transport.state = .stopped
        case 1 where studio.transport.state == .rolling:
          studio.locate = UInt32.random(in: 0...400_000, using: &dice)
        default:
          if studio.transport.state == .stopped { studio.transport.state = .starting }
        }
        studio.play(seconds: Double.random(in: 0...1, using: &dice), frames: period)
        lose(Double.random(in: 10...300, using: &dice), studio, period: period)
      }
      if studio.transport.state == .stopped { studio.transport.state = .starting }
      studio.play(seconds: 9, frames: period)
      // `Receiver` itself fails if a position or a second Continue comes while it runs.
      let receiver = MIDIClockTests.Receiver(studio.rackMessages[0])
      let origin = studio.report.sessionBeat - studio.report.song.beat
      let moved = Double(studio.rack[0].offset.count) / Grid(studio.timeline).beatMicros * 24
      let ahead = ahead(receiver, studio, origin: origin).map { $0 - moved }
      #expect(receiver.isRunning && abs(ahead ?? 99) < 0.1, "seed \(seed): \(ahead ?? 99)")
      let broken = outOfOrder(studio.rackMessages[0].map { ($0.event.status, $0.heard) })
      #expect(broken == nil, "seed \(seed): \(broken ?? "")")
    }
  }

  @Test func `96 MIDI clocks a beat fit into the longest cycle`() {
    for rate in [44_100, 48_000] as [UInt32] {
      let studio = Studio(sampleRate: rate, tempo: 999)
      studio.rack = [Self.clock(.always, perBeat: 96)]
      studio.play(seconds: 10, frames: 8192)
      let clocks = studio.rackMessages[0]
      let wanted = studio.beat(at: studio.clock.nextDue) * 96
      #expect(abs(Double(clocks.count) - wanted) < 2)
      let worst = clocks.map { clock in
        let exact = studio.beat(at: clock.heard) * 96
        return abs(exact - exact.rounded()) / 96 * 60e6 / 999
      }.max()
      #expect((worst ?? 99) < 12, "\(worst ?? 99) µs from its place")
    }
  }

  @Test func `a MIDI machine that played before an export gets Stop after it`() {
    for isRollingBehind in [true, false] {
      let studio = Studio(tempo: 120)
      studio.rack = [Self.clock(.rolling)]
      studio.play(seconds: 1.3)
      studio.transport.state = .starting
      studio.play(256)
      studio.transport.state = .rolling
      studio.play(seconds: 2)
      studio.isFreewheeling = true
      studio.play(seconds: 4)
      if !isRollingBehind { studio.transport.state = .stopped }
      studio.play(256)
      studio.isFreewheeling = false
      let before = studio.rackMessages[0].count
      studio.play(seconds: 2)
      // Hardware gets only the messages of cycles outside the export.
      let heard = studio.rackMessages[0].dropFirst(before).filter { $0.event.status != MIDI.clock }
      #expect(heard.first?.event.status == MIDI.stop)
      #expect(heard.count { $0.event.status == MIDI.stop } == 1)
      #expect(heard.count { $0.event.status == MIDI.resume } == (isRollingBehind ? 1 : 0))
    }
  }
}
