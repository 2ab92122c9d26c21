// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A bend by hand, of the session's tempo or of our outputs, and what it has changed so far.
struct BendingHand {
  /// A temporary change of the session's tempo: the tempo before and during the change.
  struct Moved {
    var before: Double
    var during: Double
    /// The tempos that this bend has ordered, the latest last. The session shows each of them some time
    /// later.
    var ordered: [Tempo]
    /// For a turn of the jog wheel: the microseconds by which the beat still had to move at the time
    /// `since`. nil: the user holds the bend.
    var turning: (left: Double, since: Micros)?
  }

  /// The bend of our own outputs.
  var outputs = BendSettings()
  var session: Moved?
  /// When the bend ends. A held bend ends if no message has come for a while, and a turn ends when it is
  /// complete.
  var ends: Micros?
  var asker: Asker?
}

// Bends by push and pull, by a jog wheel, and by a drummer's taps.
extension SurfaceMachine {
  /// Whether a bend changes the session's tempo instead of moving our outputs. Two conditions must both
  /// hold. No host or sequencer leads. No other peer is in the session, or the user has made this tactus
  /// the session's clock.
  private var movesSession: Bool {
    switch reading.state.leading {
    case .host, .midi: false
    case .link, .auto: reading.state.link.peers == 0 || reading.state.choices.hostIsTheClock
    }
  }

  mutating func bend(_ percent: Double, _ asker: Asker, at time: Micros) {
    defer { tellChanges() }
    // A pitch wheel at rest does not always send exactly 0.
    if abs(percent) < SurfaceLimits.leastBend { return letGo(at: time) }
    if hand.outputs.percent == 0, movesSession || hand.session != nil {
      let before = hand.session?.before ?? reading.tempo
      move(from: before, by: percent, turning: nil, asker, at: time)
    } else {
      hand.outputs.percent = percent
      bendOutputs(asker, at: time)
    }
    hand.ends = now + SurfaceLimits.longestBend
    reading.own.bentPercent = percent
  }

  /// Changes the session's tempo for a while, by `percent` of `before`.
  private mutating func move(
    from before: Double, by percent: Double, turning: Double?, _ asker: Asker, at time: Micros
  ) {
    let during = Tempo(before * (1 + percent / 100)).clamped.beatsPerMinute
    let isNews = hand.session?.during != during || hand.session?.before != before
    let earlier = hand.session?.ordered.suffix(SurfaceLimits.bendsOnTheirWay) ?? []
    hand.session = .init(
      before: before, during: during, ordered: earlier + [Tempo(during).clamped],
      turning: turning.map { ($0, time) })
    hand.asker = asker
    // Use the real ratio of the two tempos: near the limits of the tempo, it is smaller than `percent`.
    if let turning { hand.ends = time + Micros(rounding: abs(turning / (during / before - 1))) }
    if isNews { order(.bentTempo(Tempo(during), below: Tempo(before)), asker, at: time) }
  }

  /// Ends the bend: restores the tempo from before it, unless another tempo was set meanwhile.
  private mutating func letGo(at time: Micros) {
    reading.own.bentPercent = 0
    hand.ends = nil
    let asker = hand.asker ?? Asker(peer: .keys, row: tempoRow)
    if hand.outputs.percent != 0 {
      hand.outputs.percent = 0
      bendOutputs(asker, at: time)
    }
    guard let moved = hand.session else { return }
    hand.session = nil
    // The session may still show the tempo from before the bend, or an earlier tempo of the bend.
    let ours = (moved.ordered + [Tempo(moved.before).clamped]).map(\.microsPerBeat)
    if ours.contains(reading.state.tempo.clamped.microsPerBeat) { commit(moved.before, asker, at: time) }
  }

  private mutating func bendOutputs(_ asker: Asker, at time: Micros) {
    hand.asker = asker
    order(.bend(hand.outputs), asker, at: time)
  }

  /// Handles a turn of the jog wheel, which moves the beat forward by this many microseconds.
  mutating func jog(_ micros: Double, _ asker: Asker, at time: Micros) {
    // A held bend wins over the wheel, because the held bend moves the beat farther.
    guard reading.own.bentPercent == 0 else { return }
    guard movesSession || hand.session != nil else {
      let farthest = Double(BendSettings.farthest.count)
      let turned = Double(hand.outputs.turned.count) + min(farthest, max(-farthest, micros))
      hand.outputs.turned = Micros(rounding: turned)
      return bendOutputs(asker, at: time)
    }
    let farthest = SurfaceLimits.farthestTurn
    let left = min(farthest, max(-farthest, micros + leftToTurn(at: time)))
    guard abs(left) >= 1 else { return letGo(at: time) }
    turn(left, from: hand.session?.before ?? reading.tempo, asker, at: time)
  }

  private mutating func turn(_ left: Double, from before: Double, _ asker: Asker, at time: Micros) {
    move(from: before, by: BendSettings.most * (left < 0 ? -1 : 1), turning: left, asker, at: time)
  }

  /// The microseconds by which the beat has still to move for the wheel's turn.
  private func leftToTurn(at time: Micros) -> Double {
    guard let moved = hand.session, let turning = moved.turning else { return 0 }
    return turning.left - Double((time - turning.since).count) * (moved.during / moved.before - 1)
  }

  mutating func bendHome(_ asker: Asker, at time: Micros) {
    hand.outputs.returns &+= 1
    bendOutputs(asker, at: time)
  }

  /// Ends the bend if the wheel's turn is complete, or if no message has come for too long.
  mutating func endBend() {
    if let end = hand.ends, now >= end {
      letGo(at: end)
      tellChanges()
    }
  }

  /// Handles a tap of the drummer whose beat tactus follows.
  mutating func follow(tapAt moment: Micros, _ asker: Asker) {
    guard let beat = drummer.tap(at: moment) else { return }
    let tempo = Tempo((60e6 / beat.length * 100).rounded() / 100).clamped.beatsPerMinute
    if let moved = hand.session {
      // Continue the bend from the drummer's tempo; the session returns to that tempo after the bend.
      if moved.turning != nil {
        turn(leftToTurn(at: now), from: tempo, asker, at: now)
      } else {
        move(from: tempo, by: reading.own.bentPercent, turning: nil, asker, at: now)
      }
    } else if abs(tempo - reading.tempo) >= 0.05 {
      expect(tempo)
      if let (tempo, asker) = gate.offer(tempo, from: asker, at: now) { commit(tempo, asker, at: now) }
    }
    // By how many microseconds our outputs are later than the drummer's beat; negative: earlier.
    let ahead = reading.state.readings.aheadMilliseconds * 1000 / beat.length
    let ours = reading.state.sessionBeats(at: Micros(rounding: beat.time)).value + ahead
    let behind = (ours.rounded() - ours) * beat.length
    guard abs(behind) > SurfaceLimits.leastTurn else { return }
    let most = beat.length * BendSettings.most / 200
    jog(min(most, max(-most, behind)), asker, at: now)
  }
}
