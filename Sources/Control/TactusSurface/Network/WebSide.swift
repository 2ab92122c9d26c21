// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

// The surface as the web server sees it. Neither side waits: browsers' packets are put into the surface's
// mailbox, and a closure puts packets for browsers into the server's mailbox.

/// The addresses at which browsers reach us. The surface shows them, and announces them by mDNS.
package struct WebReach: Equatable, Sendable {
  /// The address of OSCQuery; empty: OSCQuery has none.
  package var query = ""
  /// Why OSCQuery has no address.
  package var failure: String?
  /// The TCP port of OSCQuery for the announcement; nil: none.
  package var queryPort: UInt16?
  package var pagePort: UInt16?

  package init(
    query: String = "", failure: String? = nil, queryPort: UInt16? = nil, pagePort: UInt16? = nil
  ) {
    (self.query, self.failure, self.queryPort, self.pagePort) = (query, failure, queryPort, pagePort)
  }
}

/// All values at one moment, for the web thread.
package struct SurfaceSnapshot: Sendable {
  let reading: Reading

  /// The row at this address, if the row existed at that moment.
  package func row(_ address: String) -> Node? {
    Table.path(of: address).flatMap {
      Table.standard.row($0) ?? Table.row($0, of: reading.state.lists.outputs)
    }
  }
}

extension OSCSurface {
  /// Takes one unchecked OSC packet from a browser. Returns false if too many packets of this browser wait.
  /// [web]
  package func receive(_ packet: [UInt8], from browser: Peer) -> Bool {
    let (isTaken, wasEmpty) = shared.mailbox.withLock { mailbox in
      let wasEmpty = mailbox.mail.isEmpty
      return (mailbox.mail.put(packet, from: browser), wasEmpty)
    }
    if wasEmpty { shared.bell.signal() }
    return isTaken
  }

  /// Call this when the browser's connection has ended. [web]
  package func leave(_ browser: Peer) {
    shared.mailbox.withLock { $0.mail.end(browser) }
    shared.bell.signal()
  }

  /// Sets the closure that delivers packets to browsers. The surface's thread calls it, so it must not wait.
  /// [any]
  package func post(_ post: (@Sendable ([UInt8], Peer) -> Void)?) {
    shared.mailbox.withLock { $0.post = post }
  }

  /// Takes over the addresses at which browsers reach us. [web]
  package func tell(_ web: WebReach) {
    shared.mailbox.withLock { mailbox in
      mailbox.isElsewhere = mailbox.isElsewhere || mailbox.web != web
      mailbox.web = web
    }
    shared.bell.signal()
  }

  /// All values as the surface's thread last published them. [any]
  package var snapshot: SurfaceSnapshot { SurfaceSnapshot(reading: shared.mailbox.withLock { $0.reading }) }
}

extension Shared {
  /// Whether the mailbox holds nothing but packets from browsers. Such packets may wait as long as other
  /// datagrams.
  var hasOnlyMail: Bool {
    mailbox.withLock { mailbox in
      !mailbox.mail.isEmpty && mailbox.mail.canWait && !mailbox.hasNews && !mailbox.isClosing
        && !mailbox.isElsewhere && mailbox.hands.deadline == nil
    }
  }
}
