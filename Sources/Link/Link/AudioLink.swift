// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import LinkHandoff
internal import LinkSession
internal import LinkWire
internal import LinkSystem
import Synchronization

/// Link for an audio callback: captures, edits and commits without lock, allocation or system call.
///
/// There is one for each `Link`, and it cannot be copied: put it into the callback's context. It belongs to
/// one thread at a time, the audio thread. It may outlive its `Link`, and then works alone.
///
/// The audio thread cannot wake Link's thread, which would take a system call. Link's thread looks for
/// commits instead, every 5 ms while there are peers, and sends them then. That delays the news, not the
/// music: a change names the time from which it holds, and the audio thread itself sees it at once.
public struct AudioLink: ~Copyable, Sendable {
  /// Keeps the memory of the two pointers alive. The audio thread never touches it, so it counts no
  /// references.
  private let room: AudioRoom
  nonisolated(unsafe) private let shared: UnsafePointer<AudioShared>
  nonisolated(unsafe) private let own: UnsafeMutablePointer<AudioOwn>

  /// Returns nil if another `AudioLink` exists.
  init?(_ room: AudioRoom) {
    guard
      room.isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return nil }
    self.room = room
    shared = UnsafePointer(room.shared)
    own = room.own
  }

  deinit { room.isTaken.store(false, ordering: .releasing) }

  /// The session as this thread should see it now. For a second after its own commit, it sees its own values
  /// whatever the network says. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public mutating func captureAudioState() -> SessionState {
    takeNews() ? own.pointee.captured : capture(at: HostClock.micros())
  }

  /// The same, at a time that the caller has read. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public mutating func captureAudioState(at now: Micros) -> SessionState {
    takeNews() ? own.pointee.captured : capture(at: now)
  }

  /// Returns whether the last capture still holds: nothing was published, and no commit of ours is recent.
  /// This is so in nearly every cycle, and then the clock is not even read.
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

  /// Puts the changes since the capture into the session; an unchanged state does nothing. Returns false if
  /// too many commits wait to be taken; then nothing has changed, here or there. [audio, real-time-safe]
  @discardableResult
  @_noLocks @_noAllocation
  public mutating func commitAudioState(_ state: SessionState) -> Bool {
    commitAudioState(state, at: HostClock.micros())
  }

  /// The same, at a time that the caller has read. [audio, real-time-safe]
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

  /// The tempo of samples that span the beats from `first` to `last`, in beats per minute. [any,
  /// real-time-safe]
  @_noLocks @_noAllocation
  public static func beatsPerMinute(
    from first: Double, to last: Double, frames: Double, sampleRate: Double
  ) -> Double {
    frames > 0 ? (last - first) * sampleRate * 60 / frames : 0
  }
}

/// Shared by both threads at once: atomics and handoffs only.
struct AudioShared: ~Copyable, Sendable {
  let session: Latest<SessionSnapshot>
  let changes: SPSCQueue<SessionChange>
  /// Shows Link's thread that the audio thread runs.
  let captures = Atomic<UInt>(0)

  init(_ snapshot: SessionSnapshot) {
    session = Latest(snapshot)
    changes = SPSCQueue(capacity: 256)
  }
}

/// Used by the audio thread alone.
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

  /// `.soon` if there was a capture since the last call.
  var pace: CommitPace {
    let captures = shared.pointee.captures.load(ordering: .relaxed)
    return lastCaptures.exchange(captures, ordering: .relaxed) != captures ? .soon : .late
  }
}
