// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import LinkSession

// What is done to a world from outside, while it runs: by users, cables, power and clocks.
extension LinkWorld {
  /// The cable is pulled or put back: the machine notices nothing but silence.
  public func setCable(_ isIn: Bool, of peer: Int) {
    for index in peers[peer].interfaces { interfaces[index].hasCable = isIn }
  }

  /// Puts the interface on one side of a cut through its wire.
  public func place(_ interface: Int, inPart part: Int) { interfaces[interface].part = part }

  /// Its user switches Link on, and a gateway opens at each address that is up; or off, with a goodbye.
  public func setEnabled(_ isEnabled: Bool, peer: Int) {
    handle(.enable(isEnabled), by: peer)
    guard isEnabled else { return }
    for index in peers[peer].interfaces where interfaces[index].isUp { open(index) }
  }

  /// The power goes: no goodbye, not seen again unless it is rebooted.
  public func kill(_ peer: Int) {
    peers[peer].isRunning = false
    peers[peer].wakeAt = nil
    for index in peers[peer].interfaces { interfaces[index].isUp = false }
  }

  /// The power is back: the same machine on the same wires, with nothing of what it knew.
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

  /// Its host clock jumps by so much, below zero back, as when somebody sets the time; its machine is not told.
  public func stepClock(of peer: Int, by amount: Micros) {
    peers[peer].clock.step(by: amount, at: now)
    schedule(peer)
  }

  /// From now on its host clock runs faster than true time by so much, below zero slower, without a jump.
  public func setDrift(of peer: Int, partsPerMillion: Double) {
    peers[peer].clock.run(atPartsPerMillion: partsPerMillion, from: now)
    schedule(peer)
  }

  /// What an app does: capture, edit, commit.
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
