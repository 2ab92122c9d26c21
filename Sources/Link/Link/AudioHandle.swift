// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
import LinkHandoff
internal import LinkSession
internal import LinkSystem
internal import LinkWire
import Synchronization

extension Link {
  /// Link for an audio callback: captures, edits and commits without lock, allocation or system call.
  ///
  /// There is one handle for each `Link`, and it cannot be copied: put it into the callback's context. A
  /// handle belongs to one thread at a time, the audio thread. The handle may outlive its `Link`, and then
  /// works alone. Release it on another thread, after the audio has stopped: if its `Link` is gone, the
  /// release frees memory.
  ///
  /// The audio thread cannot wake Link's thread, which would take a system call. Instead, Link's thread
  /// checks for commits, every 5 ms while there are peers, and then sends them. That delays the datagrams,
  /// not the music: a change contains the time from which it is valid, and the audio thread itself sees the
  /// change at once.
  ///
  /// All functions but the release are real-time-safe. Call them only on the thread that owns the handle. The
  /// functions that capture or commit are mutating.
  public struct AudioHandle: ~Copyable, Sendable {
    /// Keeps the memory of the two pointers alive. The audio thread never touches this property, and so
    /// counts no references.
    private let room: AudioRoom
    nonisolated(unsafe) private let shared: UnsafePointer<AudioShared>
    nonisolated(unsafe) private let own: UnsafeMutablePointer<AudioOwn>

    /// Makes the handle of a `Link`. Returns nil if there is another handle.
    init?(_ room: AudioRoom) {
      guard
        room.isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
          .exchanged
      else { return nil }
      self.room = room
      shared = UnsafePointer(room.shared)
      own = room.own
    }

    deinit { room.isTaken.store(false, ordering: .releasing) }

    /// Returns the session's state as this thread should see it now. For a second after a commit, the thread
    /// sees the values that it committed, whatever peers send.
    ///
    /// Thread-safe: no, one thread owns the handle. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func capture() -> Link.SessionState { Link.SessionState(captureAudioState()) }

    /// Returns the session's state at an instant that the caller has read.
    ///
    /// - Parameter now: The present instant, from ``Link/now``.
    ///
    /// Thread-safe: no, one thread owns the handle. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func capture(at now: Link.Instant) -> Link.SessionState {
      Link.SessionState(captureAudioState(at: now.micros))
    }

    /// Puts the changes since the capture into the session; an unchanged state does nothing.
    ///
    /// - Returns: False if 256 commits wait already. Then nothing has changed, neither in the session nor for
    ///   this thread.
    ///
    /// Thread-safe: no, one thread owns the handle. Real-time-safe: yes.
    @discardableResult
    @_noLocks @_noAllocation
    public mutating func commit(_ state: Link.SessionState) -> Bool { commitAudioState(state.value) }

    /// Puts the changes since the capture into the session at an instant that the caller has read.
    ///
    /// - Parameters:
    ///   - state: A captured and edited state.
    ///   - now: The present instant, from ``Link/now``.
    /// - Returns: False if 256 commits wait already. Then nothing has changed, neither in the session nor for
    ///   this thread.
    ///
    /// Thread-safe: no, one thread owns the handle. Real-time-safe: yes.
    @discardableResult
    @_noLocks @_noAllocation
    public mutating func commit(_ state: Link.SessionState, at now: Link.Instant) -> Bool {
      commitAudioState(state.value, at: now.micros)
    }

    @_noLocks @_noAllocation
    package mutating func captureAudioState() -> LinkBeatMath.SessionState {
      if !takeNews() { capture(at: HostClock.micros()) }
      return own.pointee.captured
    }

    @_noLocks @_noAllocation
    package mutating func captureAudioState(at now: Micros) -> LinkBeatMath.SessionState {
      if !takeNews() { capture(at: now) }
      return own.pointee.captured
    }

    /// Returns whether the values of the last capture are still valid: nothing was published since then, and
    /// this thread has not committed a change in the last second. In nearly every cycle they are valid, and
    /// then the clock is not even read.
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
    private mutating func capture(at now: Micros) {
      own.pointee.captured = own.pointee.session.capture(
        own.pointee.published.state, workedIn: own.pointee.published.audioSequence, at: now)
      own.pointee.isSettled = own.pointee.session.isSettled(at: now)
    }

    @discardableResult
    @_noLocks @_noAllocation
    package mutating func commitAudioState(_ state: LinkBeatMath.SessionState) -> Bool {
      commitAudioState(state, at: HostClock.micros())
    }

    @discardableResult
    @_noLocks @_noAllocation
    package mutating func commitAudioState(_ state: LinkBeatMath.SessionState, at now: Micros) -> Bool {
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

    /// Returns the tempo, in BPM, of samples that span the beats from `first` to `last`.
    ///
    /// - Parameters:
    ///   - first: The beat at the first frame.
    ///   - last: The beat at the frame after the last one.
    ///   - frames: The number of frames; 0 gives 0 BPM.
    ///   - sampleRate: Frames a second.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func beatsPerMinute(
      from first: Double, to last: Double, frames: Double, sampleRate: Double
    ) -> Double {
      frames > 0 ? (last - first) * sampleRate * 60 / frames : 0
    }
  }
}

/// The memory that the audio thread and Link's thread use at once: atomics and handoffs only.
struct AudioShared: ~Copyable, Sendable {
  let session: Latest<SessionSnapshot>
  let changes: SPSCQueue<SessionChange>
  /// The number of captures. A change shows Link's thread that the audio thread runs.
  let captures = Atomic<UInt>(0)

  init(_ snapshot: SessionSnapshot) {
    session = Latest(snapshot)
    changes = SPSCQueue(capacity: 256)
  }
}

/// The memory that only the audio thread uses.
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

/// The memory behind an `AudioHandle`, at fixed addresses.
final class AudioRoom: SessionObserver {
  nonisolated(unsafe) let shared: UnsafeMutablePointer<AudioShared>
  nonisolated(unsafe) let own: UnsafeMutablePointer<AudioOwn>
  /// Whether an `AudioHandle` uses this memory.
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

  /// `.soon` if there was a capture since this property was last read.
  var pace: CommitPace {
    let captures = shared.pointee.captures.load(ordering: .relaxed)
    return lastCaptures.exchange(captures, ordering: .relaxed) != captures ? .soon : .late
  }
}
