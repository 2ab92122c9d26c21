// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import Testing

@Suite("The gate for input from outside")
struct InputGateTests {
  private typealias Gate = InputGate<Int>

  private func gate(most: Int = 100, memory: Micros = Micros(1_000_000)) -> Gate {
    InputGate(
      { trust in Gate.Share(perSecond: trust == .trusted ? 40 : 20, atOnce: 20) },
      ofSource: Gate.Share(perSecond: 10, atOnce: 5), most: most, memory: memory, at: .zero)
  }

  @Test
  func `many senders of one trust level use up only that level's share`() {
    var gate = gate()
    var admitted: [Trust: Int] = [:]
    for millisecond in 0..<10_000 {
      let now = Micros(Int64(millisecond) * 1000)
      for trust in Trust.allCases {
        // Each request comes from a new source, and most sources get no account.
        if gate.admit(millisecond * 3 + trust.rawValue, trust, at: now) { admitted[trust, default: 0] += 1 }
      }
    }
    #expect((219...220).contains(admitted[.stranger] ?? 0), "\(admitted)")
    #expect((219...220).contains(admitted[.known] ?? 0), "\(admitted)")
    #expect((418...420).contains(admitted[.trusted] ?? 0), "\(admitted)")
  }

  @Test
  func `one flooding sender does not use up the share of its trust level`() {
    var gate = gate()
    var (floods, others) = (0, 0)
    for millisecond in 0..<10_000 {
      let now = Micros(Int64(millisecond) * 1000)
      if gate.admit(1, .stranger, at: now) { floods += 1 }
      if millisecond % 200 == 0, gate.admit(2, .stranger, at: now) { others += 1 }
    }
    #expect(others == 50)
    #expect((104...105).contains(floods), "\(floods)")
  }

  @Test
  func `the number of remembered senders is limited; silent ones are dropped`() {
    var gate = gate(most: 10, memory: Micros(2_000_000))
    for source in 0..<10 { gate.charge(5, to: source, at: .zero) }
    #expect(gate.recall(3, at: Micros(1_500_000)) != nil)
    gate.charge(5, to: 10, at: Micros(1_600_000))
    #expect(gate.sourceCount == 10 && gate.recall(10, at: Micros(1_600_000)) == nil)
    gate.charge(5, to: 11, at: Micros(2_700_000))
    #expect(gate.sourceCount == 2 && gate.recall(3, at: Micros(2_700_000)) != nil)
    let recent = gate.recall(11, at: Micros(2_800_000))
    #expect(recent?.left == 1 && recent?.last == 5)
  }

  @Test(arguments: [true, false])
  func `a sender that returned is remembered among many new senders`(hasReturned: Bool) {
    var gate = InputGate<Int>(
      { _ in .init(perSecond: 20, atOnce: 20) }, ofSource: .init(perSecond: 10, atOnce: 5), most: 10,
      memoryOfReturned: Micros(60_000_000), at: .zero)
    for _ in 0..<(hasReturned ? 2 : 1) { gate.charge(1, to: 0, at: .zero) }
    // Many new sources, each of which is charged once.
    for number in 1..<3000 { gate.charge(1, to: number, at: Micros(Int64(number) * 2000)) }
    #expect((gate.recall(0, at: Micros(6_000_000)) != nil) == hasReturned)
    #expect(gate.sourceCount <= 10)
  }

  @Test
  func `a sender with a limited debt is admitted again soon`() {
    for (most, seconds) in [(5.0, 1), (.infinity, 10)] {
      var gate = gate()
      for _ in 0..<21 { gate.charge(5, to: 1, mostDebt: most, at: .zero) }
      #expect(gate.recall(1, at: Micros(Int64(seconds) * 1_000_000 - 600_000))?.left ?? 1 < 0)
      #expect(gate.recall(1, at: Micros(Int64(seconds) * 1_000_000))?.left ?? 0 >= 0)
    }
  }

  @Test
  func `a sender is admitted again only after its debt is paid`() {
    var gate = gate()
    func has(_ trust: Trust, at now: Int64) -> Bool { gate.has(trust, at: Micros(now)) }
    func admits(at now: Int64) -> Bool { gate.admit(1, .stranger, at: Micros(now)) }
    #expect(gate.refill(at: .zero) == nil)
    gate.charge(60, to: .known, at: .zero)
    gate.charge(15, to: 1, at: .zero)
    #expect(has(.stranger, at: 0) && has(.trusted, at: 0) && !has(.known, at: 0))
    #expect(gate.refill(at: Micros(1_000_000)) == Micros(1_100_000))
    #expect(gate.time(of: 20, .known) == Micros(3_000_000))
    #expect(!admits(at: 1_000_000) && admits(at: 1_100_000))
    #expect(!has(.known, at: 2_000_000) && has(.known, at: 2_050_000))
  }
}
