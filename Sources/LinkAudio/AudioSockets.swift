// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import Link
import LinkAudioSession
import LinkWire

/// The socket of a gateway, under Link's number for that.
struct OpenAudioSocket: Sendable {
  let id: GatewayID
  let socket: AudioSocket
}

/// Our sockets, and as whom we send through them.
struct AudioSockets: Sendable {
  var all: [OpenAudioSocket] = []
  var node = NodeID(rawValue: 0)
  var session = SessionID(rawValue: 0)
  private(set) var failedSends = 0

  mutating func send(_ bytes: UnsafeRawBufferPointer, to route: AudioRoute) {
    guard let gateway = all.first(where: { $0.id == route.gateway }) else { return }
    if !gateway.socket.send(bytes, to: route.endpoint) { failedSends += 1 }
  }
}
