// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TactusTestSupport
import Testing

/// Ableton's test plan for apps with Link. Each case is a test that really does each step, with our program
/// as released, against Debian's LinkHut (its keys, status line and sound). The app's audio output is judged.
///
/// Each case runs with both programs on one host, and with one on each of two hosts. `tools/conformance` runs
/// all cases and writes docs/conformance.md from their records.
struct Conformance {
  /// The number of hosts: 1 for the app and LinkHut on the same host, 2 for one host each.
  let hosts: Int
  let stage: LabStage
  let record: CaseRecord

  var hostOfLinkHut: Int { hosts }

  /// Plays a case; an error is recorded as a failure of the case.
  static func play(
    _ name: String, _ title: String, hosts: Int, _ steps: (Conformance) async throws -> Void
  ) async throws {
    let record = CaseRecord(name, title, hosts: hosts)
    await Room.enter()
    defer { Room.leave() }
    do {
      let stage = try await LabStage("--hosts", "\(hosts)")
      try await steps(Conformance(hosts: hosts, stage: stage, record: record))
    } catch {
      record.step("the case could be played to its end", "\(error)", holds: false)
    }
    record.write()
  }

  func openLinkHut() throws -> LabPeer { try LabPeer(.linkhut, in: stage, on: hostOfLinkHut) }

  func openApp(_ options: String...) async throws -> App { try await App(on: stage, options) }

  /// Starts listening to the app and LinkHut. On two hosts, each of them has its own `Ear`.
  func listen(to ports: [String] = [App.click], linkHut: Bool = true, options: [String] = ["--no-link"])
    async throws -> EarPair
  {
    var here = ports
    if linkHut, hostOfLinkHut == 1 { here.append(LinkHut.sound) }
    let ours = try await Ear(on: stage, host: 1, options, here)
    guard linkHut, hostOfLinkHut != 1 else { return EarPair(ours: ours, theirs: ours) }
    let theirs = try await Ear(on: stage, host: hostOfLinkHut, options, [LinkHut.sound])
    return EarPair(ours: ours, theirs: theirs)
  }

  func pause(_ seconds: Double) async throws {
    try await Task.sleep(for: .milliseconds(Int(seconds * 1000)))
  }
}

enum LinkHut {
  static let sound = "LinkHut:out_1"
}

extension Conformance {
  /// Expects a number of peers, by LinkHut's status line.
  func expectPeers(_ count: Int, at linkhut: LabPeer, _ what: String) async throws {
    let seen = try await linkhut.wait("peers", "\(count)").peers
    record.step(what, "LinkHut shows \(seen)", holds: seen == count)
  }

  func expectTempo(_ tempo: Double, at linkhut: LabPeer, _ what: String) async throws {
    let shown = try await linkhut.wait("tempo", "\(tempo)").tempo
    record.step(what, "LinkHut shows \(shown) BPM", holds: abs(shown - tempo) < 0.011)
  }
}

/// Limits how many cases run at once. Each case runs two JACK servers and five programs, which must be in
/// time with each other. If more than a few cases ran at once, they would delay each other.
enum Room {
  /// How many cases run at once: the environment variable `CONFORMANCE_AT_ONCE`, or three without it.
  private static let size = getenv("CONFORMANCE_AT_ONCE").flatMap { Int(String(cString: $0)) } ?? 3
  private static let taken = Mutex(0)

  static func enter() async {
    while !taken.withLock({ count in
      if count < size {
        count += 1
        return true
      }
      return false
    }) {
      try? await Task.sleep(for: .milliseconds(50))
    }
  }

  static func leave() { taken.withLock { $0 -= 1 } }
}
