// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import LinkSession
import LinkWire

// libFuzzer calls this with each mutated packet, under the address sanitizer. `tools/bench fuzz` builds it.

/// A session that receives each packet as if from a peer of its own network.
nonisolated(unsafe) private var session: LinkSession = {
  var session = LinkSession(tempo: Tempo(120), seed: 1, at: .zero)
  session.handle(.enable(true), at: .zero)
  let address = Address.v4(0x7f00_0001)
  let gateway = Gateway(
    id: GatewayID(rawValue: 1), address: address, measurement: Endpoint(address, port: 1000))
  session.handle(.gatewayOpened(gateway), at: .zero)
  return session
}()
nonisolated(unsafe) private var now = Micros.zero

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let packet = UnsafeRawBufferPointer(start: bytes, count: count)
  readTwice(packet)
  receive(packet)
  return 0
}

/// A decoded packet must be the same when it is encoded and decoded again.
private func readTwice(_ packet: UnsafeRawBufferPointer) {
  _ = try? decodeDiscoveryHeader(packet)
  if let message = try? decodeDiscovery(packet), isMusical(message) {
    let again = encode(message).withUnsafeBytes { try? decodeDiscovery($0) }
    precondition(again == message, "read, written and read again it differs")
  }
  guard let message = try? decodeMeasurement(packet) else { return }
  switch message {
  case .ping(let echo):
    let pong = encodePong(session: NodeID(rawValue: 1), ghost: Micros(2), echoing: echo)
    precondition(pong.count == 41 + echo.count && packet.count == 9 + echo.count, "echo of another length")
  case .pong(let pong):
    let ping = encodePing(host: pong.host, previousGhost: pong.ghost)
    guard case .ping(let echo) = ping.withUnsafeBytes({ try? decodeMeasurement($0) }) else {
      preconditionFailure("our own ping is refused")
    }
    precondition(echo.count == 32)
  }
}

/// Whether the message must stay the same when it is encoded and decoded. At a tempo of 0.001 BPM or less it
/// need not: such a beat is too long to be exact in a Double, and is never sent on.
private func isMusical(_ message: DiscoveryMessage) -> Bool {
  switch message {
  case .alive(let state, _), .response(let state, _): state.timeline.tempo.beatsPerMinute > 0.001
  case .byeBye: true
  }
}

private func receive(_ packet: UnsafeRawBufferPointer) {
  now = now + Micros(997)
  let sender = Endpoint(.v4(0x7f00_0001), port: UInt16(truncatingIfNeeded: packet.count) | 1)
  for channel in [Channel.discovery, .measurement] {
    session.receive(packet, from: sender, on: GatewayID(rawValue: 1), via: channel, at: now)
    drain()
  }
  session.handle(.deadline, at: now)
  drain()
  let tempo = session.snapshot.state.tempo
  precondition(tempo >= 20 && tempo <= 999, "tempo out of range")
}

private func drain() {
  while true {
    if case .sleep = session.nextOutput() { return }
  }
}
