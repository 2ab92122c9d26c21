// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusJSON5
import TactusSurface

/// Writes remembered choices to the disk, some time after they change and at the end. [any]
///
/// A disk may take seconds to store the choices safely, and the control thread has transports to start, so a
/// separate thread writes. If writing fails, one notice reports it, the old file stays, and the write is
/// repeated later.
final class StateKeeper: Sendable {
  /// The time without a further change after which choices are written: a fader may still move.
  static let rest = Micros(1_000_000)
  /// Choices are written after this time even if they keep changing.
  static let longestDelay = Micros(10_000_000)
  static let retry = Micros(10_000_000)

  /// The new path of a state file that can't be parsed.
  static func aside(_ path: String) -> String { path + ".broken" }
  /// The path of the copy of the state file from before this run's first choice.
  static func before(_ path: String) -> String { path + ".before" }

  private let held: Mutex<State>

  /// - Parameters:
  ///   - path: the path of the state file; nil: nothing is remembered.
  ///   - known: the choices that the state file contains.
  ///   - start: the settings at the start.
  ///   - file: the settings of the configuration file alone.
  init(
    path: String?, known: UserState = UserState(), start: Configuration, file: Configuration,
    notice: @escaping @Sendable (String) -> Void
  ) {
    held = Mutex(State(path: path, known: known, noted: start, file: file, notice: notice))
  }

  /// Takes the present settings; nil: no choice was made since the last call.
  func note(_ configuration: Configuration?, at now: Micros) {
    held.withLock { $0.note(configuration, at: now) }
  }

  /// Writes at once, even if choices still change, and reports when the write is done.
  func hurry(at now: Micros) {
    held.withLock { held in
      if let writing = held.writing { held.finish(writing, at: now) }
      held.notBefore = now
      held.isAsked = true
      if held.changedFirst == nil { held.tellWhoAsked() } else { held.begin() }
    }
  }

  /// Takes settings that come from the configuration file, so that they are not remembered as choices.
  func configured(_ configuration: Configuration, file: Configuration) {
    held.withLock { ($0.noted, $0.file) = (configuration, file) }
  }

  /// Writes the choices that are not written yet.
  ///
  /// - Parameter state: the state at the end, if it is newer than the last `note`.
  func close(at now: Micros, taking state: SurfaceState? = nil) {
    held.withLock { held in
      if let state { held.note(held.noted.taking(state), at: now) }
      if let writing = held.writing { held.finish(writing, at: now) }
      guard held.changedFirst != nil, held.path != nil else { return }
      held.begin()
      if let writing = held.writing { held.finish(writing, at: now) }
    }
  }
}

private struct State {
  let path: String?
  /// All choices that this run has read from the file or made. If the file gets damaged meanwhile, only these
  /// are left.
  var known: UserState
  var noted: Configuration
  var file: Configuration
  let notice: @Sendable (String) -> Void
  /// The choices since the last write. Only these are written: other entries may belong to another tactus.
  var choices = UserState()
  var changedFirst: Micros?
  var changedLast = Micros.zero
  var notBefore = Micros.zero
  var writing: Writing?
  var hasFailed = false
  var isAsked = false
  var hasWritten = false

  mutating func note(_ configuration: Configuration?, at now: Micros) {
    if let configuration, configuration != noted {
      if choices.remember(configuration, since: noted, over: file) {
        changedFirst = changedFirst ?? now
        changedLast = now
      }
      noted = configuration
    }
    if let writing, writing.isOver { finish(writing, at: now) }
    guard let changedFirst, writing == nil, now >= notBefore,
      now >= changedLast + StateKeeper.rest || now >= changedFirst + StateKeeper.longestDelay
    else { return }
    begin()
  }

  mutating func tellWhoAsked() {
    if isAsked { notice("your choices are saved") }
    isAsked = false
  }

  mutating func begin() {
    changedFirst = nil
    guard let path else { return }
    writing = Writing(choices, besides: known, to: path, keepsPredecessor: !hasWritten)
    known.merge(choices)
    choices = UserState()
  }

  mutating func finish(_ done: Writing, at now: Micros) {
    writing = nil
    switch done.join() {
    case nil:
      hasWritten = true
      if hasFailed { notice("the remembered choices can be written again") }
      hasFailed = false
      tellWhoAsked()
    case let failure?:
      let later = choices
      choices = done.choices
      choices.merge(later)
      if !hasFailed {
        notice("the remembered choices can't be written: \(failure.text); the file stays as it was")
      }
      hasFailed = true
      changedFirst = changedFirst ?? now
      notBefore = now + StateKeeper.retry
    }
  }
}

/// Writes choices into the file as it is then, because another tactus may have written its own choices there.
private final class Writing: Sendable {
  let choices: UserState
  private let known: UserState
  private let path: String
  private let keepsPredecessor: Bool
  private let over = Atomic(false)
  private let failure = Mutex<UserError?>(nil)
  private let thread = Mutex<Thread?>(nil)

  init(_ choices: UserState, besides known: UserState, to path: String, keepsPredecessor: Bool) {
    self.choices = choices
    self.known = known
    self.keepsPredecessor = keepsPredecessor
    self.path = path
    let thread = try? Thread("state") { [self] in run() }
    self.thread.withLock { $0 = thread }
    // If no thread can be started, write on the present thread.
    if thread == nil { run() }
  }

  var isOver: Bool { over.load(ordering: .acquiring) }

  private func run() {
    do throws(UserError) {
      try WholeFile.change(path, limit: JSON5.Limits().bytes) { bytes throws(UserError) in
        var state = try found(bytes)
        state.merge(choices)
        return state.text
      }
    } catch {
      failure.withLock { [error] in $0 = error }
    }
    over.store(true, ordering: .releasing)
  }

  /// The choices in the file. A file that can't be parsed is moved aside, and this run's choices take its
  /// place: only tactus writes this file, and on stage there is no time to repair it.
  private func found(_ bytes: [UInt8]?) throws(UserError) -> UserState {
    guard let bytes else { return UserState() }
    if let state = try? UserState(bytes, from: path) {
      // Keep a copy, so that the user can undo all choices of an evening. If the copy fails, go on without
      // it.
      if keepsPredecessor, !bytes.isEmpty {
        try? WholeFile.write(String(decoding: bytes, as: UTF8.self), to: StateKeeper.before(path))
      }
      return state
    }
    let aside = StateKeeper.aside(path)
    guard rename(path, aside) == 0 else { throw UserError(aside, code: errno) }
    return known
  }

  /// Waits for the end of the write and returns the failure, if any.
  func join() -> UserError? {
    thread.withLock { $0.take() }?.join()
    return failure.withLock { $0 }
  }
}
