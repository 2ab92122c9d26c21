// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TestSupport
import Testing

/// Ableton's test plan for apps that speak Link, one test per case and each step done for real: against Debian's LinkHut
/// (its keys, its status line, its sound), with our real program, judged by what leaves its output.
///
/// Each case is played with both on one host and on two. `tools/conformance` runs them and writes docs/conformance.md
/// from what they record.
struct Conformance {
  /// The hosts on which the app and LinkHut are.
  let hosts: Int
  let stage: LabStage
  let record: CaseRecord

  var hostOfLinkHut: Int { hosts }

  /// Plays a case; what it throws is its failure, and recorded as that.
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

  /// Programs and their sound; with LinkHut on another host that takes another pair of ears.
  func listen(to ports: [String] = [App.click], linkHut: Bool = true, options: [String] = ["--no-link"])
    async throws -> Ears
  {
    var here = ports
    if linkHut, hostOfLinkHut == 1 { here.append(LinkHut.sound) }
    let ours = try await Ear(on: stage, host: 1, options, here)
    guard linkHut, hostOfLinkHut != 1 else { return Ears(ours: ours, theirs: ours) }
    return Ears(ours: ours, theirs: try await Ear(on: stage, host: hostOfLinkHut, options, [LinkHut.sound]))
  }

  func pause(_ seconds: Double) async throws {
    try await Task.sleep(for: .milliseconds(Int(seconds * 1000)))
  }
}

enum LinkHut {
  static let sound = "LinkHut:out_1"
}

extension Conformance {
  /// Where the status line of LinkHut is asked: how many, which tempo.
  func expectPeers(_ count: Int, at linkhut: LabPeer, _ what: String) async throws {
    let seen = try await linkhut.wait("peers", "\(count)").peers
    record.step(what, "LinkHut shows \(seen)", holds: seen == count)
  }

  func expectTempo(_ tempo: Double, at linkhut: LabPeer, _ what: String) async throws {
    let shown = try await linkhut.wait("tempo", "\(tempo)").tempo
    record.step(what, "LinkHut shows \(shown) BPM", holds: abs(shown - tempo) < 0.011)
  }
}

/// Each case has two servers and five programs in time with each other: more than a few at once would only hold each
/// other up.
enum Room {
  /// `CONFORMANCE_AT_ONCE`, or three.
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
