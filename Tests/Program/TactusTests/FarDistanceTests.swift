// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface
import Testing

@testable import TactusApp

struct FarDistanceTests {
  private static let three = Meter(beatsPerBar: 3)

  @Test(arguments: [("4beats", 4.0), ("1beat", 1), ("2bars", 6), ("1bar", 3), ("0", 0), ("64bars", 192)])
  func `a distance between rooms is whole beats or whole bars`(text: String, beats: Double) throws {
    let distance = try FarDistance([.text(text)])
    #expect(distance.beats(in: Self.three) == Beats(beats))
    #expect(try FarDistance([.text(distance.word)]).beats(in: Self.three) == Beats(beats))
    let eighths = Meter(beatsPerBar: 3, beatType: 8)
    #expect(distance.beats(in: eighths) == Beats(text.contains("bar") ? beats / 2 : beats))
    let configuration = try Configuration(arguments: ["--link-distance", text, "--link-offset=-2.5"])
    #expect(configuration.choices.far.distance == distance)
    #expect(configuration.choices.far.offset == Micros(-2_500))
  }

  @Test func `the offset of a called room can be set by either name of the room`()
    throws
  {
    var state = SurfaceState()
    state.lists.calls = ["studio", "[2001:db8::1]:9 offset=4", "192.0.2.7:4711"]
    try state.setOffset(Micros(-2_500), of: "studio:20819")
    try state.setOffset(Micros(1_250), of: "[2001:db8::1]:9")
    try state.setOffset(Micros(3_000), of: "192.0.2.7:4711")
    #expect(
      state.lists.calls == [
        "studio offset=-2.5", "[2001:db8::1]:9 offset=1.25", "192.0.2.7:4711 offset=3",
      ])
    try state.setOffset(.zero, of: "studio")
    #expect(state.lists.calls[0] == "studio")
    for room in ["", "studio:1", "stage", "studio offset=3", "192.0.2.7"] {
      #expect(throws: Refusal.self, "\(room)") { try state.setOffset(.zero, of: room) }
    }
    // The saved configuration contains the new offsets.
    var configuration = try Configuration(arguments: ["--link-to", "studio"])
    configuration = configuration.taking(state)
    #expect(configuration.far.calls == state.lists.calls)
    var other = SurfaceState()
    configuration.choose(in: &other)
    #expect(other.lists.calls == state.lists.calls)
  }

  @Test(arguments: [
    "", "4", "beats", "-1beat", "1.5beats", "65bars", "4 beats", "2barss", "99999999999999999999beats",
  ])
  func `a distance between rooms that is not whole beats or bars is refused`(text: String) {
    #expect(throws: Refusal.self) { try FarDistance([.text(text)]) }
    #expect(throws: UserError.self) { try Configuration(arguments: ["--link-distance=\(text)"]) }
  }
}
