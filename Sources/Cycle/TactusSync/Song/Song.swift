// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The state of the song: whether it plays, since which beat, and which beat of the session is its first.
///
/// A song's beat is the session's beat minus `origin`. A start or a locate chooses the origin: a whole number
/// of beats, or of the meter's notes if those are shorter. So the song is always in phase with the session,
/// and no tempo change moves it.
struct Song: BitwiseCopyable {
  enum Phase: Hashable, BitwiseCopyable {
    case stopped
    /// A start is arranged, and the song's beat counts up to that start.
    case waiting
    case rolling
  }

  private(set) var phase = Phase.stopped
  /// The session's beat at which the song begins, in 32nds: every note falls on a 32nd.
  private(set) var origin: Int64 = 0
  /// The session's beat from which the song sounds. Earlier beats do not belong to the song.
  private(set) var startBeat = Double.infinity
  /// Whether this run began because the session changed under a rolling song, and not by a start.
  private(set) var isRebased = false
  /// The time at which the end of the last run is heard. Only valid while the song is stopped.
  private(set) var stopTime = -Double.infinity
  /// The number of jumps of the song's position: at a start, at a locate, or in another session.
  private(set) var run: UInt64 = 0
  /// The song's position in beats while the transport stands. A tempo change does not move the position. A
  /// locate moves it to the beat that the new frame has at the tempo of the locate's time. If the tempo
  /// changes less than `settlingMicros` before or after the locate, the new tempo counts. A song of a set
  /// list sets the tempo and locates in one moment, and then JACK may show the bar of the old tempo.
  private(set) var standing = 0.0
  private static let settlingMicros = 200_000.0
  /// The time of the last locate of the standing transport.
  private var locatedAt = -Double.infinity
  /// The tempo of the last cycle in which the transport stood, and the time of its last change.
  private var tuned = (beatMicros: 0.0, at: -Double.infinity)
  private var standingFrame: UInt32?
  /// The frame and the song's beat at which the transport stands; nil: the transport does not stand.
  var place: SongPlace? { standingFrame.map { SongPlace(frame: $0, beat: standing) } }
  /// A frame of this cycle or of a later one, with the song's beat that a start or a relocation has chosen
  /// for it. That beat does not follow from the frame and the tempo.
  var landmark: SongPlace?
  /// How far a host that counts frames by itself lags behind this song.
  private(set) var lag = HostLag()

  private var lastFrame: UInt32 = 0
  private var lastFrames: UInt32 = 0
  /// The frames that were lost before the last cycle and that the transport has not counted yet. A late
  /// client reads the time of the next cycle with the transport of this cycle. The transport catches up in
  /// the next cycle (facts: jack 8).
  private var uncounted: Int64 = 0

  var isRolling: Bool { if case .rolling = phase { true } else { false } }
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  func songBeat(of beat: Double) -> Double { beat - originBeat }

  /// The session's beat at which the song's beat 0 is.
  var originBeat: Double { ThirtySeconds.beats(origin) }

  /// The number of the boundary at the song's `place` (in 32nds), or else of the next boundary after it. A
  /// beat has `perBeat` boundaries.
  func boundary(at place: Int64 = 0, perBeat: Int64) -> Int64 {
    0 &- Ticker.floorDivide(0 &- (origin &+ place) &* perBeat, ThirtySeconds.perBeat)
  }

  /// Returns whether nothing but the song's position has changed since `before`.
  @inline(__always)
  func isWhereItWas(_ before: Song) -> Bool {
    phase == before.phase && run == before.run && origin == before.origin && startBeat == before.startBeat
      && stopTime == before.stopTime
  }

  /// Returns whether a boundary at `beat`, heard at `time`, belongs to the song.
  func contains(beat: Double, time: Double) -> Bool {
    switch phase {
    case .stopped: beat >= startBeat && time < stopTime
    case .waiting, .rolling: beat >= startBeat
    }
  }

  @inline(__always)
  func report(at beat: Double, showsLag: Bool) -> SongReport {
    SongReport(
      isRolling: isRolling, isWaiting: isWaiting, startBeat: isWaiting ? startBeat : .infinity,
      beat: isRolling || isWaiting ? songBeat(of: beat) : standing,
      hostLag: showsLag && isRolling ? lag.micros : 0, run: run)
  }

  /// Follows the transport through one cycle. `here` is the song's beat that belongs to the transport's
  /// frame. `leads`: a leader says where the song is. Without a leader, a song that stops goes back to the
  /// beat that a host has reached by counting frames. The next start begins at that beat.
  mutating func follow(_ now: borrowing CycleContext, at here: Double, lostFrames: Int64, leads: Bool = false)
  {
    let transport = now.transport
    let beat = now.grid.beat(at: now.heard.start)
    let entry = entry(now, at: here, lostFrames: lostFrames)
    if now.isCut { stopTime = -.infinity }
    if now.isFreewheeling { disarm() }
    switch transport.state {
    case .stopped:
      var late = 0.0
      if isRolling, !leads, !now.isFreewheeling {
        followLag(now, beat: beat)
        late = lag.micros / now.heardBeatMicros
      }
      stand(now, here: here, beat: beat - late)
      leave(at: now.heard.start)
      disarm()
    case .starting:
      stand(now, here: here, beat: beat)
      leave(at: now.heard.start)
    case .rolling:
      if let entry {
        enter(at: beat, position: entry, grain: now.settings.meter.grain)
        lag.begin(frame: transport.frame, beat: entry)
      }
      standingFrame = nil
      followLag(now, beat: beat)
    }
    uncounted = max(0, lostFrames &- moved(transport))
    lastFrame = transport.frame
    lastFrames = now.frames
  }

  private mutating func followLag(_ now: borrowing CycleContext, beat: Double) {
    lag.follow(
      frame: now.transport.frame, beat: songBeat(of: beat), beatMicros: now.heardBeatMicros,
      nominalPerFrame: 1e6 / Double(now.sampleRate))
  }

  /// The position at which a start or a locate enters the song in this cycle; nil: there is no start or
  /// locate.
  func entry(_ now: borrowing CycleContext, at here: Double, lostFrames: Int64) -> Double? {
    guard now.isRolling else { return nil }
    let transport = now.transport
    if isRolling, !hasLocated(transport, lostFrames: lostFrames) { return nil }
    guard let standingFrame else { return here }
    let skipped = transport.frame &- standingFrame
    guard skipped == 0 || skipped == lastFrames else { return here }
    return standing + Double(skipped) * now.frameMicros / now.heardBeatMicros
  }

  /// The beat of a frame if the tempo had always been `beatMicros`. A locate by frames cannot mean any other
  /// beat.
  static func beats(ofFrame frame: UInt32, sampleRate: UInt32, beatMicros: Double) -> Double {
    Double(frame) / Double(max(1, sampleRate)) * 1e6 / beatMicros
  }

  private mutating func stand(_ now: borrowing CycleContext, here: Double, beat: Double) {
    let frame = now.transport.frame
    if now.heardBeatMicros != tuned.beatMicros { tuned = (now.heardBeatMicros, now.heard.start) }
    if isRolling, isContinuation(frame) {
      standing = songBeat(of: beat)
      locatedAt = -.infinity
    } else if let landmark, landmark.frame == frame {
      standing = landmark.beat
      locatedAt = -.infinity
    } else {
      if standingFrame != frame { locatedAt = now.heard.start }
      let passed = now.heard.start - locatedAt
      let isRetuned = abs(tuned.at - locatedAt) < Self.settlingMicros
      if passed == 0 || isRetuned && passed < Self.settlingMicros { standing = here }
    }
    standingFrame = frame
  }

  /// Returns whether the transport stopped without a locate. Then its frame is the last one, or up to two
  /// cycles later.
  private func isContinuation(_ frame: UInt32) -> Bool {
    let moved = Int64(Int32(truncatingIfNeeded: frame &- lastFrame))
    return moved >= 0 && moved <= 2 * Int64(lastFrames)
  }

  /// The song's beat at the start of the next cycle, if the transport's frame is `frame` then and the
  /// session's beat is `beat`. If `frame` is not the next frame, there is a locate, which lands in phase with
  /// the session.
  func position(atFrame frame: UInt32, meaning there: Double, beat: Double, grain: Int64) -> Double {
    if isRolling, frame == lastFrame &+ lastFrames { return songBeat(of: beat) }
    if let landmark, landmark.frame == frame { return landmark.beat }
    guard isRolling else { return frame == standingFrame ? standing : there }
    return beat - ThirtySeconds.beats(ThirtySeconds.nearest(to: beat - there, grain: grain))
  }

  /// Lets the song wait for a start at `beat`. `origin` is the place of the song's beat 0, in 32nds of the
  /// session.
  mutating func arm(startingAt beat: Double, origin: Int64) {
    if isWaiting, startBeat == beat, self.origin == origin { return }
    self.origin = origin
    startBeat = beat
    phase = .waiting
    begin()
  }

  /// Ends the wait for a start.
  mutating func disarm() {
    guard isWaiting else { return }
    phase = .stopped
    startBeat = .infinity
    begin()
  }

  private mutating func leave(at time: Double) {
    guard isRolling else { return }
    phase = .stopped
    stopTime = time
    begin()
  }

  private mutating func enter(at beat: Double, position: Double, grain: Int64) {
    // The start came as arranged, or nearly so because the beat falls on the border of a cycle: keep the
    // arranged beats.
    if isWaiting && abs(beat - startBeat) < 0.5 {
      phase = .rolling
      return
    }
    phase = .rolling
    origin = ThirtySeconds.nearest(to: beat - position, grain: grain)
    startBeat = beat
    begin()
  }

  private mutating func begin(isRebased: Bool = false) {
    run &+= 1
    self.isRebased = isRebased
  }

  /// Whether the transport was located. The transport's frame does not count lost cycles; our frame counter
  /// does (facts: jack 8).
  private func hasLocated(_ transport: Transport, lostFrames: Int64) -> Bool {
    let moved = moved(transport)
    return moved < 0 || moved > max(0, lostFrames) &+ uncounted
  }

  /// The number of frames by which the transport moved since the last cycle, minus that cycle's length.
  private func moved(_ transport: Transport) -> Int64 {
    Int64(Int32(truncatingIfNeeded: transport.frame &- lastFrame)) &- Int64(lastFrames)
  }

  /// Moves the song after the session's beat has moved by `moved`, because of another session or a long
  /// stall. The song's bars stay as near as possible to where they were, in phase with the new grid.
  mutating func rebase(by moved: Double, _ now: borrowing CycleContext) {
    let quantum = now.settings.quantum
    let whole = quantum > 0 ? max(1, ThirtySeconds.nearest(to: quantum, grain: 1)) : ThirtySeconds.perBeat
    let kept = ThirtySeconds.nearest(to: moved, grain: whole)
    origin = origin &+ kept
    startBeat += ThirtySeconds.beats(ThirtySeconds.nearest(to: moved, grain: now.settings.meter.grain))
    // The limit is half a MIDI clock. A smaller remainder is a movement of the grid; a larger one means
    // another place in the song.
    guard abs(moved - ThirtySeconds.beats(kept)) > 1.0 / 48 else { return }
    switch phase {
    case .stopped: break
    case .waiting, .rolling:
      begin(isRebased: isRolling)
      if isRolling { startBeat = now.grid.beat(at: now.heard.start) }
    }
  }
}
