// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld
import TactusTestSupport
import Testing

/// Some cells of X. Riley's table, an experiment with five peers on several networks (`FiveNodes`).
@Suite struct FiveNodesTests {
  @Test(arguments: campaign(FiveNodes.Topology.allCases))
  func `without delays, beats agree by the rules of Ableton's library and ours`(topology: FiveNodes.Topology)
  {
    for isReference in [true, false] {
      let shares = FiveNodes(topology, .zero, .constant).run(seed: 1, byReference: isReference)
      #expect(shares.hundred > 0.95, "\(isReference)")
    }
  }

  /// A one-way delay gives a peer that measures at that moment an error of half of the delay. Ableton's
  /// library uses only the last measurement.
  @Test(arguments: campaign(FiveNodes.Topology.allCases))
  func `one-way delays disturb peers of Ableton's library, but not our peers`(topology: FiveNodes.Topology) {
    let nodes = FiveNodes(topology, Micros(48_000), .constant)
    let ours = nodes.run(seed: 1, byReference: false)
    let theirs = nodes.run(seed: 1, byReference: true)
    #expect(ours.one > theirs.one && ours.hundred > 0.9 && ours.one > 0.8, "\(ours), \(theirs)")
  }
}
