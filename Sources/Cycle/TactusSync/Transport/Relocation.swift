// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A locate at a planned time: a place in the song, and the cycle in which a rolling transport shall be
/// there.
///
/// The control thread plans the relocation from the last cycle's `Report` and asks JACK for it shortly
/// before. JACK stops all clients for a cycle or more (facts: jack 3). As a slow-sync client we hold exactly
/// this one relocation until its cycle comes, and never another locate or loop.
public struct Relocation: Sendable, BitwiseCopyable {
  /// The place in the song of the first frame that rolls.
  public var place: SongPlace
  /// The intended place in the song. It lies less than a cycle after `place`. If this relocation replaces
  /// another one, the intended place may also lie before `place`.
  private var meant: SongPlace
  /// The time on Link's clock at which the first rolling frame is heard. It is the start of a cycle.
  public var heardAt: Double
  /// The session's beat at `heardAt`, as known when this relocation was planned. `origin` is the session's
  /// beat at the song's beginning.
  public var sessionBeat: Double
  public var origin: Double
  /// The time at which to ask JACK for the relocation, on Link's clock.
  public var askAt: Double
  /// The frame at which the transport stands until this relocation, if it replaces a relocation that came too
  /// late.
  var insteadOf: UInt32?
  /// The microseconds that the other clients got to be ready.
  private let othersTake: Double

  /// The microseconds before and after `heardAt` in which a transport at this relocation's frame may be there
  /// because of it: JACK waits ten seconds for the slowest client.
  private static let memory: Double = 12e6

  enum Hold { case no, untilItsCycle, untilAnother }

  /// Returns whether the transport has to wait, and for what: for the relocation's cycle, or, if that cycle
  /// is over, until the control thread has planned another relocation.
  func hold(_ now: borrowing CycleContext) -> Hold {
    let frame = now.transport.frame, cycle = now.cycleMicros
    guard case .starting = now.transport.state, frame == place.frame || frame == insteadOf else { return .no }
    let left = heardAt - now.rollsAt
    let ahead = TransportLimits.answerMicros + Reposition.micros(cycle: cycle, othersTake: othersTake)
    if left > cycle / 2, left < ahead { return .untilItsCycle }
    if left < -cycle / 2, -left < Self.longestPause(cycle) { return .untilAnother }
    return .no
  }

  /// The longest silence, in microseconds, in which we wait for another relocation. After that the transport
  /// rolls, although late.
  private static func longestPause(_ cycleMicros: Double) -> Double { 100_000 + 2 * cycleMicros }

  /// Returns whether this relocation brings a host that has drifted back to the present song.
  func isCorrection(ofSongFrom origin: Int64, _ now: borrowing CycleContext) -> Bool {
    guard place(at: now.heard.start) != nil, now.transport.frame == place.frame else { return false }
    return ThirtySeconds.nearest(to: self.origin, grain: 1) == origin
  }

  /// The relocation's place in the song; nil: `time` is not near `heardAt`.
  func place(at time: Double) -> SongPlace? { abs(time - heardAt) < Self.memory ? place : nil }
}

extension Relocation {
  /// The greatest move of the session, in microseconds, after which a planned locate is kept. Each new
  /// measurement causes such small moves, and another locate would interrupt the sound for them.
  private static let unheard = 1_000.0

  /// The earliest time, as heard, for which a relocation can be planned now.
  static func soonest(_ now: Report) -> Double {
    now.moment.heard.start + TransportLimits.askingMicros
      + Reposition.micros(cycle: now.moment.cycleMicros, othersTake: now.launch.othersTake)
  }

  /// The microseconds after `askAt` within which a request to JACK is still in time.
  static func leeway(_ now: Report) -> Double { TransportLimits.askingMicros + now.moment.cycleMicros }

  /// Plans another relocation that replaces this one, for one of three reasons: this one came too late and is
  /// held; other clients made it roll late; or the session's beat at its time has changed. The new place is
  /// farther on in the song, which keeps its place on the session's grid of `step` beats. `hasStood`: JACK
  /// has stood at this relocation's place. nil: no replacement is needed, or the other clients would need
  /// longer than `limit` microseconds.
  func next(_ now: Report, hasStood: Bool, step: Double, limit: Double) -> Relocation? {
    let moment = now.moment
    let late = moment.heard.start + moment.cycleMicros - heardAt
    let isHeld = now.awaitsRelocation && late > moment.cycleMicros / 2
    let isKnown = hasStood || now.launch.othersTake > othersTake + moment.cycleMicros
    let slowFrames = isKnown ? lateFrames(now) : nil
    let moved = now.sessionBeat(at: heardAt) - sessionBeat
    let isElsewhere = stands(now) && abs(moved) * moment.beatMicros > Self.unheard
    guard isHeld || isElsewhere || slowFrames != nil else { return nil }
    var now = now
    // The other clients need at least the time that they have just taken, whatever the estimate was.
    if let slowFrames {
      let took = othersTake + slowFrames * moment.heard.frameMicros
      now.launch.othersTake = max(now.launch.othersTake, took + moment.cycleMicros)
    }
    guard now.launch.othersTake < limit else { return nil }
    let grid = step > 0 ? step : 1
    let origin = origin + (moved / grid).rounded() * grid
    let soonest = Self.soonest(now)
    let on = (now.sessionBeat(at: soonest) - origin - meant.beat) * moment.beatMicros
    // The distance in frames from the intended place to the first frame that can be heard at `soonest` or
    // later.
    let frames = (on / moment.heard.frameMicros).rounded(.up)
    let frame = Int64(meant.frame) &+ Int64(rounding: frames)
    guard frame >= 0 else { return nil }
    let passed = frames * moment.heard.frameMicros
    let there = SongPlace(frame: UInt32(clamping: frame), beat: meant.beat + passed / moment.beatMicros)
    var next = Self.meeting(soonest + passed - on, there, from: now)
    next.meant = meant
    if isHeld || isElsewhere { next.insteadOf = moment.frame }
    return next
  }

  /// Returns whether there is only just enough time left to replace this relocation by another.
  func isImminent(_ now: Report) -> Bool {
    let left = heardAt - now.moment.heard.start
    return left > now.moment.cycleMicros && left < 2 * Self.leeway(now) + now.moment.cycleMicros
  }

  /// Whether the transport rolls from the relocation's place, or cannot do so any more.
  func isOver(_ now: Report) -> Bool {
    let since = now.moment.heard.start - heardAt
    return !now.isMoving || framesBehind(now) != nil
      || now.song.isRolling && since > Self.longestPause(now.moment.cycleMicros)
  }

  /// The number of frames by which the transport rolls too late from the relocation's place; nil: it is late
  /// by a period at most.
  func lateFrames(_ now: Report) -> Double? {
    framesBehind(now).flatMap { $0 > Double(now.moment.frames) ? $0 : nil }
  }

  /// Whether the transport stands at the relocation's place while the clients get ready.
  func stands(_ now: Report) -> Bool { now.isBetweenPlaces && now.moment.frame == place.frame }

  /// The number of frames by which the transport rolls late from the relocation's place; nil: the transport
  /// does not roll from that place. If JACK handles a request late, the transport goes on rolling at its old
  /// place.
  private func framesBehind(_ now: Report) -> Double? {
    let moment = now.moment, frames = Double(moment.frames)
    let planned = (moment.heard.start - heardAt) / moment.heard.frameMicros
    let passed = Double(moment.frame) - Double(place.frame)
    guard now.song.isRolling, planned > -frames / 2, passed > -frames, passed < planned + frames else {
      return nil
    }
    return planned - passed
  }

  /// Plans a relocation after which `place` is heard at `time`. This is exact to the frame if enough frames
  /// precede `place`; otherwise `place` is heard in the nearest cycle. `time` is not before `soonest`.
  static func meeting(_ time: Double, _ place: SongPlace, from now: Report) -> Relocation {
    let moment = now.moment
    let ahead = (time - moment.heard.start) / moment.cycleMicros
    let whole = Double(Int64(flooring: ahead))
    let preRoll = Int64(rounding: (ahead - whole) * Double(moment.frames))
    let hasRoom = preRoll <= Int64(place.frame)
    let start = hasRoom ? whole * moment.cycleMicros : Double(Int64(rounding: ahead)) * moment.cycleMicros
    let before = hasRoom ? UInt32(clamping: preRoll) : 0
    return Relocation(
      place: place.moved(
        to: place.frame &- before, frameMicros: moment.heard.frameMicros, beatMicros: moment.beatMicros),
      meant: place, heardAt: moment.heard.start + start,
      sessionBeat: now.sessionBeat(at: moment.heard.start + start),
      origin: now.sessionBeat(at: time) - place.beat,
      askAt: moment.due + start - Reposition.cycles * moment.cycleMicros - TransportLimits.askingMicros
        - now.launch.othersTake,
      othersTake: now.launch.othersTake)
  }

  /// Plans a relocation that removes a host's lag at the song's beat `bar`; nil: no frame of the transport
  /// corresponds to that beat.
  static func correction(_ now: Report, at bar: Double) -> Relocation? {
    let moment = now.moment
    let away = (bar - now.song.beat) * moment.beatMicros
    // The frame at which the host, by its own count of frames, reaches the bar line.
    let frame =
      Int64(moment.frame) &+ Int64(rounding: (away + now.song.hostLag) * Double(moment.sampleRate) / 1e6)
    guard frame >= 0, frame <= Int64(UInt32.max) else { return nil }
    return meeting(moment.heard.start + away, SongPlace(frame: UInt32(frame), beat: bar), from: now)
  }

  /// The song's first bar line for which a correction can still be planned.
  static func nextBar(_ now: Report) -> Double {
    let soon = now.song.beat + (soonest(now) - now.moment.heard.start) / now.moment.beatMicros
    return ThirtySeconds.beats(now.bars.line(atOrAfter: soon))
  }
}

/// A place in the song, and the session's beat on which it is to be heard.
struct BeatTarget: Sendable {
  var place: SongPlace
  var sessionBeat: Double

  /// Chooses the session's next beat that has the phase of the wanted place, on a grid of `step` beats. If
  /// `step` is 0, the target is heard at once; it is in phase, and at most a beat after the wanted place.
  init(_ now: Report, _ wanted: SongPlace, step: Double) {
    let moment = now.moment
    let soon = now.sessionBeat(at: Relocation.soonest(now))
    let grid = step > 0 ? step : 1
    let away = wanted.beat - soon
    let wait = away - Double(Int64(flooring: away / grid)) * grid
    if step > 0 {
      (place, sessionBeat) = (wanted, soon + wait)
    } else {
      // The target moves on by the number of beats since the session's last beat with the target's phase.
      let behind = wait > 0 ? 1 - wait : 0
      let rest = Int64(rounding: behind * moment.beatMicros * Double(moment.sampleRate) / 1e6)
      place = SongPlace(frame: UInt32(clamping: Int64(wanted.frame) &+ rest), beat: wanted.beat + behind)
      sessionBeat = soon
    }
  }

  /// The most beats that a line of another machine may lie ahead. From one that is farther away, only the
  /// song's place counts.
  static let farthestAhead = 64.0

  /// Chooses the session's beat at which the song can join another machine's line: the line's own beat if it
  /// lies ahead, so that all machines jump at once, or else the next beat on a grid of `step` beats. A song
  /// has no beats before its first.
  init(_ now: Report, _ line: TransportPlan.SharedLine, step: Double) {
    let soon = now.sessionBeat(at: Relocation.soonest(now))
    let own = line.sessionBeat
    if own >= soon, own < soon + Self.farthestAhead {
      sessionBeat = own
    } else {
      let first = max(soon, own - line.beat)
      sessionBeat = step > 0 ? -Double(Int64(flooring: -first / step)) * step : first
    }
    let beat = line.beat + sessionBeat - own
    place = SongPlace(frame: now.frame(ofBeat: beat) ?? 0, beat: beat)
  }

  func relocation(_ now: Report) -> Relocation {
    let away = (sessionBeat - now.sessionBeat) * now.moment.beatMicros
    return .meeting(now.moment.heard.start + away, place, from: now)
  }
}
