// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import TactusSurface
import Testing

@testable import TactusApp

/// Tests the messages about other peers' channels.
struct ChannelNewsTests {
  @Test(arguments: [
    "\u{1B}[2J\u{1B}[31mRED", "\u{1B}]0;PWNED\u{7} t", "new\nline", "cr\rX", "\u{9B}31m", "del\u{7F}",
    "nul\0",
    "x\nJACK server gone", String(repeating: "\u{1B}c", count: 300),
  ])
  func `control characters in a peer's channel name never reach the terminal`(name: String) {
    for said in [
      ChannelNews.presence("Studio/\(name)", true), ChannelNews.presence("\(name)/Drums", false),
      ChannelNews.crowd(.init(peer: name, leftOut: 2, hasPlaces: true)),
    ] {
      #expect(!said.unicodeScalars.contains { $0.properties.generalCategory == .control })
      #expect(said.hasPrefix("Link Audio: ") && said.unicodeScalars.count < 300)
    }
    #expect(ChannelNews.presence("Studio/Bühne 🎹", true) == "Link Audio: Studio/Bühne 🎹 is here")
  }

  @Test
  func `at most four channel lists a second are applied, the newest always`() {
    var pace = OfferPace()
    var newest = 0
    var worked: [Int] = []
    for turn in 1...1000 {
      newest = turn
      if let list = pace.next(at: Micros(Int64(turn) * 10_000), { newest }) { worked.append(list) }
    }
    #expect(worked.first == 1 && worked.count <= 41)
    #expect(pace.next(at: Micros(11_000_000), { newest }) == 1000)
    #expect(pace.next(at: Micros(12_000_000), { Int?.none }) == nil)
  }

  @Test func `channels that come and go fast make few lines; the last state is told`() {
    var presence = ChannelPresence()
    var lines: [String] = []
    for turn in 0..<1200 {
      let there = (0..<32).map { (name: "Evil/\($0)", isThere: turn % 2 == 0) }
      lines += presence.lines(there, at: Micros(Int64(turn) * 500_000))
    }
    // The loop lasts ten minutes.
    #expect((70...95).contains(lines.count), "\(lines.count)")
    for turn in 0..<1200 {
      lines += presence.lines(
        [("Evil/0", true), ("Studio/Drums", true)], at: Micros(600_000_000 + Int64(turn) * 500_000))
    }
    #expect(lines.contains("Link Audio: Studio/Drums is here") && lines.last?.hasSuffix("is here") == true)
    let now = Micros(2_000_000_000)
    func crowd(_ peer: String, _ count: Int) -> [ChannelNews.ConnectionPool] {
      [.init(peer: peer, leftOut: count, hasPlaces: false)]
    }
    #expect(presence.lines([], crowds: crowd("Evil", 10), at: now).count == 1)
    #expect(presence.lines([], crowds: crowd("Evil", 20), at: now).isEmpty)
    #expect(
      presence.lines([], crowds: crowd("Evil", 10) + crowd("Abe", 2), at: now) == [
        "Link Audio: 32 channels are received; no place is left for Abe (2 channels)"
      ])
  }

  @Test func `channels without ports are reported beside a big set's many names`() {
    var presence = ChannelPresence()
    let names = (1...60).map { (name: "Live/\($0)", isThere: true) }
    #expect(presence.lines(names, at: Micros(1_000_000)).count == 32)
    let crowds: [ChannelNews.ConnectionPool] = [
      .init(peer: "Live", leftOut: 17, hasPlaces: true), .init(peer: "Abe", leftOut: 1, hasPlaces: true),
    ]
    let lines = presence.lines(names, crowds: crowds, at: Micros(1_250_000))
    #expect(
      lines == [
        "Link Audio: 32 channels are received; no place is left for 17 channels of Live",
        "Link Audio: 32 channels are received; no place is left for 1 channel of Abe",
      ])
    // Even if a thousand peers' channels come and go, the terminal gets few lines.
    let count = (0..<1200).reduce(0) { count, turn in
      let crowd = ChannelNews.ConnectionPool(peer: "Evil \(turn)", leftOut: 1, hasPlaces: false)
      return count + presence.lines([], crowds: [crowd], at: Micros(2_000_000 + Int64(turn) * 500_000)).count
    }
    #expect((60...70).contains(count), "\(count)")
  }

  @Test func `tactus status shows a channel's delay and level in the digits it got`() throws {
    let isOn = (row: try #require(Table.standard.row("link/audio")), arguments: [Argument.int32(1)])
    func line(_ delay: Float, _ level: Float) -> Substring? {
      let channel: [Argument] = [
        .string("Ref/Click"), .string("received"), .string("plays"), .float32(delay), .float32(8),
        .float32(2.6), .float32(-2.1), .float32(level),
      ]
      return StatusCommand.text([isOn], channels: [channel]).split(separator: "\n")
        .first { $0.contains("Ref/Click") }
    }
    #expect(line(22.1, -16)?.hasSuffix("Ref/Click: plays, 22.1 ms, -16 dB") == true)
    #expect(line(20, -90)?.hasSuffix("Ref/Click: plays, 20 ms") == true)
    #expect(line(0, -6.5)?.hasSuffix("Ref/Click: plays, -6.5 dB") == true)
  }
}
