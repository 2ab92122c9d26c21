// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioLanes
import Synchronization
import TactusTestSupport
import Testing

@testable import LinkAudio

/// Channels on a cable that loses its carrier for less time than peers remember each other.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct BlipAudioTests {
  @Test(arguments: [150, 2_500] as [UInt32])
  func `channels and subscriptions survive a short loss of the cable's carrier`(milliseconds: UInt32) throws {
    let (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    try home.ip("addr add 10.50.0.1/24 dev wire")
    try other.ip("addr add 10.50.0.2/24 dev cable")
    try home.ip("link set wire up")
    try other.ip("link set cable up")
    let (link, audio) = try home.perform { try Self.rack("Desk") }
    let (far, farAudio) = try other.perform { try Self.rack("Rack") }
    let lane = SendLane(channels: 1)
    let sink = try #require(farAudio.publish(lane, as: "Drums"))
    #expect(happens { link.peerCount == 1 && far.peerCount == 1 && audio.channels.map(\.name) == ["Drums"] })
    let source = try #require(audio.subscribe(ReceiveLane(), to: sink.node))
    #expect(happens { source.isConnected && sink.listenerCount == 1 })
    let changes = Mutex(0)
    audio.onChannels { _ in changes.withLock { $0 += 1 } }
    try other.ip("link set cable down")
    usleep(milliseconds * 1_000)
    #expect(source.isConnected && sink.listenerCount == 1)
    try other.ip("link set cable up")
    usleep(1_500_000)
    #expect(source.isConnected && sink.listenerCount == 1)
    #expect(audio.channels.map(\.name) == ["Drums"] && changes.withLock { $0 } == 0)
  }

  static func rack(_ name: String) throws -> (Link, LinkAudio) {
    let link = Link(tempo: 120)
    let audio = try LinkAudio(link, peerName: name)
    link.isEnabled = true
    audio.isEnabled = true
    return (link, audio)
  }

  /// Whether `condition` becomes true within a time that no healthy machine needs.
  private func happens(_ condition: () -> Bool) -> Bool {
    for _ in 0..<20_000 where !condition() { usleep(1_000) }
    return condition()
  }
}
