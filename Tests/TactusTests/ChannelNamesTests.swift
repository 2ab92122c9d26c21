// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkAudioSession
import LinkWire
import Testing

@testable import tactus

struct ChannelNamesTests {
  private let first = channel(1)
  private let second = channel(2)
  private var names = ChannelNames()

  private static func channel(_ id: UInt64, of peer: String = "Studio") -> AudioChannel {
    AudioChannel(id: NodeID(rawValue: id), name: "Drums", peer: NodeID(rawValue: id + 100), peerName: peer)
  }

  @Test mutating func `of two peers with one name each keeps its own for as long as it is there`() {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(second, first, at: 1) == ["Studio 2/Drums", "Studio/Drums"])
    #expect(names(second, at: 60) == ["Studio 2/Drums"])
    #expect(names(second, Self.channel(3), at: 70) == ["Studio 2/Drums", "Studio/Drums"])
  }

  @Test mutating func `a program that crashed and is there again has its name, once the old one is given up`()
  {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(first, second, at: 100) == ["Studio/Drums", "Studio 2/Drums"])
    #expect(names(second, at: 105) == ["Studio/Drums"])
  }

  @Test mutating func `another name is another name`() {
    #expect(names(first) == ["Studio/Drums"])
    #expect(names(Self.channel(1, of: "Stage"), at: 1) == ["Stage/Drums"])
    #expect(names(Self.channel(1, of: "Stage"), second, at: 2) == ["Stage/Drums", "Studio/Drums"])
  }

  private mutating func names(_ offered: AudioChannel..., at seconds: Int64 = 0) -> [String] {
    names.names(of: offered, at: Micros(seconds * 1_000_000)).map(\.name)
  }
}
