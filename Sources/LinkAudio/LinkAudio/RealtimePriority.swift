// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkBeatMath

/// The scheduling class of the calling thread.
///
/// At normal priority, incoming audio can wait for milliseconds while busy programs use the processor. So the
/// thread takes the lowest real-time priority, 1, if the system permits it; the threads of JACK and PipeWire
/// have 5 or more. But a real-time thread takes the processor from all other programs, and any peer can keep
/// it busy with a flood of datagrams. So its real time has a limit (`UrgencyBudget`).
struct RealtimePriority {
  private(set) var state = LinkAudio.Scheduling.ordinary
  private var budget: UrgencyBudget
  private var isGranted = false

  private static let priority: Int32 = 1
  /// The flag SCHED_RESET_ON_FORK, which Swift's module of glibc lacks.
  private static let resetOnFork: Int32 = 0x4000_0000

  init(at now: Micros) {
    budget = UrgencyBudget(used: Self.used, at: now)
    // If the program runs in another scheduling class, a user chose that class on purpose.
    isGranted = Self.policy == SCHED_OTHER && Self.setPolicy(SCHED_RR, Self.priority)
    if isGranted { state = .realTime }
  }

  /// Checks the budget. Call this function after each turn of the thread.
  mutating func poll(at now: Micros) {
    guard isGranted else { return }
    budget.note(used: Self.used, at: now)
    switch (state, budget.isSpent) {
    case (.realTime, true):
      if Self.setPolicy(SCHED_OTHER, 0) { state = .slowed }
    case (.slowed, false):
      isGranted = Self.setPolicy(SCHED_RR, Self.priority)
      state = isGranted ? .realTime : .ordinary
    case (.realTime, false), (.slowed, true), (.ordinary, _): break
    }
  }

  private static var policy: Int32 { sched_getscheduler(0) & ~Self.resetOnFork }

  /// Sets the class and priority of this thread only. Threads that it starts do not inherit them.
  private static func setPolicy(_ policy: Int32, _ priority: Int32) -> Bool {
    var wanted = sched_param()
    wanted.sched_priority = priority
    return sched_setscheduler(0, policy | Self.resetOnFork, &wanted) == 0
  }

  /// The processor time that this thread has used.
  private static var used: Micros {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Micros(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

/// A limit on real time. A thread that uses the processor for more than half of 100 ms runs at normal
/// priority for at least a second, and then until it uses the processor for at most a quarter of the time.
struct UrgencyBudget {
  private(set) var isSpent = false
  private var spent: Micros
  private var began: Micros
  private var before: Micros

  static let window = Micros(100_000)
  static let penance = Micros(1_000_000)

  init(used: Micros, at now: Micros) {
    (spent, began, before) = (now, now, used)
  }

  mutating func note(used: Micros, at now: Micros) {
    let (elapsed, share) = ((now - began).count, (used - before).count)
    if share * 2 >= max(elapsed, Self.window.count) {
      (isSpent, spent) = (true, now)
    } else if elapsed < Self.window.count {
      return
    } else if isSpent, now - spent >= Self.penance, share * 4 <= elapsed {
      isSpent = false
    }
    (began, before) = (now, used)
  }
}
