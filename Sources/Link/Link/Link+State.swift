// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath

// Capture and commit for all threads but the audio callback.
extension Link {
  /// Returns the session's present state.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func capture() -> SessionState { SessionState(captureAppState()) }

  /// Puts the changes since the capture of `state` into the session, and sends them at once.
  ///
  /// An unchanged state does nothing. A change of tempo or beat that was made for a session which we have
  /// left is dropped: joining a session never changes it.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func commit(_ state: SessionState) { commitAppState(state.value) }

  /// Captures, edits and commits in one step, without a change in between.
  ///
  /// The program ends with a message if `edit` calls a function of this `Link` that may wait. Real-time-safe
  /// calls, and those that never wait, are allowed.
  ///
  /// - Parameter edit: Changes the state; its second argument is the present instant. If it throws, nothing
  ///   is committed.
  /// - Returns: The result of `edit`.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  @discardableResult
  public func update<Result, Failure: Error>(
    _ edit: (inout SessionState, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      var state = SessionState(engine.snapshot.state)
      let result = network.whileEditing { () -> Swift.Result<Result, Failure> in
        do throws(Failure) {
          return .success(try edit(&state, Instant(now)))
        } catch {
          return .failure(error)
        }
      }
      if case .success = result, let change = state.value.change(at: now) { engine.commit(change, at: now) }
      return result
    }.get()
  }

  /// The session's present state.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package func captureAppState() -> LinkBeatMath.SessionState {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      return engine.snapshot.state
    }
  }

  /// Puts the changes since the capture of `state` into the session, like `commit(_:)`.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package func commitAppState(_ state: LinkBeatMath.SessionState) {
    network.withEngine { engine, now in
      if let change = state.change(at: now) { engine.commit(change, at: now) }
    }
  }

  /// Like `update`, for callers that need no present instant.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package func updateAppState(_ edit: (inout LinkBeatMath.SessionState) -> Void) {
    update { state, _ in edit(&state.value) }
  }
}
