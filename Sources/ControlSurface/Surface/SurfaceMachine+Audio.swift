// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

extension SurfaceMachine {
  mutating func listChannels(to target: Peer) throws(Refusal) {
    let channels = reading.state.audio.channels
    try allowance.spend(channels.count * Cost.binding)
    let packets = channels.map { channel in
      LibloCodec.encode(
        Message(
          Table.address("audio/channel"), .string(channel.name),
          .string(channel.isSent ? "sent" : "received"),
          .string(channel.health), .float32(Float(finite: channel.delayMilliseconds)),
          .float32(Float(finite: channel.bufferMilliseconds)),
          .float32(Float(finite: channel.jitterMilliseconds)),
          .float32(Float(finite: channel.arrivalMilliseconds)), .float32(Float(finite: channel.decibels)),
          .int32(Int32(clamping: channel.sampleRate)), .int32(Int32(clamping: channel.dropouts)),
          .int32(Int32(clamping: channel.lost)), .int32(Int32(clamping: channel.late))))
    }
    for packet in [updateFrame(1)] + packets + [updateFrame(0)] { reply(packet, to: target) }
  }
}
