// SPDX-License-Identifier: GPL-2.0-or-later
package import Glibc
package import LinkBeatMath

// System calls of several modules, in one place: Link's clock (`HostClock`), the machine's addresses and
// their text (`Interface.up`, `Address.init(_:)`), threads (`Thread`), and a wake-up for a waiting thread
// (`WakeUp`). This module decides nothing.

/// Link's host clock on Linux: `CLOCK_MONOTONIC_RAW` in whole microseconds, truncated (facts: link 10). No
/// time service adjusts it, its start is arbitrary, and it stands still while the machine sleeps.
package enum HostClock {
  /// The present host time. Real-time-safe: the kernel gives it without a system call. [any]
  @_noLocks @_noAllocation
  package static func micros() -> Micros {
    Micros(read(CLOCK_MONOTONIC_RAW))
  }

  /// The microseconds that this machine has slept since its start. This number grows only in sleep.
  package static func sleptMicros() -> Int64 {
    read(CLOCK_BOOTTIME) &- read(CLOCK_MONOTONIC)
  }

  /// The time since a datagram's arrival, which the kernel noted by the wall clock. The result is zero if the
  /// kernel gave no time, or if the wall clock was set since then.
  package static func since(_ moment: timespec?) -> Micros {
    guard let moment, let seconds = Int64(exactly: moment.tv_sec), (0..<1 << 40).contains(seconds) else {
      return .zero
    }
    let age = read(CLOCK_REALTIME) &- (seconds &* 1_000_000 &+ Int64(moment.tv_nsec) / 1000)
    return (0..<longestWait).contains(age) ? Micros(age) : .zero
  }

  /// The longest time, in microseconds, for which a datagram can plausibly have waited.
  private static var longestWait: Int64 { 1_000_000 }

  // clock_gettime is served by the vDSO, in the process: no lock, no allocation, no system call.
  @_semantics("no_performance_analysis")
  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
  }
}
