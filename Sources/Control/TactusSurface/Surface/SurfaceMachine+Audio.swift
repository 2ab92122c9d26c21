// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

extension SurfaceMachine {
  /// The number of channels in one answer. Peers can offer a thousand channels, so they are listed in several
  /// answers.
  static let channelsPerPage = 64

  /// Answers with one page of the channels. Sent and received channels come first, then offered ones.
  mutating func listChannels(_ arguments: [Argument], to target: Peer) throws(Refusal) {
    let audio = reading.state.audio
    let offers = audio.waiting
    let count = audio.channels.count + offers.count
    let pages = max(1, (count + Self.channelsPerPage - 1) / Self.channelsPerPage)
    let wish = arguments.first.map { $0.number ?? .nan } ?? 1
    guard let page = Int(exactly: wish), (1...pages).contains(page) else {
      throw .range("a page from 1 to \(pages)")
    }
    let places = (page - 1) * Self.channelsPerPage..<min(count, page * Self.channelsPerPage)
    try allowance.spend(max(1, places.count) * Cost.binding)
    let channels = places.map { place in
      guard place < audio.channels.count else {
        return Self.packet(ShownChannel(name: offers[place - audio.channels.count], isSent: false), "offered")
      }
      let channel = audio.channels[place]
      return Self.packet(channel, channel.isSent ? "sent" : "received")
    }
    let head = LibloCodec.encode(
      Message(
        Table.address("audio/page"), .int32(Int32(page)), .int32(Int32(pages)), .int32(Int32(clamping: count))
      ))
    for packet in [updateFrame(1), head] + channels + [updateFrame(0)] { reply(packet, to: target) }
  }

  private static func packet(_ channel: ShownChannel, _ kind: String) -> [UInt8] {
    LibloCodec.encode(
      Message(
        Table.address("audio/channel"), .string(channel.name), .string(kind),
        .string(kind == "offered" ? "" : channel.health),
        .float32(Float(finite: channel.delayMilliseconds)),
        .float32(Float(finite: channel.bufferMilliseconds)),
        .float32(Float(finite: channel.jitterMilliseconds)),
        .float32(Float(finite: channel.arrivalMilliseconds)), .float32(Float(finite: channel.decibels)),
        .int32(Int32(clamping: channel.sampleRate)), .int32(Int32(clamping: channel.dropouts)),
        .int32(Int32(clamping: channel.lost)), .int32(Int32(clamping: channel.late)),
        .string(channel.takenBy)))
  }
}
