// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Examines the kernel: real-time limits, locked memory, its clock, and the processor's governor.
enum MachineExamination {
  struct Facts: Equatable {
    /// Whether a thread of ours got a real-time priority in a trial.
    var mayBeRealtime = true
    var priorityLimit: UInt64 = 0
    /// The limit of locked memory in bytes; nil: unlimited.
    var lockedMemory: UInt64?
    var clockSource: String?
    var betterClockSources: [String] = []
    var governor: String?
  }

  static var facts: Facts {
    var facts = Facts()
    var limit = rlimit()
    if getrlimit(Int32(__RLIMIT_RTPRIO.rawValue), &limit) == 0 {
      facts.priorityLimit = UInt64(limit.rlim_cur)
    }
    if getrlimit(Int32(__RLIMIT_MEMLOCK.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max,
      geteuid() != 0
    {
      facts.lockedMemory = UInt64(limit.rlim_cur)
    }
    facts.mayBeRealtime = canBeRealtime()
    let clocks = "/sys/devices/system/clocksource/clocksource0/"
    facts.clockSource = WholeFile.firstLine(clocks + "current_clocksource")
    facts.betterClockSources =
      WholeFile.firstLine(clocks + "available_clocksource")?.split(separator: " ").map(String.init) ?? []
    facts.governor = WholeFile.firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return facts
  }

  /// Tries a real-time priority on this thread for an instant.
  private static func canBeRealtime() -> Bool {
    var before = sched_param()
    var policy: Int32 = 0
    guard pthread_getschedparam(pthread_self(), &policy, &before) == 0 else { return false }
    var wanted = sched_param()
    wanted.sched_priority = 10
    guard pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) == 0 else { return false }
    pthread_setschedparam(pthread_self(), policy, &before)
    return true
  }

  static func judge(_ facts: Facts) -> [Finding] {
    [realtime(facts), memory(facts), clock(facts)] + speed(facts)
  }

  static let limits =
    "Join the group audio (sudo usermod -aG audio $USER), make sure that /etc/security/limits.d gives it "
    + "\"rtprio 95\" and \"memlock unlimited\" (on Debian: sudo dpkg-reconfigure -p high jackd2), and log in again."

  private static func realtime(_ facts: Facts) -> Finding {
    facts.mayBeRealtime
      ? .good(
        "Real time", "granted" + (facts.priorityLimit > 0 ? ", up to priority \(facts.priorityLimit)" : ""))
      : .bad(
        "Real time", "this user is not allowed to use it: every busy program can make the sound stutter",
        mend: limits)
  }

  private static func memory(_ facts: Facts) -> Finding {
    guard let bytes = facts.lockedMemory, bytes < 64 << 20 else {
      return .good("Memory", "audio programs may keep their data in RAM (memlock)")
    }
    return .bad(
      "Memory",
      "only \(bytes >> 10) KiB of sound data may stay in RAM (memlock): when memory is short, the sound waits for the disk",
      mend: limits)
  }

  private static func clock(_ facts: Facts) -> Finding {
    guard let source = facts.clockSource else {
      return .note("Clock", "the kernel does not name its clock source")
    }
    let fine = [
      "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen", "timebase",
      "riscv_clocksource",
    ]
    guard !fine.contains(source) else { return .good("Clock", source) }
    let remedy =
      facts.betterClockSources.contains("tsc")
      ? "As root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
      : "tactus cannot mend that; keep the period at 256 frames or more."
    return .bad("Clock", "\(source) is slow to read, and audio programs read it all the time", mend: remedy)
  }

  private static func speed(_ facts: Facts) -> [Finding] {
    guard let governor = facts.governor, governor == "powersave" || governor == "ondemand" else { return [] }
    return [
      .note(
        "Processor", "its governor is \(governor): while it has slowed down, JACK may miss short periods",
        mend: "On stage: sudo cpupower frequency-set -g performance")
    ]
  }
}
