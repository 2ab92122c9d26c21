// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import LinkSession

// Changes to a running world from outside: by users, cables, power and clocks.
extension LinkWorld {
  /// Pulls the peer's cable out or puts it back; the peer's machine is not told.
  public func setCable(_ isIn: Bool, of peer: Int) {
    for index in peers[peer].interfaces { interfaces[index].hasCable = isIn }
  }

  /// Puts the interface on one side of a cut through its network.
  public func place(_ interface: Int, inPart part: Int) { interfaces[interface].part = part }

  /// Switches Link on, which opens a gateway at each address that is up, or off, which sends a goodbye.
  public func setEnabled(_ isEnabled: Bool, peer: Int) {
    handle(.enable(isEnabled), by: peer)
    guard isEnabled else { return }
    for index in peers[peer].interfaces where interfaces[index].isUp { open(index) }
  }

  /// Cuts the peer's power: it sends no goodbye, and does nothing more until `reboot`.
  public func kill(_ peer: Int) {
    peers[peer].isRunning = false
    peers[peer].wakeAt = nil
    for index in peers[peer].interfaces { interfaces[index].isUp = false }
  }

  /// Restores the peer's power: the machine is on the same networks, and has forgotten everything.
  public func reboot(_ peer: Int, tempo: Double) {
    guard !peers[peer].isRunning else { return }
    peers[peer].machine = LinkSession(
      tempo: Tempo(tempo), seed: dice.next(), isRelay: peers[peer].isRelay, at: host(of: peer))
    peers[peer].snapshot = peers[peer].machine.snapshot
    peers[peer].isRunning = true
    for index in peers[peer].interfaces { interfaces[index].isUp = true }
    drain(peer)
    setEnabled(true, peer: peer)
  }

  /// Makes the host clock jump by `amount`, backwards if negative, as when
  /// a user sets the time. The machine is not told.
  public func stepClock(of peer: Int, by amount: Micros) {
    peers[peer].clock.step(by: amount, at: now)
    schedule(peer)
  }

  /// Makes the host clock run faster than true time from now on, slower if negative, without a jump.
  public func setDrift(of peer: Int, partsPerMillion: Double) {
    peers[peer].clock.run(atPartsPerMillion: partsPerMillion, from: now)
    schedule(peer)
  }

  /// Changes the session as an app does: capture, edit, commit.
  public func edit(_ peer: Int, _ body: (inout SessionState, Micros) -> Void) {
    let host = host(of: peer)
    var state = peers[peer].snapshot.state
    body(&state, host)
    guard let change = state.change(at: host) else { return }
    isCommitting = true
    handle(.commit(change), by: peer)
    isCommitting = false
  }
}
