// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusJACK
import Testing

@testable import TactusApp

/// A peer with a big set, as in Ableton Live, beside a second peer. Together they offer more Link Audio
/// channels than tactus has places (pairs of JACK ports for a received channel).
struct BigSetTests {
  private var places = ChannelPlaces()
  private var now = Micros.zero
  private var cables: Set<String> = []
  private static let limit = AudioChannelPorts.limit

  private static func channel(_ peer: UInt64, _ name: String, _ number: UInt64) -> ChannelNames.Named {
    let peerName = ["Live", "Abe", "Zed"][Int(peer) - 1]
    return ChannelNames.Named(
      name: "\(peerName)/\(name)", id: NodeID(rawValue: peer * 1000 + number), peer: NodeID(rawValue: peer),
      peerName: peerName, isMain: name == "Main")
  }

  private static let live =
    (1...48).map { channel(1, "\($0)-Audio", $0) } + [channel(1, "Main", 0)]
  private static let abe = [channel(2, "Synth", 1), channel(2, "Voice", 2)]

  private mutating func want(_ texts: String...) {
    places.want(texts.compactMap { ReceivedText($0) }, at: now)
  }

  private mutating func offer(_ channels: [ChannelNames.Named]) {
    places.offer(channels, at: now)
    pass(seconds: 15)
  }

  private mutating func pass(seconds: Int64) {
    for _ in 0..<seconds * 10 {
      now = now + Micros(100_000)
      places.poll(at: now)
    }
  }

  private mutating func note(sounding: [ChannelNames.Named]) {
    places.note(cabled: cables, sounding: Set(sounding.map(\.id)), at: now)
    pass(seconds: 15)
  }

  private var names: [String] { places.places.map(\.name) }

  @Test mutating func `a peer's channel Main gets ports first, then its channels by number`() {
    want("*/*")
    offer(Self.live + Self.abe)
    #expect(names.count == Self.limit && names.contains("Live/Main") && names.contains("Abe/Synth"))
    #expect(names.contains("Live/9-Audio") && !names.contains("Live/48-Audio"))
    #expect(places.leftOut.count == 51 - Self.limit)
  }

  @Test mutating func `a later peer's channel gets ports; channels without ports are reported`() {
    want("*/*")
    offer(Self.live)
    offer(Self.live + Self.abe)
    #expect(names.count == Self.limit && names.contains("Abe/Synth") && names.contains("Live/Main"))
    #expect(places.leftOut.count == 51 - Self.limit)
    #expect(Set(places.crowds.map(\.peer)) == ["Live", "Abe"] || places.crowds.map(\.peer) == ["Live"])
    // All places now have a cable, so no channel loses its place.
    cables = Set(names)
    places.note(cabled: cables, sounding: [], at: now)
    let late = ChannelNames.Named(
      name: "Zed/Bass", id: NodeID(rawValue: 9), peer: NodeID(rawValue: 9), peerName: "Zed", isMain: false)
    offer(Self.live + Self.abe + [late])
    #expect(places.crowds.first == .init(peer: "Zed", leftOut: 1, hasPlaces: false))
    #expect(Set(names) == cables)
  }

  @Test mutating func `the silent channels of two peers share the received ports evenly`() {
    want("*/*")
    offer(Self.live)
    offer(Self.live + Self.abe)
    #expect(Set(names).isSuperset(of: ["Abe/Synth", "Abe/Voice", "Live/Main"]))
    // Two peers with many silent channels share the places evenly, and then no place changes any more.
    let zed = (1...40).map { Self.channel(3, "Zed \($0)", $0) }
    for _ in 0..<20 { offer(Self.live + Self.abe + zed) }
    let shares = [1, 3].map { peer in
      places.places.count { place in
        (Self.live + zed).contains { $0.id == place.channel && $0.peer == NodeID(rawValue: UInt64(peer)) }
      }
    }
    #expect(shares.reduce(0, +) == Self.limit - 2 && abs(shares[0] - shares[1]) <= 1, "\(shares)")
    let before = names
    for _ in 0..<5 { offer(Self.live + Self.abe + zed) }
    #expect(names == before)
  }

  @Test mutating func `channels that sound get the ports of silent channels`() {
    want("*/*")
    offer(Self.live + Self.abe)
    let sounding = [36, 39, 44, 47].map { Self.live[$0] } + Self.abe
    #expect(Set(places.unheard).isSuperset(of: sounding.map(\.id)))
    note(sounding: sounding)
    #expect(names.count == Self.limit && Set(names).isSuperset(of: sounding.map(\.name)))
    #expect(names.contains("Live/Main"))
    let before = places.places
    note(sounding: [])
    #expect(places.places == before)
  }

  @Test mutating func `a channel with a cable or a sound keeps its ports`() {
    want("*/*")
    offer(Self.live)
    let first = Set(names)
    let silent = names.filter { $0 != "Live/Main" }.prefix(8)
    cables = Set(silent)
    note(sounding: Self.live.filter { first.contains($0.name) && !silent.contains($0.name) })
    note(sounding: Self.live)
    #expect(Set(names) == first)
  }

  @Test mutating func `channels that a narrower --receive pattern names get ports first`() {
    want("*/*", "Abe/*", "Live/48*")
    offer(Self.live)
    #expect(names.contains("Live/48-Audio") && names.contains("Live/Main"))
    offer(Self.live + Self.abe)
    #expect(names.contains("Abe/Synth") && names.contains("Abe/Voice") && names.count == Self.limit)
  }

  @Test mutating func `the audio of a silent channel without a cable is not requested`() {
    want("*/*", "Abe/Voice")
    offer(Self.live + Self.abe)
    // A channel that the user has named is never asleep.
    #expect(places.places.filter { !$0.isAsleep }.map(\.name) == ["Abe/Voice"])
    cables = ["Live/Main"]
    note(sounding: [Self.live[0]])
    let awake = places.places.filter { !$0.isAsleep }.map(\.name)
    #expect(Set(awake) == ["Abe/Voice", "Live/Main", "Live/1-Audio"])
    #expect(places.unheard.count == 51 - 3)
  }

  @Test func `channel names sort by the value of the numbers in them`() {
    let names = ["a", "Click 1", "Click 2", "Click 10", "Click 10b", "Click 011", "b 9/1", "b 10/1", ""]
    for seed in 0..<20 {
      let mixed = names.sorted { ($0 + "\(seed)").hashValue < ($1 + "\(seed)").hashValue }
      #expect(
        mixed.sorted(by: NaturalOrder.precedes)
          == ["", "Click 1", "Click 2", "Click 10", "Click 10b", "Click 011", "a", "b 9/1", "b 10/1"])
    }
    #expect(!NaturalOrder.precedes("x 01", "x 1") && !NaturalOrder.precedes("x 1", "x 01"))
    #expect(NaturalOrder.precedes("9999999999999999999998", "9999999999999999999999"))
  }
}
