// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import JACKHost
import LinkWire
import Testing

@testable import TactusApp

/// Which channels of peers have ports, while names come and go.
struct ChannelPlacesTests {
  private var places = ChannelPlaces()
  private var second = Int64(0)
  private static let limit = AudioChannelPorts.limit

  private mutating func want(_ texts: String...) {
    places.want(texts.compactMap { ReceivedText($0) }, at: Micros(second * 1_000_000))
  }

  /// Offers these channels after a second, then lets another second pass.
  private mutating func offer(_ channels: [(String, UInt64)]) {
    second += 1
    places.offer(named(channels), at: Micros(second * 1_000_000))
    second += 1
    places.look(at: Micros(second * 1_000_000))
  }

  private func named(_ channels: [(String, UInt64)]) -> [ChannelNames.Named] {
    channels.map { ChannelNames.Named(name: $0.0, id: NodeID(rawValue: $0.1)) }
  }

  private var names: [String] { places.places.map(\.name) }

  /// The places that play, with the ids of their channels.
  private var sounding: [String: UInt64] {
    var found: [String: UInt64] = [:]
    for place in places.places { if let channel = place.channel { found[place.name] = channel.rawValue } }
    return found
  }

  @Test mutating func `a new channel is received after many others came and went`() {
    want("*/*")
    for take in 1...10 * UInt64(Self.limit) {
      offer([("Studio/Take \(take)", take)])
      #expect(names.count <= Self.limit && sounding["Studio/Take \(take)"] == take)
      #expect(places.crowdedOut == nil)
      if take % 3 == 0 { offer([]) }
    }
  }

  @Test
  mutating func `the same wish changes nothing; an offer, its end or a new wish does`() {
    want("*/*")
    let before = places.changes
    for _ in 0..<50 { want("*/*") }
    #expect(places.changes == before)
    for change in 1...3 {
      switch change {
      case 1: offer([("Studio/Drums", 1)])
      case 2: offer([])
      default: want()
      }
      #expect(places.changes == before + change)
    }
    #expect(names.isEmpty)
  }

  @Test mutating func `the channel that has been away the longest loses its place`() {
    want("*/*")
    offer([("Studio/Stays", 1)])
    for number in 2...UInt64(Self.limit) { offer([("Studio/Stays", 1), ("Studio/\(number)", number)]) }
    #expect(names.count == Self.limit)
    // Number 2 came back, so number 3 has been away the longest.
    offer([("Studio/Stays", 1), ("Studio/2", 2)])
    offer([("Studio/Stays", 1), ("Studio/New", 100)])
    #expect(names.contains("Studio/Stays") && names.contains("Studio/2") && names.contains("Studio/New"))
    #expect(!names.contains("Studio/3") && names.contains("Studio/4"))
    offer([("Studio/Stays", 1), ("Studio/New", 100), ("Studio/Newer", 101)])
    #expect(!names.contains("Studio/4") && names.contains("Studio/5"))
  }

  @Test mutating func `a channel that the user named keeps its ports while it is away`() {
    want("*/*", "Studio/Drums=1bar")
    for take in 1...3 * UInt64(Self.limit) { offer([("Stage/Take \(take)", take)]) }
    #expect(names.count == Self.limit && names.contains("Studio/Drums") && sounding["Studio/Drums"] == nil)
    offer([("Studio/Drums", 7)])
    #expect(sounding["Studio/Drums"] == 7)
    #expect(places.places.first { $0.name == "Studio/Drums" }?.words?.delay == .bars(1))
  }

  @Test
  mutating func `a channel without a place is reported, and gets the first free one`() {
    want("*/*")
    var all = (1...UInt64(Self.limit)).map { ("Studio/\($0)", $0) }
    offer(all)
    #expect(names.count == Self.limit && places.crowdedOut == nil)
    all += [("Studio/Late", 100), ("Studio/Later", 101)]
    offer(all)
    #expect(names.count == Self.limit && places.crowdedOut == "Studio/Late")
    all.removeFirst()
    offer(all)
    #expect(sounding["Studio/Late"] == 100 && places.crowdedOut == "Studio/Later")
    all.removeLast()
    offer(all)
    #expect(places.crowdedOut == nil)
  }

  @Test
  mutating func `a renamed channel plays at its new ports only`() {
    want("*/*")
    offer([("Studio/Tone", 1), ("Studio/Other", 2)])
    offer([("Studio/Renamed", 1), ("Studio/Other", 2)])
    #expect(sounding == ["Studio/Renamed": 1, "Studio/Other": 2])
    #expect(names.contains("Studio/Tone"))
    // A renamed peer has the same effect.
    offer([("Stage/Renamed", 1), ("Studio/Other", 2)])
    #expect(sounding == ["Stage/Renamed": 1, "Studio/Other": 2])
    offer([("Studio/Tone", 1), ("Studio/Other", 2)])
    #expect(sounding == ["Studio/Tone": 1, "Studio/Other": 2])
  }

  @Test mutating func `a renamed channel plays on if only its old name is wanted`() {
    want("Studio/Tone")
    offer([("Studio/Tone", 1)])
    offer([("Studio/Renamed", 1)])
    #expect(sounding == ["Studio/Tone": 1])
    want("Studio/Tone", "Studio/Renamed")
    #expect(sounding == ["Studio/Renamed": 1])
  }

  @Test mutating func `an unwanted channel leaves; a name gets the new channel that has it`() {
    want("Studio/*", "Stage/Voice")
    offer([("Studio/Drums", 1), ("Studio/Bass", 2), ("Stage/Voice", 3), ("Stage/Noise", 4)])
    #expect(sounding == ["Studio/Drums": 1, "Studio/Bass": 2, "Stage/Voice": 3])
    offer([("Studio/Drums", 9)])
    #expect(sounding == ["Studio/Drums": 9, "Studio/Bass": 2, "Stage/Voice": 3])
    want("Stage/Voice")
    #expect(names == ["Stage/Voice"])
    want()
    #expect(names.isEmpty)
  }

  @Test(arguments: [
    "\u{1B}[2J\u{1B}[31mRED", "\u{1B}]0;PWNED\u{7} t", "new\nline", "cr\rX", "\u{9B}31m", "del\u{7F}",
    "nul\0",
    "x\nJACK server gone", String(repeating: "\u{1B}c", count: 300),
  ])
  func `a name from outside prints no control characters`(name: String) {
    for said in [
      ChannelNews.presence("Studio/\(name)", true), ChannelNews.presence("\(name)/Drums", false),
      ChannelNews.crowd("Studio/\(name)"),
    ] {
      #expect(!said.unicodeScalars.contains { $0.properties.generalCategory == .control })
      #expect(said.hasPrefix("Link Audio: ") && said.unicodeScalars.count < 300)
    }
    #expect(ChannelNews.presence("Studio/Bühne 🎹", true) == "Link Audio: Studio/Bühne 🎹 is here")
  }

  @Test
  mutating func `channels that keep changing their names get no ports`() {
    want("*/*")
    offer([("Studio/Drums", 1)])
    let before = places.changes
    for turn in 1...240 {
      let now = Micros(second * 1_000_000 + Int64(turn) * 250_000)
      places.offer(
        named([("Studio/Drums", 1)] + (0..<64).map { ("Evil/\(turn) \($0)", UInt64(100 + $0)) }), at: now)
      places.look(at: now)
    }
    #expect(names == ["Studio/Drums"] && places.changes == before)
  }

  @Test mutating func `a peer that renames its channels moves at most four ports a second`() {
    want("*/*")
    var made = 0
    var last: Set<String> = []
    for turn in 0..<600 {
      let now = Micros(Int64(turn) * 100_000)
      // New names every 1.5 s.
      if turn % 15 == 0 {
        places.offer(named((0..<64).map { ("Evil/\(turn) \($0)", UInt64(100 + $0)) }), at: now)
      }
      places.look(at: now)
      made += Set(names).subtracting(last).count
      last = Set(names)
      #expect(names.count <= Self.limit)
    }
    // The loop above lasts a minute.
    #expect((100...60 * 4 + Self.limit).contains(made), "\(made)")
  }

  @Test
  mutating func `a place changes its channel once a second at most`() {
    want("Studio/Drums")
    var made = 0
    var last: UInt64?
    for turn in 1...240 {
      let now = Micros(Int64(turn) * 250_000)
      places.offer(named([("Studio/Drums", UInt64(turn))]), at: now)
      places.look(at: now)
      if sounding["Studio/Drums"] != last { made += 1 }
      last = sounding["Studio/Drums"]
    }
    // The loop above lasts a minute, and the last channel wins.
    #expect((50...61).contains(made), "\(made)")
    places.look(at: Micros(62_000_000))
    #expect(sounding["Studio/Drums"] == 240)
  }

  @Test
  func `at most four channel lists a second are applied, the newest always`() {
    var pace = OfferPace()
    var newest = 0
    var worked: [Int] = []
    for turn in 1...1000 {
      newest = turn
      if let list = pace.take(at: Micros(Int64(turn) * 10_000), { newest }) { worked.append(list) }
    }
    #expect(worked.first == 1 && worked.count <= 41)
    #expect(pace.take(at: Micros(11_000_000), { newest }) == 1000)
    #expect(pace.take(at: Micros(12_000_000), { Int?.none }) == nil)
  }

  @Test func `lines about channels are limited, and the last state gets one`() {
    var presence = ChannelPresence()
    var lines: [String] = []
    for turn in 0..<1200 {
      let there = (0..<32).map { (name: "Evil/\($0)", isThere: turn % 2 == 0) }
      lines += presence.lines(there, at: Micros(Int64(turn) * 500_000))
    }
    // The loop above lasts ten minutes.
    #expect((70...95).contains(lines.count), "\(lines.count)")
    for turn in 0..<1200 {
      lines += presence.lines(
        [("Evil/0", true), ("Studio/Drums", true)], at: Micros(600_000_000 + Int64(turn) * 500_000))
    }
    #expect(lines.contains("Link Audio: Studio/Drums is here") && lines.last?.hasSuffix("is here") == true)
    let now = Micros(2_000_000_000)
    #expect(presence.lines([], crowdedOut: "Evil/0", at: now).count == 1)
    #expect(presence.lines([], crowdedOut: "Evil/1", at: now).isEmpty)
  }
}
