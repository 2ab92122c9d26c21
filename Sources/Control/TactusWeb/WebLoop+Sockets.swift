// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusOSC
import TactusSurface

// Messages from the surface to browsers, and from browsers to the surface.
extension WebLoop {
  /// Sends the surface's packets to the browsers, to each browser in the form that it uses.
  func deliver(at now: Micros) {
    var lines: [[UInt8]: [UInt8]] = [:]
    for (number, outbox) in shared.takePosts() {
      guard let visitor = crowd.visitors[number], let socket = visitor.socket, let form = socket.form else {
        continue
      }
      for packet in outbox.packets {
        counters.sent += 1
        switch (form, socket.isListener) {
        case (.binary, false): socket.send(packet, .binary)
        case (.text, false):
          let text = lines[packet] ?? Conversation.lines(packet)
          lines[packet] = text
          socket.send(text, .text)
        case (let form, true):
          for part in Conversation.filtered(packet, socket.listened, form) { socket.send(part, form) }
        }
      }
      socket.write()
      if outbox.isOver || socket.isSlow {
        counters.slow += 1
        end(visitor)
      }
    }
  }

  func listenToSockets(at now: Micros) {
    for (index, visitor) in watchedSockets.enumerated() {
      guard let socket = visitor.socket else { continue }
      let events = watched[index + 2].revents
      if events & Int16(POLLOUT) != 0 { socket.write() }
      // A WebSocket that had to wait for its budget was not polled: read it before any request is served.
      let hadToWait = watched[index + 2].events & Int16(POLLIN) == 0
      let isThere = events & Int16(POLLIN | POLLHUP | POLLERR) != 0 || socket.hasEarly || hadToWait
      if isThere, mayListen(to: visitor, at: now) {
        visitor.heard = now
        let begun = Budget.spent()
        for heard in socket.read(at: now) { converse(heard, with: visitor, socket, at: now) }
        socket.write()
        let cost = Budget.spent() - begun
        budget.gate.charge(cost, to: visitor.trust, at: now)
        billed += cost
        budget.gate.charge(cost, to: visitor.host, at: now)
      }
      if socket.isOver {
        if socket.isSlow { counters.slow += 1 }
        end(visitor)
      }
    }
  }

  private func converse(
    _ heard: WebSocket.Heard, with visitor: Connection, _ socket: WebSocket, at now: Micros
  ) {
    for word in Conversation.words(heard, socket, surface.snapshot, at: now) {
      switch word {
      case .packet(let packet):
        if surface.receive(packet, from: socket.peer) { counters.received += 1 }
      case .fault: counters.malformed += 1
      }
    }
  }
}
