// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("States for programs have fixed words")
struct StateWordTests {
  private func values(of path: String, _ change: (inout SurfaceState) -> Void = { _ in }) -> [Argument] {
    var reading = Reading(state: SurfaceState(), own: SurfaceMemory())
    change(&reading.state)
    return Table.standard.row(path)?.read?(reading) ?? []
  }

  @Test(arguments: [
    ("transport/state", ["none", "stopped", "waiting", "starting", "rolling", "stopping"]),
    ("lead/now", ["link", "host", "midi"]),
    ("lead/midi/state", ["off", "silent", "acquiring", "locked", "lost", "echo"]),
    ("jack/timebase/kind", ["nobody", "tactus", "leaving", "other"]),
    ("jack/sink/state", ["none", "found", "missing"]),
    ("quantum/kind", ["bar", "beats"]),
    ("web/reach", ["off", "closed", "here", "network"]),
    ("audio/thread/kind", ["off", "realtime", "ordinary", "slowed"]),
    ("audio/received/list", ["begins", "plays", "silent", "idle", "absent"]),
    ("save/outcome", ["none", "saved", "failed"]),
    ("far/rooms", ["nowhere", "waiting", "ourselves", "proven", "away"]),
  ])
  func `the words for a state in OSC messages never change`(path: String, words: [String]) throws {
    let row = try #require(Table.standard.row(path))
    let known = (row.parameters + row.each).compactMap {
      if case .word(let words) = $0 { words } else { nil }
    }
    #expect(known == [words])
  }

  @Test
  func `an OSC state is sent as its word and the values that belong to it`() {
    #expect(values(of: "transport/state") == [.string("stopped")])
    #expect(values(of: "transport/state") { $0.doing = .stopping } == [.string("stopping")])
    #expect(
      values(of: "lead/midi/state") { $0.midiClock = .locked(Tempo(97.5)) } == [
        .string("locked"), .float32(97.5),
      ])
    #expect(
      values(of: "jack/timebase/kind") { $0.jack.timebase = .other("Hydrogen") }
        == [.string("other"), .string("Hydrogen")])
    #expect(
      values(of: "jack/timebase/kind") { ($0.jack.timebase, $0.jack.leavesTimebase) = (.tactus, true) }
        == [.string("leaving"), .string("")])
    #expect(
      values(of: "web/reach") { $0.page.reach = .network(["http://a/", "http://b/"]) }
        == [.string("network"), .int32(2), .string("http://a/"), .string("http://b/")])
    #expect(
      values(of: "web/missing") { $0.page.missing = ["no port"] } == [.int32(1), .string("no port")])
    #expect(values(of: "quantum/kind") == [.string("bar"), .float32(4)])
    #expect(
      values(of: "save/outcome") {
        ($0.saving.count, $0.saving.words, $0.saving.hasFailed) = (2, "not saved: full", true)
      }
        == [.int32(2), .string("failed"), .string("not saved: full")])
  }

  @Test
  func `an unknown launch moment of a start counts as the launch setting`() {
    var other = RemoteState()
    for moment in LaunchMoment.allCases {
      other.receive(
        Message(Table.address("transport/start"), .string(moment.word), .float32(8), .float32(1)))
      #expect(other.state.askedLaunch == moment)
    }
    for word in ["later", ""] {
      other.receive(Message(Table.address("transport/start"), .string(word), .float32(12), .float32(1)))
      #expect(other.state.askedLaunch == nil && other.state.startPlace == Beats(12))
    }
  }

  @Test
  func `channels are sent as values; those that do not fit are only counted`() throws {
    var drums = ShownChannel(name: "Studio/Drums", isSent: false)
    (drums.state, drums.delayMilliseconds, drums.dropouts) = (.plays, 22.5, 3)
    var voice = ShownChannel(name: "Voice", isSent: true)
    voice.listeners = 2
    let two: @Sendable (inout SurfaceState) -> Void = { [drums, voice] in $0.audio.channels = [drums, voice] }
    #expect(
      values(of: "audio/received/list", two)
        == [.int32(1), .string("Studio/Drums"), .string("plays"), .float32(22.5), .int32(3)])
    #expect(values(of: "audio/sent/list", two) == [.int32(1), .string("Voice"), .int32(2)])
    var own = SurfaceState(), other = RemoteState()
    own.audio.channels = (10..<42).map {
      var channel = drums
      channel.name = "Studio/\($0)"
      return channel
    }
    for path in ["audio/sent/list", "audio/received/list"] {
      other.receive(Message(Table.address(path), arguments: values(of: path) { $0 = own }))
    }
    #expect(other.state.audio.channels.count == 32 && other.state.audio.received == own.audio.received)
    #expect(own.audio.received.hasSuffix(" more"))
    // A hostile count of channels makes no more channels than peers can offer.
    other.receive(Message(Table.address("audio/sent/list"), .int32(10_000)))
    #expect(other.state.audio.channels.count(where: \.isSent) == SurfaceLimits.shownChannels)
    other.receive(Message(Table.address("audio/received/list"), .int32(-1)))
    #expect(other.state.audio.channels.count { !$0.isSent } == 32)
  }

  @Test
  func `a list that does not fit a datagram is cut, but its count stays`() {
    let reasons = (0..<40).map { "\($0) " + String(repeating: "x", count: 300) }
    let long = values(of: "web/missing") { $0.page.missing = reasons }
    #expect(long.first == .int32(40) && long.count == 5)
    let short = values(of: "web/missing") { $0.page.missing = reasons.map { String($0.prefix(3)) } }
    #expect(short == [.int32(40)] + reasons.map { .string(String($0.prefix(3))) })
    let many = values(of: "web/missing") { $0.page.missing = Array(repeating: "x", count: 90) }
    #expect(many.first == .int32(90) && many.count == 64)
    for message in [long, short, many] {
      let bytes = LibloCodec.encode(Message("/tactus/web/missing", arguments: message))
      #expect(bytes.count < 1_300)
      #expect(throws: Never.self) { try bytes.withUnsafeBytes { _ = try PacketCheck.parts(of: $0) } }
    }
  }

  @Test
  func `a list message that is cut or has a wrong type changes nothing`() {
    var state = RemoteState()
    state.receive(Message("/tactus/web/missing", .int32(1), .string("no port")))
    #expect(state.state.page.missing == ["no port"])
    let before = state.state
    for arguments in [
      [], [.string("x")], [.int32(1), .int32(1)], [.float32(.nan)], [.int32(-1)],
      [.int32(1), .string(String(repeating: "x", count: 256))],
    ] as [[Argument]] {
      state.receive(Message("/tactus/web/missing", arguments: arguments))
      state.receive(Message("/tactus/far/rooms", arguments: arguments + [.string("x")]))
      #expect(state.state == before, "\(arguments)")
    }
  }

  @Test
  func `an unknown state is sent as the word unknown`() {
    #expect(values(of: "transport/state") { $0.doing = .unknown } == [.string("unknown")])
    #expect(values(of: "lead/now") { $0.leading = .auto } == [.string("unknown")])
    #expect(values(of: "web/reach") { $0.page.reach = .unknown } == [.string("unknown"), .int32(0)])
  }

  @Test
  func `OSCQuery describes a list with its present length`() {
    var reading = Reading(state: SurfaceState(), own: SurfaceMemory())
    reading.state.page.missing = ["a", "b"]
    let snapshot = SurfaceSnapshot(reading: reading)
    func body(_ query: String) -> String {
      QueryTree().answer(
        path: "/tactus/web/missing", query: query, snapshot, at: QueryTree.Place(web: 1), isPaired: false
      ).body
    }
    #expect(body("TYPE") == "{\"TYPE\":\"iss\"}")
    #expect(body("VALUE") == "{\"VALUE\":[2,\"a\",\"b\"]}")
    #expect(body("RANGE") == "{\"RANGE\":[{\"MIN\":0,\"MAX\":10000},{},{}]}")
    #expect(body("CLIPMODE") == "{\"CLIPMODE\":[\"none\",\"none\",\"none\"]}")
  }
}
