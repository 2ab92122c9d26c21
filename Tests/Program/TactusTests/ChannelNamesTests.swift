// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioSession
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

@testable import TactusApp

struct ChannelNamesTests {
  private let first = channel(1)
  private let second = channel(2)
  private var names = ChannelNames()

  private static func channel(_ id: UInt64, of peer: String = "Studio") -> AudioChannel {
    AudioChannel(id: NodeID(rawValue: id), name: "Drums", peer: NodeID(rawValue: id + 100), peerName: peer)
  }

  @Test mutating func `channels of two peers with the same name keep distinct names`() {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(second, first, at: 1) == ["Studio 2/Drums", "Studio/Drums"])
    #expect(names(second, at: 60) == ["Studio 2/Drums"])
    #expect(names(second, Self.channel(3), at: 70) == ["Studio 2/Drums", "Studio/Drums"])
  }

  @Test mutating func `a restarted peer's channel gets its plain name when the old one ends`() {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(first, second, at: 100) == ["Studio/Drums", "Studio 2/Drums"])
    #expect(names(second, at: 105) == ["Studio/Drums"])
  }

  @Test mutating func `a Link Audio channel of a renamed peer gets the new name`() {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(Self.channel(1, of: "Stage"), at: 1) == ["Stage/Drums"])
    #expect(names(Self.channel(1, of: "Stage"), second, at: 2) == ["Stage/Drums", "Studio/Drums"])
  }

  @Test mutating func `naming 1024 channels of the same name takes 1024 tries`() {
    let many = (1...1024).map { Self.channel(UInt64($0)) }
    let named = names.names(of: many, at: .zero)
    #expect(Set(named.map(\.name)).count == 1024 && named.last?.name == "Studio 1024/Drums")
    #expect(names.tries <= 1024)
    // All these channels are new; the channels of before no longer occupy names.
    _ = names.names(of: (2001...3024).map { Self.channel(UInt64($0), of: "Stage") }, at: Micros(1))
    #expect(names.tries <= 2 * 1024)
  }

  /// Searches for the list of channels that causes the most work, which is the number of names that
  /// `ChannelNames` tries. The test changes a random list step by step, and keeps each change that causes no
  /// less work.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `naming any list of channels takes at most a few tries per channel`(seed: UInt64) {
    var dice = Dice(seed: seed)
    let peers = ["S", "S 2", "S 3", "S 2 2", "S/S", "S 2/S", ""], channels = ["D", "2/D", "S/D", "S 2/D", ""]
    func channel() -> AudioChannel {
      AudioChannel(
        id: NodeID(rawValue: .random(in: 1...2000, using: &dice)),
        name: channels.randomElement(using: &dice)!,
        peer: NodeID(rawValue: .random(in: 1...4, using: &dice)), peerName: peers.randomElement(using: &dice)!
      )
    }
    func whole(_ list: [AudioChannel]) -> [AudioChannel] {
      Array(Dictionary(list.map { ($0.id, $0) }) { $1 }.values.sorted { $0.id < $1.id }.prefix(1024))
    }
    var lists: [[AudioChannel]] = [[], []]
    var dearest = 0
    for _ in 0..<60 {
      var next = lists
      let place = Int.random(in: 0..<next.count, using: &dice)
      if Bool.random(using: &dice) {
        let one = channel()
        next[place] += (1...512).map { number in
          AudioChannel(
            id: NodeID(rawValue: one.id.rawValue + UInt64(number)), name: one.name, peer: one.peer,
            peerName: one.peerName)
        }
      } else {
        for _ in 0..<200 { next[place].append(channel()) }
      }
      next[place] = whole(next[place])
      var names = ChannelNames()
      var most = 0
      for (turn, list) in next.enumerated() {
        let before = names.tries
        let named = names.names(of: list, at: Micros(Int64(turn)))
        #expect(Set(named.map(\.name)).count == list.count)
        most = max(most, names.tries - before)
      }
      if most >= dearest { (lists, dearest) = (next, most) }
    }
    #expect(dearest <= 4 * 1024, "\(dearest) steps")
  }

  private mutating func names(_ offered: AudioChannel..., at seconds: Int64 = 0) -> [String] {
    names.names(of: offered, at: Micros(seconds * 1_000_000)).map(\.name)
  }
}
