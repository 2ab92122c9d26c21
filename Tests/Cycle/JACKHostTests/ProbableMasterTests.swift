// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusJACK

@Test(
  arguments: [
    (["system:playback_1", "tactus:click_1"], nil),
    (["Hydrogen:out_L", "Hydrogen:out_R", "LinkHut:out_1", "tactus:run"], "Hydrogen"),
    (["Qtractor:in", "hydrogen-01:out_L"], nil), (["ardour:auditioner/audio_out 1"], "ardour"),
    (["musescore:out"], nil), (["stage:run", "stage:clock"], "stage"), (["stage:run", "klick:out"], nil),
    ([":", ""], nil),
  ] as [([String], String?)])
func `a probable timebase master is named only if there is exactly one`(
  ports: [String], name: String?
) {
  #expect(ProbableMaster.name(ofPorts: ports, neighbours: ["stage"]) == name)
}
