// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface
import Testing

@testable import TactusApp

struct FarNewsTests {
  private func far(_ state: ShownRoom.State?, refused: String = "") -> ShownFar {
    var far = ShownFar()
    far.refused = refused
    far.rooms =
      state.map {
        [
          ShownRoom(
            name: "studio:20819", state: $0, roundTripMilliseconds: nil, lossPercent: nil,
            offsetMilliseconds: 0)
        ]
      } ?? []
    return far
  }

  @Test func `each change of another room's state is reported once`() {
    var news = FarNews()
    var said: [String] = []
    for state in [.waiting, .proven, .proven, .away, .away, .proven, nil, nil] as [ShownRoom.State?] {
      said += news.lines(far(state), at: .zero)
    }
    #expect(
      said == [
        "The room at studio:20819 is connected",
        "The room at studio:20819 cannot be reached; both rooms play on",
        "The room at studio:20819 is connected", "The room at studio:20819 has left",
      ])
  }

  @Test func `a host name of another room without an address is reported once`() {
    var news = FarNews()
    var said: [String] = []
    for state in [.nowhere, .nowhere, .waiting, .nowhere, nil] as [ShownRoom.State?] {
      said += news.lines(far(state), at: .zero)
    }
    #expect(
      said
        == Array(
          repeating: "No address is known for the room studio:20819; tactus looks it up again", count: 2))
  }

  @Test func `a tactus that calls itself is reported once, without other advice`() {
    var news = FarNews()
    var said: [String] = []
    for state in [.waiting, .ourselves, .ourselves, .waiting, .proven] as [ShownRoom.State?] {
      said += news.lines(far(state), at: .zero)
    }
    #expect(
      said == [
        "studio:20819 leads back to this tactus itself, not to another room",
        "The room at studio:20819 is connected",
      ])
  }

  @Test func `calls from other rooms with a wrong key make few lines of output`() {
    var news = FarNews()
    var said = 0
    for second in 0..<600 {
      said +=
        news.lines(far(nil, refused: "203.0.113.7:\(second)"), at: Micros(Int64(second) * 1_000_000)).count
    }
    #expect(said == 10)
  }
}
