// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Our Link library among other peers, in the lab. `link-peer`, which has our library behind the peers' line
/// protocol, is in sessions with Debian's LinkHut and the newest reference library. The tests check what a
/// musician would notice.
enum Interop {
  /// The program `link-peer`, which has our Link library instead of the reference library.
  static let ours = LabPeer.Kind.program([Lab.products + "/link-peer"])

  /// The distance of two phases in beats, by the shorter way around the quantum.
  static func distance(_ a: Double, _ b: Double, quantum: Double = 4) -> Double {
    let difference = (a - b).truncatingRemainder(dividingBy: quantum)
    let positive = difference < 0 ? difference + quantum : difference
    return positive > quantum / 2 ? positive - quantum : positive
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  /// The numbers of cycles that the servers on these hosts have lost, as tactus counts them there.
  static func lostCycles(in stage: LabStage, on hosts: ClosedRange<Int> = 1...1) async throws -> [String] {
    var lost: [String] = []
    for host in hosts {
      let status = try await stage.run(on: host, Lab.products + "/tactus", "status", "--json").output
      let counts = status.split(separator: ",").filter { $0.contains("xruns\"") || $0.contains("lost") }
      guard !counts.isEmpty else {
        throw ChildProcess.Failure.ended(status: 0, errors: "no tactus tells: \(status)")
      }
      lost.append(counts.joined())
    }
    return lost
  }

  /// Repeats an observation until JACK has lost no cycle during it, nor for the time `calm` before it. After
  /// a lost cycle, a program that counts frames is late, and JACK's clock is off for a while. `isJudged` may
  /// ask for more repetitions. On a machine that always loses cycles, the test ends as not judged.
  static func undisturbed<Seen>(
    in stage: LabStage, on hosts: ClosedRange<Int> = 1...1, calm: Duration = .seconds(2),
    _ start: () async throws -> Seen, where isJudged: (Seen) -> Bool = { _ in true }
  ) async throws -> Seen {
    let deadline = ContinuousClock.now + .seconds(100)
    repeat {
      let lost = try await lostCycles(in: stage, on: hosts)
      try await Task.sleep(for: calm)
      guard try await lostCycles(in: stage, on: hosts) == lost else { continue }
      let seen = try await start()
      if try await lostCycles(in: stage, on: hosts) == lost, isJudged(seen) { return seen }
    } while ContinuousClock.now < deadline
    try unjudged("the machine lost cycles in each start")
  }
}

extension LabPeer {
  /// The distance in beats of this peer from another one at the same moment. LinkHut can't be asked for its
  /// beat at a given time, so its display is compared with the other peer's beat at the time of reading. The
  /// display has hundredths of a beat, and is up to 20 ms old.
  func phaseDistance(to other: LabPeer) async throws -> Double {
    if case .linkhut = kind {
      let shown = try await PeerStatus(ask("beat"))
      return Interop.distance(shown.phase, try await PeerStatus(other.ask("beat \(shown.time)")).phase)
    }
    if case .linkhut = other.kind { return try await -other.phaseDistance(to: self) }
    let time = try await PeerStatus(ask("clock")).time
    return Interop.distance(
      try await PeerStatus(ask("beat \(time)")).phase, try await PeerStatus(other.ask("beat \(time)")).phase)
  }

  /// The tolerance for `phaseDistance`: for LinkHut the 50 ms by which its display is late, otherwise one
  /// millisecond.
  func tolerance(with other: LabPeer, tempo: Double) -> Double {
    for peer in [self, other] { if case .linkhut = peer.kind { return 0.05 * tempo / 60 + 0.01 } }
    return 0.001 * tempo / 60
  }
}

extension ChildProcess {
  /// Reads lines until one begins with `start`.
  func awaitLine(beginning start: String) async throws {
    while let line = try await line(within: .seconds(40)) {
      if line.hasPrefix(start) { return }
    }
    throw Failure.ended(status: await status(), errors: "never said \"\(start)\": \(saidOnErrors)")
  }
}
