// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc

/// How Link Audio's thread has its turns on the processor.
public enum AudioUrgency: Hashable, Sendable {
  /// Before all that is not real time, after JACK's and PipeWire's own threads.
  case realTime
  /// As everybody: the system grants no more, or the program was started with a class of its own.
  case ordinary
  /// As everybody for a while: more came than a thread with such a right may take.
  case slowed
}

/// The calling thread's place in the queue for the processor.
///
/// What comes in while a compiler has every processor waits for milliseconds if its thread waits in the same queue. So it takes the least of
/// all real-time priorities, where there is one to be had: those of JACK and PipeWire have five and more. A thread with such a
/// right takes the processor from everybody, though, and strangers may send it whatever the wire carries: it has a budget.
struct Urgency {
  private(set) var state = AudioUrgency.ordinary
  private var budget: UrgencyBudget
  private var isGranted = false

  private static let priority: Int32 = 1
  /// SCHED_RESET_ON_FORK, which glibc shows to C alone.
  private static let resetOnFork: Int32 = 0x4000_0000

  init(at now: Micros) {
    budget = UrgencyBudget(used: Self.used, at: now)
    // Who was started in another class was put there by somebody.
    isGranted = Self.policy == SCHED_OTHER && Self.take(SCHED_RR, Self.priority)
    if isGranted { state = .realTime }
  }

  /// After each turn.
  mutating func look(at now: Micros) {
    guard isGranted else { return }
    budget.note(used: Self.used, at: now)
    switch (state, budget.isSpent) {
    case (.realTime, true):
      if Self.take(SCHED_OTHER, 0) { state = .slowed }
    case (.slowed, false):
      isGranted = Self.take(SCHED_RR, Self.priority)
      state = isGranted ? .realTime : .ordinary
    case (.realTime, false), (.slowed, true), (.ordinary, _): break
    }
  }

  private static var policy: Int32 { sched_getscheduler(0) & ~Self.resetOnFork }

  /// For this thread; whatever it starts has none of it.
  private static func take(_ policy: Int32, _ priority: Int32) -> Bool {
    var wanted = sched_param()
    wanted.sched_priority = priority
    return sched_setscheduler(0, policy | Self.resetOnFork, &wanted) == 0
  }

  /// The processor's time that this thread has had.
  private static var used: Micros {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Micros(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

/// Who uses half of a tenth of a second has no right for at least a second, and until it needs a quarter at most.
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
