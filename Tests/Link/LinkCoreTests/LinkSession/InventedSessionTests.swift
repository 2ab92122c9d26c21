// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// Sessions without peers, announced by an attacker, beside a real session that is older than ours.
@Suite struct InventedSessionTests {
  /// Sessions that answer no ping, from `hosts` addresses.
  private func invented(_ count: Int, hosts: Int) -> [Stranger] {
    (0..<count).map { number in
      var fake = Stranger(UInt64(number) + 1_000)
      fake.source = Endpoint(.v4(0x0b00_0000 + UInt32(number % hosts)), port: 40_000)
      fake.state.measurement = Endpoint(fake.source.address, port: 9)
      return fake
    }
  }

  /// Seconds until the machine joins the honest session, which appears after `delay`. All sessions are
  /// announced four times a second.
  private func join(beside fakes: [Stranger], after delay: Int) -> Double? {
    var bench = Bench()
    let honest = Stranger(7, intercept: 500_000_000)
    for step in 0..<6_000 {
      for (place, fake) in fakes.enumerated() where step % 25 == place % 25 { bench.meet(fake) }
      if step >= delay, (step - delay) % 25 == 0 { bench.meet(honest) }
      bench.sent.removeAll { $0.ping == nil || $0.destination != .endpoint(honest.state.measurement!) }
      bench.wait(10_000, answering: honest)
      if bench.snapshot.session == honest.state.session { return Double(step - delay + 1) / 100 }
    }
    return nil
  }

  @Test(arguments: [0, 5, 20, 100, 1_000])
  func `sessions invented by one host do not delay joining the real session`(delay: Int) {
    let seconds = join(beside: invented(256, hosts: 1), after: delay)
    #expect(seconds.map { $0 < 0.7 } == true, "\(seconds as Any)")
  }

  @Test func `sessions invented by a thousand hosts delay a join only at first`() {
    let fakes = invented(1_000, hosts: 1_000)
    // By then the measurements of all invented sessions have failed, and their pauses grow.
    let seconds = join(beside: fakes, after: 3_000)
    #expect(seconds.map { $0 < 0.7 } == true, "\(seconds as Any)")
  }

  @Test func `a session that cannot be measured is tried less and less often`() {
    var bench = Bench()
    let silent = invented(1, hosts: 1)[0]
    var tries: [Micros] = []
    for _ in 0..<3_000 {
      bench.meet(silent)
      let failed = bench.machine.counters.measurementsFailed
      bench.wait(10_000)
      if bench.machine.counters.measurementsFailed > failed { tries.append(bench.now) }
    }
    let gaps = zip(tries, tries.dropFirst()).map { ($1 - $0).count }
    #expect(gaps.count >= 5 && gaps.count <= 9, "\(gaps)")
    #expect(zip(gaps, gaps.dropFirst()).allSatisfy { $1 >= $0 - 20_000 }, "\(gaps)")
    #expect(gaps.last! <= 9_000_000, "and never given up")
  }

  @Test func `a session whose peers answer again is joined after a pause`() {
    var bench = Bench()
    let honest = Stranger(7, intercept: 500_000_000)
    for _ in 0..<20 {
      bench.meet(honest)
      bench.wait(250_000)
    }
    #expect(bench.snapshot.session != honest.state.session)
    var waited = 0
    while bench.snapshot.session != honest.state.session, waited < 40 {
      bench.meet(honest)
      bench.wait(250_000, answering: honest)
      waited += 1
    }
    #expect(waited <= 20, "within five seconds")
  }

  @Test func `the tables of failed measurements stay within their limit`() {
    var bench = Bench()
    for round in 0..<40 {
      for number in 0..<500 {
        var fake = Stranger(UInt64(round * 500 + number) + 1_000)
        fake.source = Endpoint(.v4(0x0b00_0000 + UInt32(round * 500 + number)), port: 40_000)
        fake.state.measurement = Endpoint(fake.source.address, port: 9)
        bench.meet(fake)
      }
      bench.wait(400_000)
      bench.sent = []
    }
    let (sessions, hosts) = bench.machine.peers.sessions.failureCounts
    #expect(sessions <= Limits.sessions && hosts <= Limits.sessions)
  }
}
