// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import tactus

struct FarDistanceTests {
  @Test(arguments: [("4beats", 4.0), ("1beat", 1), ("2bars", 6), ("1bar", 3), ("0", 0), ("64bars", 192)])
  func `whole beats and bars are distances`(text: String, beats: Double) throws {
    let distance = try #require(FarDistance(text))
    #expect(distance.beats(inBarsOf: 3) == Beats(beats))
    #expect(FarDistance(distance.texts[0])?.beats(inBarsOf: 3) == Beats(beats))
  }

  @Test(arguments: [
    "", "4", "beats", "-1beat", "1.5beats", "65bars", "4 beats", "2barss", "99999999999999999999beats",
  ])
  func `what is neither is refused`(text: String) { #expect(FarDistance(text) == nil) }
}
