// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusTestSupport
import Testing

@testable import LinkAudio

/// Link Audio's thread has real-time priority if permitted, but never for long during a flood.
@Suite struct UrgencyTests {
  /// Simulates a thread that uses the processor for `share` microseconds of each millisecond, for one stretch
  /// after another. Returns for each millisecond whether the thread's budget is spent.
  private func play(_ shares: [(milliseconds: Int64, share: Int64)]) -> [Bool] {
    var (now, used) = (Micros(5_000_000), Micros(77))
    var budget = UrgencyBudget(used: used, at: now)
    return shares.flatMap { stretch in
      (0..<stretch.milliseconds).map { _ in
        now = now + Micros(1_000)
        used = used + Micros(stretch.share)
        budget.note(used: used, at: now)
        return budget.isSpent
      }
    }
  }

  @Test func `thirty-two channels each way stay within the real-time budget`() {
    #expect(!play([(60_000, 400)]).contains(true))
  }

  @Test func `a flood is handled in real time for 50 ms, then at normal priority`() {
    let spent = play([(1_000, 20), (10_000, 1_000)])
    let first = spent.firstIndex(of: true)
    #expect(first.map { (1_040...1_100).contains($0) } == true)
    #expect(!spent[(first ?? 0)...].contains(false))
  }

  @Test func `a second after the flood the thread is in real time again`() {
    let spent = play([(1_000, 20), (2_000, 1_000), (3_000, 20)])
    let last = spent.lastIndex(of: true)
    #expect(last.map { (3_900...4_300).contains($0) } == true)
  }

  /// At normal priority the thread gets little time, whatever its load is, and so it seems idle.
  @Test func `a lasting flood gets real time for at most 6 % of the time`() {
    var (now, used) = (Micros.zero, Micros.zero)
    var budget = UrgencyBudget(used: used, at: now)
    var urgent = 0
    for _ in 0..<60_000 {
      now = now + Micros(1_000)
      used = used + Micros(budget.isSpent ? 100 : 1_000)
      urgent += budget.isSpent ? 0 : 1
      budget.note(used: used, at: now)
    }
    #expect(urgent <= 60 * 60, "\(urgent) ms of a minute")
  }

  @Test func `60 ms of work in 10 s keep real-time priority, 51 ms in 60 ms do not`() {
    var budget = UrgencyBudget(used: .zero, at: .zero)
    budget.note(used: Micros(60_000), at: Micros(10_000_000))
    #expect(!budget.isSpent)
    budget.note(used: Micros(111_000), at: Micros(10_060_000))
    #expect(budget.isSpent)
  }

  /// The scheduling class and priority of Link Audio's thread in a program that `prefix` starts: "CLASS
  /// PRIORITY".
  private func thread(_ prefix: [String]) async throws -> String {
    let stage = try await LabStage("--no-server")
    let peer = try LabPeer(.program(prefix + [ChannelTests.program]), in: stage, on: 1)
    try await peer.ask("enable on")
    try await peer.ask("audio Rack")
    // The priority and the policy are fields 40 and 41 of `stat`. Count after the bracket that ends the
    // thread's name.
    let look = """
      import glob
      for path in glob.glob("/proc/[0-9]*/task/*/stat"):
        text = open(path).read()
        if "(link-audio)" in text:
          fields = text.rsplit(")", 1)[1].split()
          print(fields[38], fields[37])
      """
    let seen = try await stage.run(on: 1, "python3", "-c", look)
    return seen.output.split(separator: "\n").first.map(String.init) ?? "none"
  }

  @Test func `Link Audio's thread is in real time if permitted, and works otherwise`() async throws {
    let stage = try await LabStage("--no-server")
    let mayBe = try await stage.run(on: 1, "chrt", "--rr", "1", "true").status == 0
    // SCHED_RR is 2, SCHED_OTHER 0, SCHED_IDLE 5.
    #expect(try await thread(["chrt", "--other", "0"]) == (mayBe ? "2 1" : "0 0"))
    #expect(
      try await thread([
        "chrt", "--other", "0", "setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice",
        "prlimit", "--rtprio=0",
      ]) == "0 0")
    #expect(try await thread(["chrt", "--idle", "0"]) == "5 0")
  }
}
