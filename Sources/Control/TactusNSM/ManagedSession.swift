// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
public import LinkBeatMath
import TactusOSC

/// Runs `NSMClient` with a real socket. There is only one socket, because managers recognise a client by its
/// source address. [control]
public final class ManagedSession {
  /// Datagrams handled in one step, so that a flood does not hold up the control thread.
  private static let batch = 32

  private var client: NSMClient
  private var port: OSCPort

  /// Opens the socket and announces us. If the manager is on this machine, the socket is on loopback, which
  /// other machines cannot reach.
  public init(manager: Endpoint, executable: String, at now: Micros) throws(OpenFailure) {
    client = NSMClient(manager: manager)
    let ours: Address =
      switch (manager.address.isIPv6, manager.address.isLoopback) {
      case (false, true): .loopback
      case (false, false): .v4(0)
      case (true, true): .v6(high: 0, low: 1, scope: 0)
      case (true, false): .v6(high: 0, low: 0, scope: 0)
      }
    port = try OSCPort(bindingTo: Endpoint(ours, port: 0))
    client.announce(executable: executable, process: getpid(), at: now)
    _ = carryOut()
  }

  /// The manager's requests since the last call.
  public func step(at now: Micros) -> [NSMClient.Output] {
    for (message, source) in port.receive(atMost: Self.batch) { client.receive(message, from: source) }
    client.tick(at: now)
    return carryOut()
  }

  public func opened(_ outcome: NSMClient.Outcome) { change { $0.opened(outcome) } }
  public func saved(_ outcome: NSMClient.Outcome) { change { $0.saved(outcome) } }
  public func changed(_ isDirty: Bool) { change { $0.changed(isDirty) } }
  public func show(label: String) { change { $0.show(label: label) } }
  public func tell(_ text: String, priority: Int32) { change { $0.tell(text, priority: priority) } }
  public var counters: NSMClient.Counters { client.counters }

  private func change(_ change: (inout NSMClient) -> Void) {
    change(&client)
    _ = carryOut()
  }

  /// Sends the messages among the outputs, and returns the outputs that are no messages.
  private func carryOut() -> [NSMClient.Output] {
    var rest: [NSMClient.Output] = []
    while let output = client.nextOutput() {
      if case .send(let message) = output {
        port.send(message, to: client.manager)
      } else {
        rest.append(output)
      }
    }
    return rest
  }
}
