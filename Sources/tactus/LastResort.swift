// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JACKHost
import Linux
import Synchronization

/// The thread that hears of the end. Once asked, the main thread ends the program in its own time; asked again, or when
/// that takes too long, it is ended here and at once, with what an end needs nothing of JACK for.
///
/// A JACK server that is stopped, or waits for another client, answers nobody, and libjack then waits for ever:
/// nothing that hangs so can be interrupted, only left. That the main thread hangs is seen here, too.
enum LastResort {
  /// What comes so soon is the same question: timeout(1) asks a program and then its group, a shell and its terminal
  /// both hang up.
  private static let oneQuestion: Int64 = 200
  /// For an end that was asked for by two at one moment; that the main thread does not even hear of, which asks a JACK that
  /// may only be busy; and for any.
  private static let patienceWithTwo: Int64 = 2000
  private static let patienceUnheard: Int64 = 4000
  private static let patienceMillis: Int64 = 10_000
  /// For what is done here; then SIGALRM ends it.
  private static let mercy: UInt32 = 2

  /// Between two looks at the main thread.
  private static let lookNanoseconds = 500_000_000

  private static let asked = Atomic(false)
  private static let isHeard = Atomic(false)
  private static let silence = Mutex<(@Sendable (Bool) -> Void)?>(nil)
  private static let farewell = Mutex<(@Sendable () -> Void)?>(nil)

  /// [control]
  static var isEndAsked: Bool {
    let isAsked = asked.load(ordering: .acquiring)
    if isAsked { isHeard.store(true, ordering: .relaxed) }
    return isAsked
  }

  /// What is to be done when the main thread waits for JACK in vain (true), and when it has its answer. [control]
  static func prepare(silence: @escaping @Sendable (Bool) -> Void) {
    Self.silence.withLock { $0 = silence }
  }

  /// What is to be done at the end before anything that may hang: once, by the thread that comes first. [control]
  static func prepare(_ farewell: @escaping @Sendable () -> Void) {
    Self.farewell.withLock { $0 = farewell }
  }

  /// [any]
  static func takeLeave() {
    let last = farewell.withLock { farewell in
      defer { farewell = nil }
      return farewell
    }
    last?()
  }

  private static func serve(_ ends: sigset_t) {
    var ends = ends
    awaitQuestion(&ends)
    asked.store(true, ordering: .releasing)
    Signals.wake()
    let first = now
    var limit = first + patienceMillis
    while now < limit, isHeard.load(ordering: .relaxed) || now < first + patienceUnheard {
      let rest = min(limit - now, 100)
      var wait = timespec(tv_sec: 0, tv_nsec: Int(rest) * 1_000_000)
      guard sigtimedwait(&ends, nil, &wait) > 0 else { continue }
      limit = now - first < oneQuestion ? first + patienceWithTwo : now
    }
    alarm(mercy)
    takeLeave()
    Console.complain(
      Question.isUnanswered
        ? "ended without waiting for JACK, which does not answer"
        : Question.isOpen ? "ended without waiting for JACK" : "ended in the middle of its work")
    _exit(Tactus.Status.failure.rawValue)
  }

  private static func awaitQuestion(_ ends: inout sigset_t) {
    var isSilent = false
    var wait = timespec(tv_sec: 0, tv_nsec: lookNanoseconds)
    while sigtimedwait(&ends, nil, &wait) <= 0 {
      guard Question.isUnanswered != isSilent else { continue }
      isSilent.toggle()
      silence.withLock { $0 }?(isSilent)
    }
  }

  /// Milliseconds of a clock that nobody sets.
  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// From now on. Without a thread nobody could end the program, so it does not begin.
  static func watch(_ ends: sigset_t) {
    guard let thread = try? Thread("end", { serve(ends) }) else {
      Console.complain("can't start: there are no more threads to be had")
      exit(Tactus.Status.failure.rawValue)
    }
    thread.detach()
  }
}
