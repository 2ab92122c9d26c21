// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
internal import Glibc

// What several modules ask of the system, in one place: Link's clock (`HostClock`), the machine's addresses and how they
// are written (`Interface.up`, `Address.init(_:)`), threads (`Thread`), and a wake-up for one that waits (`WakeUp`). It decides nothing.

/// Link's host clock on Linux: `CLOCK_MONOTONIC_RAW` in whole microseconds, truncated (facts: link 10). It is not
/// steered by anybody, starts somewhere, and stands still while the machine sleeps.
package enum HostClock {
  /// [any] Real-time-safe: the kernel serves it without a system call.
  @_noLocks @_noAllocation
  package static func micros() -> Micros {
    Micros(read(CLOCK_MONOTONIC_RAW))
  }

  /// How long this machine has slept since it was started. Grows only in sleep.
  package static func sleptMicros() -> Int64 {
    read(CLOCK_BOOTTIME) &- read(CLOCK_MONOTONIC)
  }

  // clock_gettime is served by the vDSO, in the process: no lock, no allocation, no system call.
  @_semantics("no_performance_analysis")
  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
  }
}
