// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkAudioSession
import LinkBeatMath
import LinkWire

// libFuzzer calls this with each mutated packet of an audio socket,
// under the address sanitizer. `tools/bench fuzz audio` builds it.

/// The ids of the peers and channels in the recorded packets from which the fuzzer starts.
private let peers: [UInt64] = [
  0x214d_6824_2231_6b4f, 0x4e7e_7636_7374_6949, 0x5769_5647_347a_7a6a, 0x4d68_6d43_7239_3729,
  0x4d41_5922_6d67_6d2a, 0x5754_7a40_7c42_634c,
]
private let channels: [UInt64] = [0x7841_7854_616b_4530, 0x5567_5f2e_7a72_456b]
private let gateway = GatewayID(rawValue: 1)
private let sender = Endpoint(.v4(0x7f00_0001), port: 1000)

/// A session that knows these peers, has verified them, and subscribes to both of their channels.
nonisolated(unsafe) private var session: LinkAudioSession = {
  var session = LinkAudioSession(
    secret: (1, 2), node: NodeID(rawValue: 1), session: NodeID(rawValue: peers[3]), at: .zero)
  session.handle(.enable(true), at: .zero)
  session.handle(.gatewayOpened(gateway, .v4(0x7f00_0001)), at: .zero)
  for name in ["one", "two"] { _ = session.addSink(named: name, at: .zero) }
  for channel in channels { _ = session.subscribe(to: NodeID(rawValue: channel), at: .zero) }
  return session
}()
nonisolated(unsafe) private var now = Micros.zero

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let packet = UnsafeRawBufferPointer(start: bytes, count: count)
  if let once = rewritten(packet) {
    let twice = once.withUnsafeBytes { rewritten($0) }
    precondition(twice == once, "read, written and read again it differs")
  }
  now = now + Micros(997)
  for peer in peers {
    session.handle(
      .peerSeen(NodeID(rawValue: peer), session: NodeID(rawValue: peers[3]), audio: sender, on: gateway),
      at: now)
  }
  drain()
  receive(packet)
  session.handle(.deadline, at: now)
  drain()
  let load = session.load
  precondition(
    load.channels <= AudioLimits.channels && load.receivers <= peers.count
      && load.subscribers <= AudioLimits.subscribers, "a table without an end")
  return 0
}

private func receive(_ packet: UnsafeRawBufferPointer) {
  if let audio = session.receive(packet, from: sender, on: gateway, at: now) {
    var frames = 0
    for index in 0..<audio.buffer.chunkCount { frames += audio.buffer.chunk(at: index).frames }
    precondition(frames == audio.buffer.frameCount && frames <= 600, "more frames than there are")
    precondition(
      audio.buffer.samples.count == frames * audio.buffer.format.channelCount * 2, "samples elsewhere")
  }
  drain()
}

/// Answers the machine's pings, so that it keeps believing the peers. Checks that the machine's own packets
/// can be decoded.
private func drain() {
  while true {
    switch session.nextOutput() {
    case .send(let packet, let endpoint, _):
      precondition(packet.count > 0 && packet.withUnsafeBytes { rewritten($0) } != nil, "our own is refused")
      answer(packet, as: endpoint)
    case .routes, .senders, .channels: break
    case .sleep: return
    }
  }
}

private func answer(_ packet: AudioPacket, as endpoint: Endpoint) {
  let echo = packet.withUnsafeBytes { bytes -> AudioEcho? in
    guard case .announcement(let announcement)? = (try? decodeAudio(bytes))?.body else { return nil }
    return announcement.ping
  }
  guard let echo else { return }
  for peer in peers {
    AudioPacket.pong(echo, from: NodeID(rawValue: peer)).withUnsafeBytes {
      _ = session.receive($0, from: endpoint, on: gateway, at: now)
    }
  }
}

/// The packet, decoded and encoded again by our code; nil if the decoder refuses it.
private func rewritten(_ packet: UnsafeRawBufferPointer) -> [UInt8]? {
  guard let datagram = try? decodeAudio(packet) else { return nil }
  switch datagram.body {
  case .announcement(let announcement):
    var writer = AnnouncementWriter(
      from: datagram.node, in: announcement.session, named: announcement.peerName, ping: announcement.ping)
    for channel in announcement.channels where !writer.add(channel.channel, named: channel.name) { break }
    return writer.finish().withUnsafeBytes { Array($0) }
  case .byes(let ids):
    return (0..<ids.count).map { ids[$0] }.withUnsafeBufferPointer {
      AudioPacket.byes($0, from: datagram.node).withUnsafeBytes { Array($0) }
    }
  case .pong(let echo): return AudioPacket.pong(echo, from: datagram.node).withUnsafeBytes { Array($0) }
  case .request(let channel):
    return AudioPacket.request(channel, from: datagram.node).withUnsafeBytes { Array($0) }
  case .stop(let channel): return AudioPacket.stop(channel, from: datagram.node).withUnsafeBytes { Array($0) }
  case .audio(let buffer): return rewritten(buffer, from: datagram.node)
  }
}

private func rewritten(_ buffer: AudioBuffer, from node: NodeID) -> [UInt8]? {
  let chunks = (0..<buffer.chunkCount).map { buffer.chunk(at: $0) }
  var datagram = [UInt8](repeating: 0, count: Wire.maximumAudioMessageSize)
  datagram.withUnsafeMutableBytes { memory in
    let place = chunks.withUnsafeBufferPointer {
      encodeAudioBuffer(buffer.format, from: node, chunks: $0, into: memory)
    }
    guard let place else { preconditionFailure("audio that was taken is not written") }
    place.copyBytes(from: buffer.samples)
  }
  return Array(datagram[..<(AudioBuffer.headSize(chunks: buffer.chunkCount) + buffer.samples.count)])
}
