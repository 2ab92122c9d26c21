// SPDX-License-Identifier: GPL-2.0-or-later

/// Datagrams that were read and wait to be looked at: one from each source in turn, so that a flood from some delays
/// the others by one round and no more. Reading is cheap and looking is not: what would fill the kernel's buffer, where the
/// first to come takes all, is sorted here.
///
/// Bounded. Of too many the source with the most waiting loses its newest.
struct Inbox {
  private(set) var count = 0
  private(set) var dropped = 0
  private var lines: [Peer: [[UInt8]]] = [:]
  /// Each source that has something waiting, once; from `head` on.
  private var turns: [Peer] = []
  private var head = 0

  var isEmpty: Bool { count == 0 }

  mutating func put(_ datagram: [UInt8], from peer: Peer) {
    let isNew = lines[peer] == nil
    if count >= Limits.inbox {
      dropped += 1
      guard isNew, let greedy = lines.max(by: { $0.value.count < $1.value.count })?.key,
        lines[greedy]?.count ?? 0 > 1
      else { return }
      lines[greedy]?.removeLast()
      count -= 1
    }
    lines[peer, default: []].append(datagram)
    if isNew { turns.append(peer) }
    count += 1
  }

  mutating func next() -> (datagram: [UInt8], peer: Peer)? {
    guard head < turns.count else { return nil }
    let peer = turns[head]
    head += 1
    if head == turns.count || head >= Limits.inbox {
      turns.removeFirst(head)
      head = 0
    }
    guard var line = lines.removeValue(forKey: peer), !line.isEmpty else { return nil }
    let datagram = line.removeFirst()
    count -= 1
    if !line.isEmpty {
      lines[peer] = line
      turns.append(peer)
    }
    return (datagram, peer)
  }
}
