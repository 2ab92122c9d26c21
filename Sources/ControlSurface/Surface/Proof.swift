// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

// Whether somebody hears us. A source address can be forged: then a third machine is told what it never asked for. So who was
// not named by the user is sent a word that only a listener can know, and told little until it comes back.
extension SurfaceMachine {
  func hears(_ peer: Peer) -> Bool {
    // Nobody has a connection in another's name.
    peer.isBrowser || isPaired(peer) || subscribers.contains { $0.target == peer && $0.hears }
  }

  mutating func mayBeTold(_ peer: Peer, bytes: Int) -> Bool {
    hears(peer)
      || rates.mayBeTold(
        peer.endpoint.address, bytes: bytes, at: now, isReserved: isSubscribed(peer.endpoint.address))
  }

  /// Beats and positions leave half of it to the values, which are told whole or not at all.
  mutating func mayBeFed(_ peer: Peer) -> Bool {
    hears(peer)
      || rates.left(for: peer.endpoint.address, at: now, isReserved: isSubscribed(peer.endpoint.address))
        > SurfaceLimits.unprovenBytes / 2
  }

  private func isSubscribed(_ host: Address) -> Bool {
    subscribers.contains { $0.target.endpoint.address == host }
  }

  /// The same for the same address as long as the program runs, and nobody else's guess: the hash has this process' own key.
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

  mutating func hearProof(_ arguments: [Argument], from peer: Peer) throws(Refusal) {
    let own = subscribers.indices.filter { subscribers[$0].target.isKin(of: peer) }
    guard case .string(let text)? = arguments.first else { throw .type("the text that was sent") }
    guard let index = own.first(where: { proof(of: subscribers[$0].target.endpoint) == text }) else {
      try allowance.spend(Cost.picture)
      if hearProof(ofApplicant: text, from: peer) { return }
      throw Refusal(.notNow, "no subscription was sent this")
    }
    guard !subscribers[index].hears else { return }
    try allowance.spend(Cost.picture)
    subscribers[index].hears = true
    subscribers[index].nextFlush = now
    if subscribers[index].dumped == nil { dump(to: index) }
  }

  /// Once: it will not be understood why a display is dark.
  mutating func noteUnproven(_ index: Int) {
    guard !subscribers[index].isToldOf else { return }
    subscribers[index].isToldOf = true
    note(.unproven(subscribers[index].target.endpoint))
  }
}

/// Others of our kind that tell us what they show. Obeyed, their lights would press our buttons, and ours theirs.
struct Tellers {
  private struct Teller {
    /// When it was asked what it is.
    var asked: Micros
    var heard: Micros
    /// It has answered.
    var isKnown = false
  }

  private var tellers: [Endpoint: Teller] = [:]

  /// Whether what it says is not to be obeyed at this moment.
  mutating func silences(_ source: Endpoint, at now: Micros) -> Bool {
    guard let teller = tellers[source] else { return false }
    guard teller.isKnown else { return now - teller.asked < SurfaceLimits.suspicion }
    tellers[source] =
      now - teller.heard < SurfaceLimits.silence
      ? Teller(asked: teller.asked, heard: now, isKnown: true) : nil
    return tellers[source] != nil
  }

  /// Whether it is to be asked, and waited for: one forged packet must not silence anybody for longer than that.
  mutating func suspect(_ source: Endpoint, at now: Micros) -> Bool {
    if let teller = tellers[source] {
      guard !teller.isKnown, now - teller.asked >= SurfaceLimits.suspicionInterval else { return false }
    } else if tellers.count >= SurfaceLimits.subscribers {
      guard let oldest = tellers.filter({ !$0.value.isKnown }).min(by: { $0.value.asked < $1.value.asked }),
        now - oldest.value.asked >= SurfaceLimits.suspicion
      else { return false }
      tellers[oldest.key] = nil
    }
    tellers[source] = Teller(asked: now, heard: now)
    return true
  }

  /// It has what only it was sent. True: that is news.
  mutating func know(_ source: Endpoint, at now: Micros) -> Bool {
    guard let teller = tellers[source], !teller.isKnown else { return false }
    tellers[source] = Teller(asked: teller.asked, heard: now, isKnown: true)
    return true
  }
}
