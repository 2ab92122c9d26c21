// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

extension SurfaceMachine {
  /// Offered channels that are listed; there may be a thousand.
  static let offersTold = 64

  mutating func listChannels(to target: Peer) throws(Refusal) {
    let audio = reading.state.audio
    let offers = audio.waiting.prefix(Self.offersTold)
    try allowance.spend((audio.channels.count + offers.count) * Cost.binding)
    let packets =
      audio.channels.map { Self.packet($0, $0.isSent ? "sent" : "received") }
      + offers.map { Self.packet(ShownChannel(name: $0, isSent: false), "offered") }
    for packet in [updateFrame(1)] + packets + [updateFrame(0)] { reply(packet, to: target) }
  }

  private static func packet(_ channel: ShownChannel, _ kind: String) -> [UInt8] {
    LibloCodec.encode(
      Message(
        Table.address("audio/channel"), .string(channel.name), .string(kind), .string(channel.health),
        .float32(Float(finite: channel.delayMilliseconds)),
        .float32(Float(finite: channel.bufferMilliseconds)),
        .float32(Float(finite: channel.jitterMilliseconds)),
        .float32(Float(finite: channel.arrivalMilliseconds)), .float32(Float(finite: channel.decibels)),
        .int32(Int32(clamping: channel.sampleRate)), .int32(Int32(clamping: channel.dropouts)),
        .int32(Int32(clamping: channel.lost)), .int32(Int32(clamping: channel.late)),
        .string(channel.takenBy)))
  }
}
