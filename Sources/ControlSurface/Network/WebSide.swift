// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

// The surface as the server of the page sees it. Nothing here waits, on either side: what browsers say is left in the mailbox, what
// they are told is handed to a closure that leaves it in theirs.

/// Where browsers reach us, for the surface's read-outs and for the network's directory.
package struct WebReach: Equatable, Sendable {
  package var words = ""
  /// nil: it is not announced.
  package var queryPort: UInt16?
  package var pagePort: UInt16?

  package init(words: String = "", queryPort: UInt16? = nil, pagePort: UInt16? = nil) {
    (self.words, self.queryPort, self.pagePort) = (words, queryPort, pagePort)
  }
}

/// All values at one moment.
package struct SurfaceSnapshot: Sendable {
  let reading: Reading

  /// The row at this address, if it is there at this moment.
  package func row(_ address: String) -> Node? {
    Table.path(of: address).flatMap { Table.standard.row($0) ?? Table.row($0, of: reading.state.outputs) }
  }
}

extension OSCSurface {
  /// What a browser said: one checked or unchecked OSC packet. False: too much of its waits. [web]
  package func receive(_ packet: [UInt8], from browser: Peer) -> Bool {
    let (isTaken, wasEmpty) = shared.mailbox.withLock { mailbox in
      let wasEmpty = mailbox.mail.isEmpty
      return (mailbox.mail.put(packet, from: browser), wasEmpty)
    }
    if wasEmpty { shared.bell.signal() }
    return isTaken
  }

  /// Its connection has ended. [web]
  package func leave(_ browser: Peer) {
    shared.mailbox.withLock { $0.mail.end(browser) }
    shared.bell.signal()
  }

  /// Who takes what browsers are told, on the surface's thread; it must not wait. [any]
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
  /// Nothing to see to but what browsers said, which can wait with the rest.
  var hasOnlyMail: Bool {
    mailbox.withLock { mailbox in
      !mailbox.mail.isEmpty && mailbox.mail.canWait && !mailbox.hasNews && !mailbox.isClosing
        && !mailbox.isElsewhere && mailbox.hands.deadline == nil
    }
  }
}
