// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite(.serialized) struct AgreementTests {
  /// Two peers join a session in many rounds, one with the reference library and one with our library. The
  /// test compares how far the beat of each is from the beat of the session's founder. It compares the
  /// medians over all rounds, because a busy machine spoils single joins. It adds rounds until our median is
  /// as good as the reference library's, or the number of rounds reaches its limit.
  @Test(arguments: [1, 2])
  func `our beat is as close to a reference peer's as another reference peer's`(hosts: Int) async throws {
    let stage = try await hosts == 1 ? LabStage("--no-server") : LabStage("--hosts", "2", "--no-server")
    let founder = try LabPeer(.reference, in: stage, on: 1)
    let theirs = try LabPeer(.reference, in: stage, on: hosts)
    let ours = try LabPeer(Interop.ours, in: stage, on: hosts)
    try await founder.ask("enable on")
    var errors: (theirs: [Double], ours: [Double]) = ([], [])
    let mostRounds = 40
    var isAsGood = false
    while errors.ours.count < mostRounds, !isAsGood || errors.ours.count < 5 {
      let order = errors.ours.count.isMultiple(of: 2) ? [theirs, ours] : [ours, theirs]
      for peer in order {
        try await peer.ask("enable on")
        try await peer.wait("peers", peer === order[0] ? "1" : "2")
      }
      let instant = try await PeerStatus(founder.ask("clock")).time
      var phases: [Double] = []
      for peer in [founder, theirs, ours] {
        try await phases.append(PeerStatus(peer.ask("beat \(instant)")).phase)
      }
      let microseconds = phases.map { abs(Interop.distance($0, phases[0])) * 500_000 }  // at 120 BPM
      errors.theirs.append(microseconds[1])
      errors.ours.append(microseconds[2])
      for peer in order { try await peer.ask("enable off") }
      try await founder.wait("peers", "0")
      isAsGood = Interop.median(errors.ours) <= Interop.median(errors.theirs) + 10
    }
    let text = "median of \(errors.ours.count): ours \(Interop.median(errors.ours)) us, theirs "
    print("agreement on \(hosts) host(s), \(text)\(Interop.median(errors.theirs)) us")
    #expect(isAsGood, "ours \(errors.ours) theirs \(errors.theirs)")
  }
}
