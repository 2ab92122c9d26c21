// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The signals that ask the program to end, taken one at a time by the main thread. [control]
///
/// They are blocked before any other thread exists, so that every thread inherits it and no handler ever
/// runs: there is nothing that a signal could interrupt half-way.
struct EndSignals {
  private static let wakeUp = SIGUSR2
  private var set = sigset_t()

  /// Call first, on the main thread.
  init() {
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP, Self.wakeUp] {
      sigaddset(&set, signal)
      // A shell starts background jobs with SIGINT ignored; an ignored signal would never be delivered.
      _ = Glibc.signal(signal, SIG_DFL)
    }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    // Whoever read our output may leave; the write then says so.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
  }

  /// Whether one came within the time.
  func came(withinMilliseconds milliseconds: Int) -> Bool {
    var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var set = set
    let signal = sigtimedwait(&set, nil, &limit)
    return signal > 0 && signal != Self.wakeUp
  }

  /// There is work: whoever waits stops waiting. [any]
  static func wake() {
    kill(getpid(), wakeUp)
  }

  /// Sleeps until one comes.
  func wait() {
    var set = set
    var signal: Int32 = 0
    while sigwait(&set, &signal) != 0 || signal == Self.wakeUp {}
  }
}
