// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("The queue of one level of trust")
struct InboxLineTests {
  private func letter(_ source: UInt32, isKnown: Bool = false, came: Micros = .zero) -> Inbox.QueuedPacket {
    let endpoint = Endpoint(.v4(source), port: 0)
    return Inbox.QueuedPacket(
      datagram: [UInt8(truncatingIfNeeded: source)], peer: Peer(endpoint), trust: .stranger, source: endpoint,
      isKnown: isKnown, came: came, expected: 1)
  }

  /// The senders in the order in which the queue hands out their datagrams.
  private func order(_ line: inout InboxLine) -> [UInt8] {
    var order: [UInt8] = []
    while let letter = line.removeFirst() { order += letter.datagram }
    return order
  }

  @Test
  func `known and new sources take turns, and so do all sources of each kind`() {
    var line = InboxLine()
    for source in [1, 1, 2, 3, 4] as [UInt32] { line.put(letter(source), mayGoAhead: false) }
    for source in [11, 11, 12] as [UInt32] { line.put(letter(source, isKnown: true), mayGoAhead: false) }
    #expect(line.first?.datagram == [11])
    #expect(order(&line) == [11, 1, 12, 2, 11, 3, 4, 1])
    #expect(line.count == 0 && line.bytes == 0 && line.dropped == 0)
  }

  @Test
  func `a source that sends seldom goes ahead, with its datagrams in order`() {
    var line = InboxLine()
    line.put(letter(1), mayGoAhead: false)
    line.put(letter(11, isKnown: true), mayGoAhead: false)
    line.put(letter(2), mayGoAhead: true)
    // The source has a datagram that waits for its turn, so its later datagram does not go ahead of
    // the turns.
    line.put(letter(1), mayGoAhead: true)
    #expect(order(&line) == [2, 11, 1, 1])
  }

  @Test
  func `a full queue drops from the source with most datagrams, then a new one`() {
    var line = InboxLine()
    for _ in 0..<3 { line.put(letter(1), mayGoAhead: false) }
    for source in 1000..<1000 + UInt32(SurfaceLimits.inbox - 3) {
      line.put(letter(source), mayGoAhead: false)
    }
    #expect(line.count == SurfaceLimits.inbox && line.dropped == 0)
    // Source 1 has the most datagrams, so two of its three make room for sources 2 and 3. After that, source
    // 1 has as many as source 4, so the datagram of source 4 is dropped.
    for source in [2, 3, 4] as [UInt32] { line.put(letter(source), mayGoAhead: false) }
    // The last new sources make room for a known source, and for a source that sends seldom.
    line.put(letter(11, isKnown: true), mayGoAhead: false)
    line.put(letter(12), mayGoAhead: true)
    #expect(line.count == SurfaceLimits.inbox && line.dropped == 5)
    let order = order(&line)
    #expect(order.prefix(3) == [12, 11, 1])
    #expect(order.count { $0 == 1 } == 1 + (1000..<1000 + SurfaceLimits.inbox - 3).count { $0 % 256 == 1 })
    #expect(!order.suffix(2).contains(2) && !order.suffix(2).contains(3))
  }

  @Test
  func `an OSC datagram that waited too long is dropped`() {
    var line = InboxLine()
    line.put(letter(1), mayGoAhead: false)
    line.put(letter(2, came: Micros(1)), mayGoAhead: false)
    line.dropOld(at: SurfaceLimits.longestWait + Micros(1))
    #expect(line.dropped == 1 && order(&line) == [2])
  }
}
