// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface

// Accepts and refuses connections.
extension WebLoop {
  /// Empties the queue of each listening socket before any request is served, because one address may fill a
  /// queue at full speed.
  func accept(at now: Micros) {
    guard now >= acceptingAgain else { return }
    for listener in listeners.listeners {
      for _ in 0..<WebLimits.acceptBatch where budget.listeners.has(at: now) && crowd.takesMore {
        let begun = Budget.spent()
        guard let (socket, source) = next(at: listener, now) else { break }
        counters.connections += 1
        let host = Connection.host(of: source)
        if budget.admits(host, at: now) {
          welcome(socket, source, at: listener, now)
        } else {
          counters.overdrawn += 1
          reset(socket)
        }
        let cost = Budget.spent() - begun
        budget.listeners.spend(cost, at: now)
        budget.gate.charge(cost, to: host, at: now)
        billed += cost
      }
    }
  }

  private func welcome(
    _ socket: Int32, _ source: Endpoint, at listener: HTTPListeners.Listener, _ now: Micros
  ) {
    setNonBlocking(socket)
    guard let reached = Endpoint(of: socket), serves(source.address, at: listener, reached: reached.address)
    else {
      counters.strangers += 1
      Glibc.close(socket)
      return
    }
    let visitor = Connection(crowd.nextNumber(), socket, from: source, at: reached, listener.kind, now: now)
    guard crowd.makeRoom(for: visitor.endpoint.address, at: now) else {
      counters.crowded += 1
      Glibc.close(socket)
      return
    }
    setOption(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    crowd.add(visitor)
    // If the server does not take the connection, the server itself closes it.
    if server?.adopt(visitor) != true { crowd.remove(visitor.number) }
  }

  /// Closes a connection at once, so that nothing of it stays in the kernel.
  private func reset(_ socket: Int32) {
    var atOnce = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    Glibc.close(socket)
  }

  private func next(at listener: HTTPListeners.Listener, _ now: Micros) -> (socket: Int32, source: Endpoint)?
  {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let descriptor = withUnsafeMutableBytes(of: &address) { raw in
      Glibc.accept(listener.descriptor, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
    }
    guard descriptor >= 0 else {
      // The process has no more free descriptors, so the connection stays in the queue. Wait, because poll
      // would return at once again and again.
      if errno == EMFILE || errno == ENFILE { acceptingAgain = now + Micros(1_000_000) }
      return nil
    }
    guard let source = withUnsafeBytes(of: address, { Endpoint(socketAddress: $0.baseAddress!) }) else {
      Glibc.close(descriptor)
      return nil
    }
    return (descriptor, source)
  }

  /// Whether a host is served. The page serves this machine's networks; OSCQuery's own port has the same
  /// rules as the OSC port.
  private func serves(_ host: Address, at listener: HTTPListeners.Listener, reached: Address) -> Bool {
    var rules = SurfaceSettings()
    if listener.kind == .query { rules.allow = settings.allow }
    // If an address is newer than the last check of the networks, no interface is known for it yet.
    return rules.obeys(host, at: reached, by: near.interface(of: reached) ?? 0, near: near)
  }
}
