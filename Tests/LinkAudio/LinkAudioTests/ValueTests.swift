// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire
import Testing

@testable import LinkAudio

/// Values of Link Audio that programs compare, print and keep.
@Suite struct ValueTests {
  private static let delays: [LinkAudio.Delay] = [
    .standard, .adaptive(least: .milliseconds(30)), .fixed(.milliseconds(20)), .beats(4), .beats(1),
  ]

  @Test func `two audio delays are equal if their kind and length are equal`() {
    for (index, delay) in Self.delays.enumerated() {
      #expect(Self.delays.indices.filter { Self.delays[$0] == delay } == [index])
    }
    #expect(Set(Self.delays + Self.delays).count == Self.delays.count)
    #expect(LinkAudio.Delay.standard == .adaptive(least: .milliseconds(20)))
  }

  @Test func `each kind of audio delay prints as readable text`() {
    #expect(
      Self.delays.map { "\($0)" } == [
        "at least 0.02 seconds", "at least 0.03 seconds", "0.02 seconds", "4 beats", "1 beat",
      ])
  }

  @Test func `an audio delay is the same after it was saved and read`() {
    #expect(Self.delays.map { LinkAudio.Delay($0.saved) } == Self.delays)
    let least: [LinkAudio.Delay.Saved] = [
      .adaptive(leastMicroseconds: .min), .fixed(microseconds: .max), .beats(count: .min),
    ]
    for saved in least { #expect("\(LinkAudio.Delay(saved))" != "") }
  }

  @Test func `a channel's figures and id print as readable text`() {
    let figures = LinkAudio.ReceiveLane().figures
    #expect("\(figures)" == "silent, delay 0.0 seconds; received 0, lost 0, dropouts 0")
    let id = LinkAudio.Channel.ID(NodeID(rawValue: 3))
    #expect("\(id)" == "0x0000000000000003")
  }

  @Test func `two audio periods are equal if all their values are equal`() {
    let state = Link(tempo: 120).capture()
    let period = LinkAudio.Period(state, frames: 64, sampleRate: 48_000, start: Link.now)
    var other = period
    #expect(other == period)
    other.latencyFrames = 1
    #expect(other != period)
  }
}
