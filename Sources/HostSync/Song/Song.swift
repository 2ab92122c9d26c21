// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Where the song is: whether it plays, since which beat, and which beat is its first.
///
/// Song beat = beat - origin; the origin is a whole number of beats, or of the meter's notes where those are shorter, chosen at a start
/// or a locate, so that the song is always in phase with the session and no tempo change moves it.
struct Song: BitwiseCopyable {
  enum Phase: Hashable, BitwiseCopyable {
    case stopped
    /// A start is agreed on; the song beat counts up to it.
    case waiting
    case rolling
  }

  private(set) var phase = Phase.stopped
  /// In 32nds of the session, on which all notes fall.
  private(set) var origin: Int64 = 0
  /// The beat from which on the song sounds; nothing before it belongs to it.
  private(set) var startBeat = Double.infinity
  /// The run began as the session became another below a rolling song: nothing starts there.
  private(set) var isRebased = false
  /// When the last run ended, as heard; only while stopped.
  private(set) var stopTime = -Double.infinity
  /// Goes up whenever the song's position jumps: at a start, a locate, another session.
  private(set) var run: UInt64 = 0
  /// The song's position in beats while the transport stands. A tempo change does not move it; a locate does, to
  /// the beat that the frame has at the tempo of that moment.
  private(set) var standing = 0.0
  private var standingFrame: UInt32?
  /// Where it stands.
  var place: SongPlace? { standingFrame.map { SongPlace(frame: $0, beat: standing) } }
  /// Where this cycle's frame, or one that is still to come, lies in the song, if the tempo does not say it.
  var landmark: SongPlace?
  /// A host that counts frames by itself, against this song.
  private(set) var lag = HostLag()

  private var lastFrame: UInt32 = 0
  private var lastFrames: UInt32 = 0
  /// What the last cycle lost and the transport did not count: who is late reads the next cycle's time with this one's transport, and
  /// the transport goes on in the next (facts: jack 8).
  private var uncounted: Int64 = 0

  var isRolling: Bool { if case .rolling = phase { true } else { false } }
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  func songBeat(of beat: Double) -> Double { beat - originBeat }

  /// The session's beat at which it is at its beat 0.
  var originBeat: Double { ThirtySeconds.beats(origin) }

  /// The boundary among `perBeat` a beat that is a place of the song's, in 32nds, or the next one.
  func boundary(at place: Int64 = 0, perBeat: Int64) -> Int64 {
    0 &- Ticker.floorDivide(0 &- (origin &+ place) &* perBeat, ThirtySeconds.perBeat)
  }

  /// Nothing of it but its position has changed.
  @inline(__always)
  func isWhereItWas(_ before: Song) -> Bool {
    phase == before.phase && run == before.run && origin == before.origin && startBeat == before.startBeat
      && stopTime == before.stopTime
  }

  /// Whether a boundary at `beat`, heard at `time`, is part of the song.
  func contains(beat: Double, time: Double) -> Bool {
    switch phase {
    case .stopped: beat >= startBeat && time < stopTime
    case .waiting, .rolling: beat >= startBeat
    }
  }

  @inline(__always)
  func report(into report: inout Report) {
    report.isRolling = isRolling
    report.isWaiting = isWaiting
    report.startBeat = isWaiting ? startBeat : .infinity
    report.songBeat = isRolling || isWaiting ? songBeat(of: report.sessionBeat) : standing
  }

  /// Follows the transport through one cycle. `here` is the song's beat that its frame means by itself. Where a song stops that nobody
  /// `leads`, it goes back to the beat that a host that counts frames has there, and so does the next start.
  mutating func follow(_ now: borrowing Now, at here: Double, lostFrames: Int64, leads: Bool = false) {
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
      stand(transport, here: here, beat: beat - late)
      leave(at: now.heard.start)
      disarm()
    case .starting:
      stand(transport, here: here, beat: beat)
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

  private mutating func followLag(_ now: borrowing Now, beat: Double) {
    lag.follow(
      frame: now.transport.frame, beat: songBeat(of: beat), beatMicros: now.heardBeatMicros,
      nominalPerFrame: 1e6 / Double(now.sampleRate))
  }

  /// The position at which the song is entered in this cycle, by a start or a locate; nil: it is not.
  func entry(_ now: borrowing Now, at here: Double, lostFrames: Int64) -> Double? {
    guard now.isRolling else { return nil }
    let transport = now.transport
    if isRolling, !hasLocated(transport, lostFrames: lostFrames) { return nil }
    guard let standingFrame else { return here }
    let skipped = transport.frame &- standingFrame
    guard skipped == 0 || skipped == lastFrames else { return here }
    return standing + Double(skipped) * now.frameMicros / now.heardBeatMicros
  }

  /// The beat that a frame has if the tempo was always this one: all that a locate by frames can mean.
  static func beats(ofFrame frame: UInt32, sampleRate: UInt32, beatMicros: Double) -> Double {
    Double(frame) / Double(max(1, sampleRate)) * 1e6 / beatMicros
  }

  private mutating func stand(_ transport: Transport, here: Double, beat: Double) {
    if isRolling, isContinuation(transport.frame) {
      standing = songBeat(of: beat)
      standingFrame = transport.frame
    } else if let landmark, landmark.frame == transport.frame {
      standing = landmark.beat
      standingFrame = transport.frame
    } else if standingFrame != transport.frame {
      standing = here
      standingFrame = transport.frame
    }
  }

  /// A stop leaves the frame where it was or lets the last cycle still count.
  private func isContinuation(_ frame: UInt32) -> Bool {
    let moved = Int64(Int32(truncatingIfNeeded: frame &- lastFrame))
    return moved >= 0 && moved <= 2 * Int64(lastFrames)
  }

  /// The song's beat at the start of the next cycle, if the transport's frame is `frame` then and the session's
  /// `beat`. A frame other than the next is a locate, which lands in phase with the session.
  func position(atFrame frame: UInt32, meaning there: Double, beat: Double, grain: Int64) -> Double {
    if isRolling, frame == lastFrame &+ lastFrames { return songBeat(of: beat) }
    if let landmark, landmark.frame == frame { return landmark.beat }
    guard isRolling else { return frame == standingFrame ? standing : there }
    return beat - ThirtySeconds.beats(ThirtySeconds.nearest(to: beat - there, grain: grain))
  }

  /// A start at `beat` of a song whose first beat is `origin`: from now on the song waits for it.
  mutating func arm(startingAt beat: Double, origin: Int64) {
    if isWaiting, startBeat == beat, self.origin == origin { return }
    self.origin = origin
    startBeat = beat
    phase = .waiting
    begin()
  }

  /// It waits for no start any more.
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
    // As agreed, or nearly (a start happens at the border of a cycle): the agreed beats stand.
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

  /// The transport's frame does not count cycles that were lost, ours does (facts: jack 8).
  private func hasLocated(_ transport: Transport, lostFrames: Int64) -> Bool {
    let moved = moved(transport)
    return moved < 0 || moved > max(0, lostFrames) &+ uncounted
  }

  /// How much farther than a cycle its frame is from the last.
  private func moved(_ transport: Transport) -> Int64 {
    Int64(Int32(truncatingIfNeeded: transport.frame &- lastFrame)) &- Int64(lastFrames)
  }

  /// Another session, or a long stall, moved the session's beat by so much: the bar stays nearest to where it was, in
  /// phase with the new grid.
  mutating func rebase(by moved: Double, _ now: borrowing Now) {
    let quantum = now.settings.quantum
    let whole = quantum > 0 ? max(1, ThirtySeconds.nearest(to: quantum, grain: 1)) : ThirtySeconds.perBeat
    let kept = ThirtySeconds.nearest(to: moved, grain: whole)
    origin = origin &+ kept
    startBeat += ThirtySeconds.beats(ThirtySeconds.nearest(to: moved, grain: now.settings.meter.grain))
    // Half a MIDI clock: less is the grid's own movement, more is another place in the song.
    guard abs(moved - ThirtySeconds.beats(kept)) > 1.0 / 48 else { return }
    switch phase {
    case .stopped: break
    case .waiting, .rolling:
      begin(isRebased: isRolling)
      if isRolling { startBeat = now.grid.beat(at: now.heard.start) }
    }
  }
}
