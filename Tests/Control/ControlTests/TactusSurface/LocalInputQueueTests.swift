// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusMIDI
import Testing

@testable import TactusSurface

@Suite("The queue of keys, knobs and pedals")
struct HandsTests {
  private func message(_ bytes: [UInt8]) throws -> LocalInput { .midi(try #require(MIDIMessage(bytes))) }

  @Test
  func `20,000 MIDI knob moves a second are charged and queued within limits`()
    throws
  {
    var settings = SurfaceSettings()
    settings.bindings = ["cc 7 = click/volume"].compactMap { MIDIBinding($0) }
    var desk = Desk(settings)
    var hands = LocalInputQueue(at: desk.now)
    var charged = 0
    var obeyed = 0
    var longest = Micros.zero
    for count in 0..<20_000 {
      desk.now = desk.now + Micros(50)
      hands.put(try message([0xB0, UInt8(7 + count % 2), UInt8(count % 128)]), at: desk.now)
      while let (touch, time) = hands.next(at: desk.now) {
        guard case .midi(let message) = touch else { continue }
        let cost = desk.machine.receive(message, at: time, clocks: desk.clocks)
        hands.charge(cost, at: desk.now)
        desk.drain()
        charged += cost
        obeyed += 1
        longest = max(longest, desk.now - time)
      }
    }
    #expect(longest <= Micros(Int64(SurfaceLimits.touches) * 1000), "a hand waits for too long")
    #expect(charged >= obeyed * Cost.touch)
    #expect(Double(charged) <= Cost.hands.perSecond + Cost.hands.atOnce + 100)
    #expect(obeyed > 1000 && obeyed + hands.lost + SurfaceLimits.touches >= 20_000, "\(obeyed) \(hands.lost)")
  }

  @Test
  func `a flood of MIDI knob moves keeps the last move and drops no pedal`() throws {
    var hands = LocalInputQueue(at: .zero)
    for count in 0..<1000 {
      if count == 500 { hands.put(try message([0x90, 60, 100]), at: Micros(500)) }
      hands.put(try message([0xB0, 7, UInt8(count % 128)]), at: Micros(Int64(count)))
    }
    #expect(hands.lost == 1001 - SurfaceLimits.touches)
    var times: [Micros] = []
    var events: [String] = []
    while let (touch, time) = hands.next(at: .zero) {
      guard case .midi(let message) = touch else { continue }
      times.append(time)
      events.append(message.event.description)
    }
    #expect(times.count == SurfaceLimits.touches && times == times.sorted())
    #expect(events.count { $0.hasPrefix("note") } == 1 && times.last == Micros(999))
  }

  @Test
  func `MIDI input beyond the time budget waits exactly until it recovers`() throws {
    var hands = LocalInputQueue(at: .zero)
    #expect(hands.deadline == nil)
    hands.put(try message([0x90, 60, 100]), at: .zero)
    hands.charge(Int(Cost.hands.atOnce), at: .zero)
    #expect(hands.next(at: .zero) == nil)
    let due = try #require(hands.deadline)
    #expect(due > .zero && due < Micros(1000))
    #expect(hands.next(at: due) != nil && hands.deadline == nil)
  }
}
