// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusJACK

/// A patchbay whose ports are just names.
private struct Board {
  var standing = StandingConnections()
  var seen = StandingConnections.Seen(
    outputs: ["tactus:click_1", "tactus:click_2", "tactus:clock", "synth:out"],
    inputs: ["tactus:control", "system:playback_1", "system:playback_2", "mixer:in 1", "mixer:in 2"],
    speakers: ["system:playback_1", "system:playback_2"])
  var cables: Set<String> = []
  var broken: Set<String> = []

  mutating func step() {
    standing.step(seen, client: "tactus") { [broken] output, input in
      guard !broken.contains(input) else { return false }
      cables.insert("\(output) > \(input)")
      return true
    }
  }
}

@Suite struct StandingConnectionTests {
  @Test func `the user's output out/NAME is connected when it appears`() {
    var board = Board()
    board.standing.want([.ports("out/drums", "mixer:in 1"), .ports("mixer:in 2", "out/ppq*")])
    board.step()
    #expect(board.cables.isEmpty)
    board.seen.outputs += ["tactus:drums", "tactus:ppq-2", "other:drums"]
    board.step()
    #expect(board.cables == ["tactus:drums > mixer:in 1", "tactus:ppq-2 > mixer:in 2"])
  }

  @Test
  func `a standing connection may name its ports in any order, long or short`() {
    var board = Board()
    board.standing.want([
      .ports("click_1", "mixer:in 1"), .ports("mixer:in 2", "tactus:click_2"),
      .ports("synth:out", "mixer:in 2"),
      .ports("clock", "drums:midi"),
    ])
    board.step()
    #expect(
      board.cables == [
        "tactus:click_1 > mixer:in 1", "tactus:click_2 > mixer:in 2", "synth:out > mixer:in 2",
      ])
    board.cables = []
    board.seen.inputs.append("drums:midi")
    board.step()
    #expect(board.cables == ["tactus:clock > drums:midi"])
  }

  @Test func `a cut standing connection stays cut until one of its ports returns`() {
    var board = Board()
    board.standing.want([.ports("click_1", "mixer:in 1")])
    board.step()
    board.cables = []
    board.step()
    #expect(board.cables == [])
    let inputs = board.seen.inputs
    board.seen.inputs.removeAll { $0.hasPrefix("mixer") }
    board.step()
    board.seen.inputs = inputs
    board.step()
    #expect(board.cables == ["tactus:click_1 > mixer:in 1"])
    board.cables = []
    board.standing.serverLost()
    board.step()
    #expect(board.cables == ["tactus:click_1 > mixer:in 1"])
  }

  @Test func `a standing connection that JACK refused is tried again`() {
    var board = Board()
    board.standing.want([.ports("click_1", "mixer:in 1")])
    board.broken = ["mixer:in 1"]
    board.step()
    #expect(board.cables == [])
    board.broken = []
    board.step()
    #expect(board.cables == ["tactus:click_1 > mixer:in 1"])
  }

  @Test func `the click is connected to a sound card's first one or two outputs`() {
    var board = Board()
    board.standing.want([.clickToSpeakers])
    board.step()
    #expect(board.cables == ["tactus:click_1 > system:playback_1", "tactus:click_2 > system:playback_2"])
    board = Board()
    board.standing.want([.clickToSpeakers])
    board.seen.speakers = ["system:playback_1"]
    board.step()
    #expect(board.cables == ["tactus:click_1 > system:playback_1", "tactus:click_2 > system:playback_1"])
    board.seen.speakers = []
    board.step()
  }

  @Test(arguments: [
    ("a:b", "a:b", true), ("a:b", "a:bc", false), ("a:*", "a:bc", true), ("*:in 1", "mixer:in 1", true),
    ("a*c*e:f", "abcde:f", true), ("a*c*e:f", "abde:f", false), ("*", "tactus:clock", false),
    ("*:*", "x:y", true),
    ("click_*", "tactus:click_2", true), ("click_*", "other:click_2", false), ("a:*a", "a:a", true),
    ("a:ab*ba", "a:aba", false),
  ])
  func `a star in a port name pattern stands for any text`(pattern: String, name: String, matches: Bool) {
    // A pattern without a colon means our own ports, so `*` stands for `tactus:*`.
    #expect(PortPattern(pattern, client: "tactus").matches(name) == (pattern == "*" ? true : matches))
  }

  @Test func `standing connections beyond the limit are refused and counted`() {
    var board = Board()
    board.seen.outputs = (0..<100).map { "a:\($0)" }
    board.seen.inputs = (0..<100).map { "b:\($0)" }
    board.standing.want([.ports("a:*", "b:*")])
    board.step()
    #expect(board.cables.count == 512 && board.standing.refusedCount == 10_000 - 512)
    // With this many ports there are four hundred million pairs, which must not be built.
    board.seen.outputs = (0..<20_000).map { "a:\($0)" }
    board.seen.inputs = (0..<20_000).map { "b:\($0)" }
    board.step()
    #expect(board.standing.refusedCount == 400_000_000 - 512)
  }
}
