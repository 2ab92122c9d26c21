// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSystem
import Synchronization
import TactusJACK

/// The thread that takes the signals that ask the program to end. After the first signal, the main thread
/// ends the program in its own time. After a second signal, or if the main thread takes too long, this thread
/// ends the program at once, and does only what is possible without JACK.
///
/// A JACK server that is stopped, or that waits for another client, answers no client, and libjack then waits
/// for ever in a call that can't be interrupted. This thread also notices that the main thread hangs in such
/// a call.
enum LastResort {
  /// A second signal within this many milliseconds only repeats the first. Two programs cause such pairs:
  /// timeout(1) signals a program and then its process group, and a shell and its terminal both send
  /// SIGHUP.
  private static let oneQuestion: Int64 = 200
  /// Three limits, in milliseconds after the first signal. `secondSignalMillis` holds if the signal was
  /// repeated at once. `unnoticedMillis` holds if the main thread has not noticed the signal, because it
  /// waits for a JACK server that may only be busy. `timeoutMillis` holds in every case.
  private static let secondSignalMillis: Int64 = 2000
  private static let unnoticedMillis: Int64 = 4000
  private static let timeoutMillis: Int64 = 10_000
  /// Seconds for this thread's last steps; then SIGALRM ends the program.
  private static let mercy: UInt32 = 2

  /// The interval at which this thread checks whether the main thread hangs.
  private static let lookNanoseconds = 500_000_000

  private static let asked = Atomic(false)
  private static let isHeard = Atomic(false)
  private static let silence = Mutex<(@Sendable (Bool) -> Void)?>(nil)
  private static let farewell = Mutex<(@Sendable () -> Void)?>(nil)

  /// Whether the program was asked to end; notes that the main thread has noticed this. [control]
  static var isEndAsked: Bool {
    let isAsked = asked.load(ordering: .acquiring)
    if isAsked { isHeard.store(true, ordering: .relaxed) }
    return isAsked
  }

  /// Sets the function to call when the main thread waits for JACK in vain (true), and when JACK has answered
  /// (false). [control]
  static func prepare(silence: @escaping @Sendable (Bool) -> Void) {
    Self.silence.withLock { $0 = silence }
  }

  /// Sets the function to call at the end, before anything that may hang. The first thread that ends the
  /// program calls it, once. [control]
  static func prepare(_ farewell: @escaping @Sendable () -> Void) {
    Self.farewell.withLock { $0 = farewell }
  }

  /// Calls the function for the end if it was not called yet. [any]
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
    var limit = first + timeoutMillis
    while now < limit, isHeard.load(ordering: .relaxed) || now < first + unnoticedMillis {
      let rest = min(limit - now, 100)
      var wait = timespec(tv_sec: 0, tv_nsec: Int(rest) * 1_000_000)
      guard sigtimedwait(&ends, nil, &wait) > 0 else { continue }
      limit = now - first < oneQuestion ? first + secondSignalMillis : now
    }
    alarm(mercy)
    takeLeave()
    Console.complain(
      Question.isUnanswered
        ? "ended without waiting for JACK, which does not answer"
        : Question.isOpen ? "ended without waiting for JACK" : "ended by force: it did not finish in time")
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

  /// Milliseconds of a clock that no user can set.
  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Starts the thread. If that fails, the program exits: without this thread nothing could end it.
  static func watch(_ ends: sigset_t) {
    guard let thread = try? Thread("end", { serve(ends) }) else {
      Console.complain("can't start: the system allows no more threads")
      exit(Tactus.Status.failure.rawValue)
    }
    thread.detach()
  }
}
