// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

// The surface as the page's server sees it. Neither side waits: browsers' packets are left in the mailbox,
// and packets to browsers go to a closure that leaves them in the server's mailbox.

/// Where browsers reach us, for the surface's read-outs and for the network's directory.
package struct WebReach: Equatable, Sendable {
  /// The address of OSCQuery; empty: none.
  package var query = ""
  /// Why OSCQuery has no address.
  package var failure: String?
  /// TCP port of OSCQuery to announce; nil: none.
  package var queryPort: UInt16?
  package var pagePort: UInt16?

  package init(
    query: String = "", failure: String? = nil, queryPort: UInt16? = nil, pagePort: UInt16? = nil
  ) {
    (self.query, self.failure, self.queryPort, self.pagePort) = (query, failure, queryPort, pagePort)
  }
}

/// All values at one moment.
package struct SurfaceSnapshot: Sendable {
  let reading: Reading

  /// The row at this address, if it exists at that moment.
  package func row(_ address: String) -> Node? {
    Table.path(of: address).flatMap { Table.standard.row($0) ?? Table.row($0, of: reading.state.outputs) }
  }
}

extension OSCSurface {
  /// Takes one OSC packet from a browser, not yet checked. Returns false if too many of its packets wait.
  /// [web]
  package func receive(_ packet: [UInt8], from browser: Peer) -> Bool {
    let (isTaken, wasEmpty) = shared.mailbox.withLock { mailbox in
      let wasEmpty = mailbox.mail.isEmpty
      return (mailbox.mail.put(packet, from: browser), wasEmpty)
    }
    if wasEmpty { shared.bell.signal() }
    return isTaken
  }

  /// The browser's connection has ended. [web]
  package func leave(_ browser: Peer) {
    shared.mailbox.withLock { $0.mail.end(browser) }
    shared.bell.signal()
  }

  /// Sets the closure that delivers packets to browsers. It runs on the surface's thread and must not wait.
  /// [any]
  package func post(_ post: (@Sendable ([UInt8], Peer) -> Void)?) {
    shared.mailbox.withLock { $0.post = post }
  }

  /// [web]
  package func tell(_ web: WebReach) {
    shared.mailbox.withLock { mailbox in
      mailbox.isElsewhere = mailbox.isElsewhere || mailbox.web != web
      mailbox.web = web
    }
    shared.bell.signal()
  }

  /// [any]
  package var snapshot: SurfaceSnapshot { SurfaceSnapshot(reading: shared.mailbox.withLock { $0.reading }) }
}

extension Shared {
  /// Whether only packets from browsers wait, which may wait with the other datagrams.
  var hasOnlyMail: Bool {
    mailbox.withLock { mailbox in
      !mailbox.mail.isEmpty && mailbox.mail.canWait && !mailbox.hasNews && !mailbox.isClosing
        && !mailbox.isElsewhere && mailbox.hands.deadline == nil
    }
  }
}
