// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import Handoff
internal import LinkSession
internal import LinkWire
internal import Linux
import Synchronization

/// Link for an audio callback: capture, ask, edit, commit, without lock, allocation or system call.
///
/// There is one for a `Link`, which cannot be copied: put it into the callback's context. It belongs to one thread at a time, the
/// audio thread. It may outlive its `Link`, and is then alone.
///
/// The audio thread can't wake Link's thread, which would be a system call. Link's thread looks for commits
/// instead, every 5 ms while there are peers: until then they are not on the network. That delays the news, not
/// the music: a change says at which time it holds, and the audio thread itself sees it at once.
public struct AudioLink: ~Copyable, Sendable {
  /// Keeps the memory behind the two pointers, and is not touched otherwise: who counts references is not the audio thread.
  private let room: AudioRoom
  nonisolated(unsafe) private let shared: UnsafePointer<AudioShared>
  nonisolated(unsafe) private let own: UnsafeMutablePointer<AudioOwn>

  /// nil: another has been given out.
  init?(_ room: AudioRoom) {
    guard
      room.isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return nil }
    self.room = room
    shared = UnsafePointer(room.shared)
    own = room.own
  }

  deinit { room.isTaken.store(false, ordering: .releasing) }

  /// The session as this thread shall see it now. For a second after a commit of its own, it sees its own values
  /// whatever the network says. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public mutating func captureAudioState() -> SessionState {
    takeNews() ? own.pointee.captured : capture(at: HostClock.micros())
  }

  /// The same, with the clock read by the caller. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public mutating func captureAudioState(at now: Micros) -> SessionState {
    takeNews() ? own.pointee.captured : capture(at: now)
  }

  /// Whether the last capture still holds: nothing was published, and we changed nothing of late. So it is in
  /// nearly every cycle, and then not even the clock is needed.
  @_noLocks @_noAllocation
  private mutating func takeNews() -> Bool {
    shared.pointee.captures.store(
      shared.pointee.captures.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    if let new = shared.pointee.session.readIfNew() {
      own.pointee.published = new
      own.pointee.isSettled = false
    }
    return own.pointee.isSettled
  }

  @_noLocks @_noAllocation
  private mutating func capture(at now: Micros) -> SessionState {
    own.pointee.captured = own.pointee.session.capture(
      own.pointee.published.state, workedIn: own.pointee.published.audioSequence, at: now)
    own.pointee.isSettled = own.pointee.session.isSettled(at: now)
    return own.pointee.captured
  }

  /// Puts what was changed since its capture into the session; an unchanged state does nothing. False if too
  /// many commits wait to be taken: then nothing has changed, here or there. [audio, real-time-safe]
  @discardableResult
  @_noLocks @_noAllocation
  public mutating func commitAudioState(_ state: SessionState) -> Bool {
    commitAudioState(state, at: HostClock.micros())
  }

  /// The same, with the clock read by the caller. [audio, real-time-safe]
  @discardableResult
  @_noLocks @_noAllocation
  public mutating func commitAudioState(_ state: SessionState, at now: Micros) -> Bool {
    let before = own.pointee.session
    let change = own.pointee.session.commit(state, at: now, isEnabled: own.pointee.published.isEnabled)
    guard let change else { return true }
    guard shared.pointee.changes.push(change) else {
      own.pointee.session = before
      return false
    }
    own.pointee.isSettled = false
    return true
  }

  /// Beats per minute of a span of samples that goes from one beat to another. [any, real-time-safe]
  @_noLocks @_noAllocation
  public static func beatsPerMinute(
    from first: Double, to last: Double, frames: Double, sampleRate: Double
  ) -> Double {
    frames > 0 ? (last - first) * sampleRate * 60 / frames : 0
  }
}

/// Both sides hold it at once: atomics and handoffs only.
struct AudioShared: ~Copyable, Sendable {
  let session: Latest<SessionSnapshot>
  let changes: SPSCQueue<SessionChange>
  /// So that Link's thread knows whether somebody is there.
  let captures = Atomic<UInt>(0)

  init(_ snapshot: SessionSnapshot) {
    session = Latest(snapshot)
    changes = SPSCQueue(capacity: 256)
  }
}

/// The audio thread's alone.
struct AudioOwn: BitwiseCopyable {
  var session: AudioSession
  var published: SessionSnapshot
  var captured: SessionState
  var isSettled = false

  init(_ snapshot: SessionSnapshot) {
    session = AudioSession(snapshot.state)
    published = snapshot
    captured = snapshot.state
  }
}

/// The memory behind an `AudioLink`, at fixed addresses.
final class AudioRoom: AudioDoor {
  nonisolated(unsafe) let shared: UnsafeMutablePointer<AudioShared>
  nonisolated(unsafe) let own: UnsafeMutablePointer<AudioOwn>
  /// Whether an `AudioLink` uses it.
  let isTaken = Atomic(false)
  private let lastCaptures = Atomic<UInt>(0)

  init(_ snapshot: SessionSnapshot) {
    shared = .allocate(capacity: 1)
    shared.initialize(to: AudioShared(snapshot))
    own = .allocate(capacity: 1)
    own.initialize(to: AudioOwn(snapshot))
  }

  deinit {
    shared.deinitialize(count: 1)
    shared.deallocate()
    own.deallocate()
  }

  func publish(_ snapshot: SessionSnapshot) { shared.pointee.session.publish(snapshot) }

  func nextChange() -> SessionChange? { shared.pointee.changes.pop() }

  /// Whether there was a capture since this was asked last.
  var pace: CommitPace {
    let captures = shared.pointee.captures.load(ordering: .relaxed)
    return lastCaptures.exchange(captures, ordering: .relaxed) != captures ? .soon : .late
  }
}
