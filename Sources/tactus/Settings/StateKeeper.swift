// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import Glibc
import JSON5
import Linux
import Synchronization

/// Writes what is to be remembered, some time after it changed and at the end. [any]
///
/// A disk may take seconds for what must not be lost, and the control thread has transports to start: it is written
/// on a thread of its own. If it can't be written, that is said once, the old file stays, and it is tried again.
final class StateKeeper: Sendable {
  /// A fader is still moving.
  static let rest = Micros(1_000_000)
  /// It never rests.
  static let patience = Micros(10_000_000)
  static let retry = Micros(10_000_000)

  /// Where a file goes that nobody understands.
  static func aside(_ path: String) -> String { path + ".broken" }
  /// As it was before this run's first choice.
  static func before(_ path: String) -> String { path + ".before" }

  private let held: Mutex<Held>

  /// - Parameters:
  ///   - path: nil remembers nothing.
  ///   - known: what it remembers already.
  ///   - start: what holds now.
  ///   - file: what the configuration alone says.
  init(
    path: String?, known: UserState = UserState(), start: Configuration, file: Configuration,
    notice: @escaping @Sendable (String) -> Void
  ) {
    held = Mutex(Held(path: path, known: known, noted: start, file: file, notice: notice))
  }

  /// nil: nothing was chosen since the last one.
  func note(_ configuration: Configuration?, at now: Micros) {
    held.withLock { $0.note(configuration, at: now) }
  }

  /// Now, without waiting for anything to rest; when it is done, that is said.
  func hurry(at now: Micros) {
    held.withLock { held in
      if let writing = held.writing { held.finish(writing, at: now) }
      held.notBefore = now
      held.isAsked = true
      if held.changedFirst == nil { held.tellWhoAsked() } else { held.begin() }
    }
  }

  /// The configuration says something else, and so this is what holds: nobody chose it while we played.
  func configured(_ configuration: Configuration, file: Configuration) {
    held.withLock { ($0.noted, $0.file) = (configuration, file) }
  }

  /// Writes what is left.
  ///
  /// - Parameter state: what holds at the end, if that was not noted yet.
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

private struct Held {
  let path: String?
  /// What this run found and chose: all that is left when the file is damaged meanwhile.
  var known: UserState
  var noted: Configuration
  var file: Configuration
  let notice: @Sendable (String) -> Void
  /// Chosen since what was written last: only that is ours to write.
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
      now >= changedLast + StateKeeper.rest || now >= changedFirst + StateKeeper.patience
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
    known.take(choices)
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
      choices.take(later)
      if !hasFailed {
        notice("the remembered choices can't be written: \(failure.text); the file stays as it was")
      }
      hasFailed = true
      changedFirst = changedFirst ?? now
      notBefore = now + StateKeeper.retry
    }
  }
}

/// Some choices on their way to the disk, into what is there: another tactus may have put its own there.
private final class Writing: Sendable {
  let choices: UserState
  private let known: UserState
  private let path: String
  private let keepsPredecessor: Bool
  private let over = Atomic(false)
  private let failure = Mutex<Complaint?>(nil)
  private let thread = Mutex<Thread?>(nil)

  init(_ choices: UserState, besides known: UserState, to path: String, keepsPredecessor: Bool) {
    self.choices = choices
    self.known = known
    self.keepsPredecessor = keepsPredecessor
    self.path = path
    let thread = try? Thread("state") { [self] in run() }
    self.thread.withLock { $0 = thread }
    // Without a thread it is done here.
    if thread == nil { run() }
  }

  var isOver: Bool { over.load(ordering: .acquiring) }

  private func run() {
    do throws(Complaint) {
      try WholeFile.change(path, limit: JSON5.Limits().bytes) { bytes throws(Complaint) in
        var state = try found(bytes)
        state.take(choices)
        return state.text
      }
    } catch {
      failure.withLock { [error] in $0 = error }
    }
    over.store(true, ordering: .releasing)
  }

  /// A file that can't be understood is put aside, and what this run knows is in its place: it was ours to write, and nobody
  /// has time to mend it.
  private func found(_ bytes: [UInt8]?) throws(Complaint) -> UserState {
    guard let bytes else { return UserState() }
    if let state = try? UserState(bytes, from: path) {
      // What an evening did can be taken back. Without room for it there is none.
      if keepsPredecessor, !bytes.isEmpty {
        try? WholeFile.write(String(decoding: bytes, as: UTF8.self), to: StateKeeper.before(path))
      }
      return state
    }
    let aside = StateKeeper.aside(path)
    guard rename(path, aside) == 0 else { throw Complaint(aside, code: errno) }
    return known
  }

  /// Waits for the end; what went wrong, if something did.
  func join() -> Complaint? {
    thread.withLock { $0.take() }?.join()
    return failure.withLock { $0 }
  }
}
