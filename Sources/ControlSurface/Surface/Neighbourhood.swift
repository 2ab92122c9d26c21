// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

// Who is obeyed, and whose word outlives the program. OSC has no passwords: addresses are all that there is.
extension SurfaceMachine {
  /// Whoever listens at all addresses means those of the own networks, unless it says more.
  func obeys(_ peer: Peer) -> Bool {
    let host = peer.endpoint.address
    guard settings.allow.isEmpty else { return settings.allows(host) || neighbourhood.isOwn(host) }
    let isOpenToAll =
      settings.listen.indices.contains(peer.socket) && settings.listen[peer.socket].address.isEvery
    return !isOpenToAll || neighbourhood.contains(host)
  }

  /// This machine, and the controllers that its user named. What others set holds as long as the program runs.
  func isPaired(_ peer: Peer) -> Bool {
    let host = peer.endpoint.address
    return peer == .midi || neighbourhood.isOwn(host) || settings.allow.contains { $0.contains(host) }
      || settings.targets.contains { $0.endpoint.address == host }
  }

  /// Said now and then: a network may be full of them.
  mutating func refuseStranger(_ peer: Peer) {
    counters.strangers += 1
    guard now >= strangerDue else { return }
    strangerDue = now + Limits.strangerInterval
    put(.notice(.stranger(peer.endpoint.address)))
  }

  // MARK: another tactus

  /// Another tactus that tells us what it shows, as its --osc-send says, or somebody who sends back what we tell. Obeyed, its
  /// lights would press our buttons, and ours those of the other.
  mutating func isTelling(_ peer: Peer, _ messages: [Message]) -> Bool {
    if messages.contains(where: isTold) {
      if tellers[peer.endpoint] == nil {
        guard tellers.count < Limits.subscribers else { return true }
        put(.notice(.anotherTactus(peer.endpoint)))
      }
      tellers[peer.endpoint] = now
    }
    guard let heard = tellers[peer.endpoint] else { return false }
    tellers[peer.endpoint] = now - heard < Limits.silence ? now : nil
    return tellers[peer.endpoint] != nil
  }

  /// Only a surface says this: no button and no fader sends text or several numbers to a read-out.
  private func isTold(_ message: Message) -> Bool {
    guard let path = path(of: message.address), let id = Table.id(path) else { return false }
    let row = Table.row(id)
    switch row.kind {
    case .answer: return true
    case .reading, .feed:
      guard message.arguments.count == row.parameters.count, let first = message.arguments.first else {
        return false
      }
      if case .string = first { return true }
      return message.arguments.count > 1
    case .value, .trigger, .order, .verb: return false
    }
  }
}
