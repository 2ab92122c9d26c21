// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Work that becomes due as time passes.
extension SurfaceMachine {
  /// Does everything that is due. Call this at `deadline`.
  mutating func tick(clocks: Clocks) {
    self.clocks = clocks
    sayWaiting()
    readClocks()
    advance()
  }

  mutating func readClocks() {
    for entry in agenda.readClocks(clocks, state: reading.state) {
      var address = "tempo"
      if case .song = entry.task {
        address = "set/next"
        stopWaiting(at: now)
      }
      refuse(
        Refusal(.notNow, "the session's beats were renumbered, and that bar is now too far away"),
        Table.address(address), to: entry.peer)
    }
  }

  /// Does everything that is due by `now`.
  mutating func advance() {
    var cost = 0
    while cost < Cost.datagram / 2, let entry = agenda.next(at: now) {
      cost += entry.cost
      allowance = Allowance(entry.cost)
      switch entry.task {
      case .message(let message): obey(message, from: entry.peer, at: entry.time)
      case .tempo(let tempo): commit(tempo, Asker(peer: entry.peer, row: tempoRow), at: entry.time)
      case .song(let title): play(title, at: entry.time)
      }
    }
    if let (tempo, asker) = gate.due(at: now) { commit(tempo, asker, at: now) }
    foresee()
    endBend()
    if let end = expectationEnds, now >= end {
      expectationEnds = nil
      reading.own.expectedTempo = nil
    }
    if let due = comparisonDue, now >= due {
      comparisonDue = nil
      tellChanges()
    }
    expireSubscribers()
    tryAbsent()
    decideOnApplicants()
    sayOutwardTempo()
    sendFeeds()
    flush()
  }

  /// When to call `tick` next: at least once a second, so that the wall clock is read again.
  var deadline: Micros {
    var next = now + SurfaceLimits.heartbeatInterval
    func consider(_ time: Micros?) {
      if let time, time < next { next = time }
    }
    consider(agenda.deadline)
    consider(gate.deadline)
    consider(hand.ends)
    consider(outward.tempoDue)
    consider(expectationEnds)
    consider(comparisonDue)
    for subscriber in subscribers {
      consider(subscriber.deadline)
      consider(subscriber.ends)
    }
    consider(feeds.deadline(for: audience, state: reading.state, at: now))
    return next
  }
}
