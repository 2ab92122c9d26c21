// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import TactusSurface
import Testing

@testable import TactusWeb

@Suite("The web thread")
struct WebLoopTests {
  private func rings(_ loop: WebLoop) -> Bool {
    var bell = pollfd(fd: loop.shared.bell.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&bell, 1, 0) == 1
  }

  /// A regression test. A packet could arrive after the thread had delivered the other packets and before the
  /// thread began to wait. It was then not sent until the next ping.
  @Test
  func `a packet for a browser wakes the web thread at any time`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let loop = WebLoop(
      WebSettings(), secret: { PageStudio.secret }, surface: studio.surface, doctor: { nil }, notice: { _ in }
    )
    try loop.shared.bell.open()
    let browser = Peer(Browser(number: 1, isPaired: true), at: Endpoint(.loopback, port: 1))
    loop.shared.mailbox.withLock { $0.outboxes[1] = WebShared.Outbox() }
    for packet in [[1], [2]] as [[UInt8]] {
      loop.shared.post(packet, to: browser)
      #expect(loop.lookAround() == false)
      #expect(rings(loop))
      #expect(loop.shared.takePosts().map(\.outbox.packets) == [[packet]])
      #expect(!rings(loop))
    }
    loop.close()
  }
}
