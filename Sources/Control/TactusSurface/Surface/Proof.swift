// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Proof that a subscriber receives our packets. A source address can be forged, and we would then send to a
// machine that did not ask for it. So a controller that the user did not name gets a text that only a program
// at its address can know. Until it sends the text back, it gets little else.
extension SurfaceMachine {
  func hears(_ peer: Peer) -> Bool {
    // A browser's connection cannot be forged.
    peer.isBrowser || isPaired(peer) || subscribers.contains { $0.target == peer && $0.hears }
  }

  mutating func maySend(_ peer: Peer, bytes: Int) -> Bool {
    hears(peer)
      || rates.maySend(
        peer.endpoint.address, bytes: bytes, at: now, isReserved: isSubscribed(peer.endpoint.address))
  }

  /// Whether beats and positions may be sent to the peer. Beats and positions may use half of the byte
  /// limit. The other half is for the values, which are sent all together or not at all.
  mutating func mayBeFed(_ peer: Peer) -> Bool {
    hears(peer)
      || rates.left(for: peer.endpoint.address, at: now, isReserved: isSubscribed(peer.endpoint.address))
        > SurfaceLimits.unprovenBytes / 2
  }

  private func isSubscribed(_ host: Address) -> Bool {
    subscribers.contains { $0.target.endpoint.address == host }
  }

  /// The proof text for this address. It stays the same while the program runs, and cannot be guessed: the
  /// hash is keyed with a random number of this process.
  func proof(of endpoint: Endpoint) -> String {
    var hasher = Hasher()
    hasher.combine(endpoint)
    return String(UInt(bitPattern: hasher.finalize()), radix: 36)
  }

  mutating func challenge(_ index: Int) {
    let target = subscribers[index].target
    guard subscribers[index].dialect == .own, !hears(target) else { return }
    sendPacket(proofPacket(for: target), to: target)
  }

  func proofPacket(for target: Peer) -> [UInt8] {
    LibloCodec.encode(Message(Table.address("proof"), .string(proof(of: target.endpoint))))
  }

  mutating func receiveProof(_ arguments: [Argument], from peer: Peer) throws(Refusal) {
    let own = subscribers.indices.filter { subscribers[$0].target.isKin(of: peer) }
    guard case .string(let text)? = arguments.first else {
      throw .type("the text that came with /tactus/proof")
    }
    guard let index = own.first(where: { proof(of: subscribers[$0].target.endpoint) == text }) else {
      try allowance.spend(Cost.picture)
      if receiveProof(ofApplicant: text, from: peer) { return }
      throw Refusal(.notNow, "no subscription waits for this text")
    }
    guard !subscribers[index].hears else { return }
    try allowance.spend(Cost.picture)
    subscribers[index].hears = true
    subscribers[index].nextFlush = now
    if subscribers[index].dumped == nil { dump(to: index) }
  }

  /// Warns the user once, because nothing else explains why the controller's display stays dark.
  mutating func noteUnproven(_ index: Int) {
    guard !subscribers[index].isToldOf else { return }
    subscribers[index].isToldOf = true
    note(.unproven(subscribers[index].target.endpoint))
  }
}

/// Remembers other tactus that send us the values which they show. If we obeyed these values, each light of
/// the other tactus would press our button, and each of our lights would press its button.
struct MirrorGuard {
  private struct MirrorPeer {
    /// When we asked the sender whether it is a tactus.
    var asked: Micros
    var heard: Micros
    /// Whether the sender has answered that it is a tactus.
    var isKnown = false
  }

  private var tellers: [Endpoint: MirrorPeer] = [:]

  /// Whether messages from this source are ignored now.
  mutating func silences(_ source: Endpoint, at now: Micros) -> Bool {
    guard let teller = tellers[source] else { return false }
    guard teller.isKnown else { return now - teller.asked < SurfaceLimits.suspicion }
    tellers[source] =
      now - teller.heard < SurfaceLimits.silence
      ? MirrorPeer(asked: teller.asked, heard: now, isKnown: true) : nil
    return tellers[source] != nil
  }

  /// Returns whether to ask this source what it is. Until it answers, the source is ignored for at most
  /// `SurfaceLimits.suspicion`, so that a forged packet cannot silence it for longer.
  mutating func suspect(_ source: Endpoint, at now: Micros) -> Bool {
    if let teller = tellers[source] {
      guard !teller.isKnown, now - teller.asked >= SurfaceLimits.suspicionInterval else { return false }
    } else if tellers.count >= SurfaceLimits.subscribers {
      guard let oldest = tellers.filter({ !$0.value.isKnown }).min(by: { $0.value.asked < $1.value.asked }),
        now - oldest.value.asked >= SurfaceLimits.suspicion
      else { return false }
      tellers[oldest.key] = nil
    }
    tellers[source] = MirrorPeer(asked: now, heard: now)
    return true
  }

  /// Notes that the source has shown that it is a tactus: from now on its messages are ignored. Returns true
  /// the first time.
  mutating func know(_ source: Endpoint, at now: Micros) -> Bool {
    guard let teller = tellers[source], !teller.isKnown else { return false }
    tellers[source] = MirrorPeer(asked: teller.asked, heard: now, isKnown: true)
    return true
  }
}
