// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Whether JACK still answers, judged by what is seen: audio cycles, and our own looks at them.
///
/// A server that was stopped says nothing, and whoever asks it for something waits as long as it is silent. So nothing is
/// asked of one that has not just had a cycle. And when it is we who were stopped (a debugger, a freezer), jackd has given
/// us up or waits for us: then we leave it and come back.
struct Watchdog {
  enum Finding: Equatable {
    case nothing
    /// JACK does not answer.
    case silence
    /// It does again.
    case answer
    /// The whole process stood still for so long.
    case standstill(Micros)
  }

  /// The longest cycle, 8192 frames at 22050 Hz, is 372 ms.
  static let longestSilence = Micros(1_500_000)
  /// Without a cycle for so long, and three cycles more, nothing is asked.
  static let hesitation = Micros(50_000)
  /// jackd waits half a second for a client.
  static let longestGap = Micros(600_000)

  private var cycles: UInt?
  private var lastCycle = Micros.zero
  private var lastLook = Micros.zero
  private var lastWait = Micros.zero
  private(set) var isSilent = false
  /// It has just had a cycle: what is asked now is answered.
  private(set) var isPrompt = false

  /// One look, every 20 ms or so. `cycle`: a cycle's microseconds, 0 if unknown. `waited`: how long in all JACK was waited
  /// for, which is no standstill of ours.
  mutating func look(cycles now: UInt, of cycle: Double, at time: Micros, waited: Micros) -> Finding {
    let gap = time - lastLook
    let lost = gap - (waited - lastWait)
    let passed = cycles.map { now &- $0 }
    cycles = now
    lastLook = time
    lastWait = waited
    guard let passed else {
      lastCycle = time
      return .nothing
    }
    if gap > Self.longestGap {
      lastCycle = time
      // If the audio thread went on meanwhile, only this thread was busy.
      if lost > Self.longestGap, Double(passed) * cycle < Double(lost.count) / 2 { return .standstill(lost) }
    }
    if passed > 0 { lastCycle = time }
    let silence = time - lastCycle
    isPrompt = silence <= Self.hesitation + Micros(rounding: 3 * min(cycle, 400_000))
    let wasSilent = isSilent
    isSilent = silence >= Self.longestSilence
    return isSilent == wasSilent ? .nothing : isSilent ? .silence : .answer
  }
}
