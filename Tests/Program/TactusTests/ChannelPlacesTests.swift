// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusJACK
import Testing

@testable import TactusApp

/// Tests which channels of peers get a place (a pair of JACK ports) while channels come, go and change their
/// names.
struct ChannelPlacesTests {
  private var places = ChannelPlaces()
  private var second = Int64(0)
  private static let limit = AudioChannelPorts.limit

  private mutating func want(_ texts: String...) {
    places.want(texts.compactMap { ReceivedText($0) }, at: Micros(second * 1_000_000))
  }

  /// Offers these channels one second after the last step, then lets another second pass.
  private mutating func offer(_ channels: [(String, UInt64)]) {
    second += 1
    places.offer(named(channels), at: Micros(second * 1_000_000))
    second += 1
    places.poll(at: Micros(second * 1_000_000))
  }

  private func named(_ channels: [(String, UInt64)]) -> [ChannelNames.Named] {
    channels.map { name, id in
      let peer = String(name.prefix { $0 != "/" })
      return ChannelNames.Named(
        name: name, id: NodeID(rawValue: id),
        peer: NodeID(rawValue: peer.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }), peerName: peer,
        isMain: name.hasSuffix("/Main"))
    }
  }

  /// Sets which places have a cable, and which channels sound.
  private mutating func note(cables: Set<String> = [], sounding: Set<UInt64> = []) {
    places.note(
      cabled: cables, sounding: Set(sounding.map { NodeID(rawValue: $0) }), at: Micros(second * 1_000_000))
  }

  private var names: [String] { places.places.map(\.name) }

  /// The names of the places that have a channel, with the id of the channel.
  private var sounding: [String: UInt64] {
    var found: [String: UInt64] = [:]
    for place in places.places { if let channel = place.channel { found[place.name] = channel.rawValue } }
    return found
  }

  @Test mutating func `a new Link Audio channel is received after many others came and went`() {
    want("*/*")
    for take in 1...10 * UInt64(Self.limit) {
      offer([("Studio/Take \(take)", take)])
      #expect(names.count <= Self.limit && sounding["Studio/Take \(take)"] == take)
      #expect(places.leftOut.isEmpty)
      if take % 3 == 0 { offer([]) }
    }
  }

  @Test
  mutating func `JACK ports change only if the offered or wanted channels change`() {
    want("*/*")
    let before = places.changes
    for _ in 0..<50 { want("*/*") }
    #expect(places.changes == before)
    offer([("Studio/Drums", 1)])
    #expect(places.changes == before + 1)
    note(cables: ["Studio/Drums"])
    offer([])
    #expect(places.changes == before + 2 && names == ["Studio/Drums"])
    want()
    #expect(places.changes == before + 3 && names.isEmpty)
  }

  @Test mutating func `the channel that has been away the longest loses its ports`() {
    want("*/*")
    offer([("Studio/Stays", 1)])
    note(cables: Set((2...100).map { "Studio/\($0)" }))
    for number in 2...UInt64(Self.limit) { offer([("Studio/Stays", 1), ("Studio/\(number)", number)]) }
    #expect(names.count == Self.limit)
    // Channel 2 came back, so channel 3 has been away for the longest time.
    offer([("Studio/Stays", 1), ("Studio/2", 2)])
    offer([("Studio/Stays", 1), ("Studio/New", 100)])
    #expect(names.contains("Studio/Stays") && names.contains("Studio/2") && names.contains("Studio/New"))
    #expect(!names.contains("Studio/3") && names.contains("Studio/4"))
    offer([("Studio/Stays", 1), ("Studio/New", 100), ("Studio/Newer", 101)])
    #expect(!names.contains("Studio/4") && names.contains("Studio/5"))
  }

  @Test mutating func `a channel that the user named keeps its ports while it is away`() {
    want("*/*", "Studio/Drums=1bar")
    note(cables: Set((1...200).map { "Stage/Take \($0)" }))
    for take in 1...3 * UInt64(Self.limit) { offer([("Stage/Take \(take)", take)]) }
    #expect(names.count == Self.limit && names.contains("Studio/Drums") && sounding["Studio/Drums"] == nil)
    offer([("Studio/Drums", 7)])
    #expect(sounding["Studio/Drums"] == 7)
    #expect(places.places.first { $0.name == "Studio/Drums" }?.words?.delay == .bars(1))
  }

  @Test mutating func `a channel without ports is reported and gets the next free ports`() {
    want("*/*")
    var all = (1...UInt64(Self.limit)).map { ("Studio/\($0)", $0) }
    offer(all)
    #expect(names.count == Self.limit && places.leftOut.isEmpty)
    all += [("Studio/100", 100), ("Studio/101", 101)]
    offer(all)
    #expect(names.count == Self.limit && places.leftOut.map(\.name) == ["Studio/100", "Studio/101"])
    #expect(places.crowds == [.init(peer: "Studio", leftOut: 2, hasPlaces: true)])
    all.removeFirst()
    offer(all)
    #expect(sounding["Studio/100"] == 100 && places.leftOut.map(\.name) == ["Studio/101"])
    all.removeLast()
    offer(all)
    #expect(places.leftOut.isEmpty && places.crowds.isEmpty)
  }

  @Test(arguments: ["*/*", "Ref/*", "Ref/Click"])
  mutating func `a channel keeps its ports when it or its peer is renamed`(pattern: String) {
    want(pattern)
    offer([("Ref/Click", 1), ("Other/Tone", 2)])
    let before = names
    for turn in 1...34 {
      let title = turn.isMultiple(of: 2) ? "Ref/Click \(turn)" : "Peer \(turn)/Click"
      offer([(title, 1), ("Other/Tone", 2)])
      #expect(names == before && sounding["Ref/Click"] == 1)
      #expect(places.places.first { $0.channel?.rawValue == 1 }?.title == title)
    }
  }

  @Test(arguments: ["*/*", "Ref/*", "Ref/Click"], [true, false])
  mutating func `after a restart of its peer, a channel gets its old ports by its name`(
    pattern: String, isCabled: Bool
  ) {
    want(pattern)
    offer([("Ref/Click", 1)])
    if isCabled { note(cables: ["Ref/Click"]) }
    second += 10
    places.offer(named([("Ref/Click", 9)]), at: Micros(second * 1_000_000))
    #expect(names == ["Ref/Click"] && sounding == ["Ref/Click": 9])
    // The channel comes back under its last name, and later under its first name.
    offer([("Ref/Clack", 9)])
    places.offer(named([("Ref/Clack", 10)]), at: Micros(second * 1_000_000))
    #expect(names == ["Ref/Click"] && sounding == ["Ref/Click": 10])
    second += 2
    places.offer(named([("Ref/Click", 11)]), at: Micros(second * 1_000_000))
    #expect(names == ["Ref/Click"] && sounding == ["Ref/Click": 11])
  }

  @Test mutating func `a crashed peer's channel that returns gets its ports with a cable back`() {
    want("*/*")
    offer([("Ref/Click", 1)])
    note(cables: ["Ref/Click"])
    offer([("Ref/Click", 1), ("Ref 2/Click", 2)])
    #expect(sounding == ["Ref/Click": 1, "Ref 2/Click": 2])
    offer([("Ref/Click", 2)])
    #expect(names == ["Ref/Click"] && sounding == ["Ref/Click": 2])
    // A channel whose own place has a cable does not move to another place.
    offer([("Ref/Click", 2), ("Ref 2/Click", 3)])
    note(cables: ["Ref/Click", "Ref 2/Click"])
    offer([("Ref/Click", 3)])
    #expect(sounding["Ref 2/Click"] == 3)
  }

  @Test mutating func `ports without a channel stay while they have a cable`() {
    want("*/*")
    offer([("Studio/Drums", 1), ("Studio/Bass", 2)])
    note(cables: ["Studio/Drums"])
    offer([])
    #expect(names == ["Studio/Drums"])
    note()
    #expect(names.isEmpty)
  }

  @Test mutating func `a new channel with another channel's old name gets ports of its own`() {
    want("*/*")
    offer([("Ref/Click", 1)])
    offer([("Ref/Clack", 1), ("Ref/Click", 2)])
    #expect(sounding == ["Ref/Click": 1, "Ref/Click 2": 2])
    #expect(places.places.map(\.title) == ["Ref/Clack", "Ref/Click"])
  }

  @Test mutating func `ports follow a channel's name, and go when no --receive names it`() {
    want("Studio/*", "Stage/Voice")
    note(cables: ["Studio/Drums", "Studio/Bass"])
    offer([("Studio/Drums", 1), ("Studio/Bass", 2), ("Stage/Voice", 3), ("Stage/Noise", 4)])
    #expect(sounding == ["Studio/Drums": 1, "Studio/Bass": 2, "Stage/Voice": 3])
    offer([("Studio/Drums", 9)])
    #expect(sounding == ["Studio/Drums": 9, "Studio/Bass": 2, "Stage/Voice": 3])
    want("Stage/Voice")
    #expect(names == ["Stage/Voice"])
    want()
    #expect(names.isEmpty)
  }

  @Test
  mutating func `Link Audio channels that keep changing their names get no ports`() {
    want("*/*")
    offer([("Studio/Drums", 1)])
    let before = places.changes
    for turn in 1...240 {
      let now = Micros(second * 1_000_000 + Int64(turn) * 250_000)
      places.offer(
        named([("Studio/Drums", 1)] + (0..<64).map { ("Evil/\(turn) \($0)", UInt64(100 + $0)) }), at: now)
      places.poll(at: now)
    }
    // Only one change is left: the channel that was there becomes silent.
    #expect(names == ["Studio/Drums"] && places.changes <= before + 1)
  }

  @Test(arguments: [0, 64])
  mutating func `at most four channels a second are renamed or replaced at the ports`(step: UInt64) {
    want("*/*")
    var made = 0
    var last: Set<String> = []
    var titles = 0
    for turn in 0..<600 {
      let now = Micros(Int64(turn) * 100_000)
      // The peer renames all its channels every 1.5 s.
      if turn % 15 == 0 {
        let first = 100 + UInt64(turn) * step
        places.offer(named((0..<64).map { ("Evil/\(turn) \($0)", first + UInt64($0)) }), at: now)
      }
      let before = Set(places.places.map(\.title))
      places.poll(at: now)
      titles += Set(places.places.map(\.title)).subtracting(before).count
      made += Set(names).subtracting(last).count
      last = Set(names)
      #expect(names.count <= Self.limit)
    }
    // The loop lasts a minute.
    #expect((100...60 * 4 + Self.limit).contains(titles), "\(titles)")
    #expect((step == 0 ? Self.limit...Self.limit : 100...60 * 4 + Self.limit).contains(made), "\(made)")
  }

  @Test
  mutating func `the channel at a pair of ports changes once a second at most`() {
    want("Studio/Drums")
    var made = 0
    var last: UInt64?
    for turn in 1...240 {
      let now = Micros(Int64(turn) * 250_000)
      places.offer(named([("Studio/Drums", UInt64(turn))]), at: now)
      places.poll(at: now)
      if sounding["Studio/Drums"] != last { made += 1 }
      last = sounding["Studio/Drums"]
    }
    // The loop above lasts a minute, and the last channel wins.
    #expect((50...61).contains(made), "\(made)")
    places.poll(at: Micros(62_000_000))
    #expect(sounding["Studio/Drums"] == 240)
  }
}
