// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld
import TactusStudioDay

/// Runs a studio's simulated day and prints its results: what was played, which faults were excused, and
/// which promises (`Promise`) were kept.
enum StudioDayReport {
  static func run(_ arguments: Arguments) -> Bool {
    let peers = arguments.peers ?? 6...6
    guard peers.lowerBound == peers.upperBound else {
      Console.complain("LinkSimulator: a day has one number of peers")
      return false
    }
    let plan = arguments.dayPlan
    let hours = Double(plan.length.count) / 3_600e6
    print(
      "seed \(plan.seed): \(hours.rounded(toPlaces: 2)) hours, \(plan.peers) peers, "
        + "\(plan.sampleRate) Hz, \(plan.frames) frames")
    let start = Console.processorSeconds()
    let outcome = World.watching { Day(plan).run(progress: $0) }
    tell(outcome, processorSeconds: Console.processorSeconds() - start)
    return outcome.isKept
  }

  private static func tell(_ outcome: Day.Outcome, processorSeconds: Double) {
    let network = outcome.network
    let simulated = Double(network.simulated.count) / 1e6
    print(
      "\(outcome.acts) times trouble and peace, \((simulated / 3600).rounded(toPlaces: 2)) h; "
        + "together \(spread(network.convergences)) after peace began")
    print("phase between peers in peace: \(Describe.phase(network.phaseErrors))")
    print(
      "\(outcome.cycles) cycles of audio, \(outcome.lostCycles) lost, \(outcome.stalls) stalls of the driver, "
        + "\(outcome.starts) starts")
    print(
      "\(outcome.exports.count) freewheels of \(outcome.exports.hours.rounded(toPlaces: 2)) h of audio, "
        + "\(outcome.exports.clicks) clicks exported; the server died \(outcome.deaths.count) times, "
        + "\(outcome.deaths.inLaunches) of them while a start waited")
    if outcome.countedHours > 0 {
      print("rolled without a stop: \(outcome.countedHours.rounded(toPlaces: 2)) h")
    }
    print("clicks: \(text(outcome.clicks))")
    print("clocks: \(text(outcome.clocks))")
    print(
      "cost: \(processorSeconds.rounded(toPlaces: 0)) s of processor, "
        + "\((simulated / processorSeconds).rounded(toPlaces: 0)) times as fast as the clock; "
        + "\(network.datagramsSent) datagrams")
    print(Describe.invariants(network.violations))
    for promise in Promise.allCases {
      let isBroken = outcome.broken.contains { $0.promise == promise }
      print((isBroken ? "BROKEN  " : "kept    ") + promise.rawValue)
    }
    for broken in outcome.broken { print("        \(broken)") }
  }

  private static func spread(_ samples: Samples) -> String {
    guard let median = samples.median, let worst = samples.maximum else { return "never" }
    return "\(median.rounded(toPlaces: 2)) s (median) to \(worst.rounded(toPlaces: 2)) s"
  }

  private static func text(_ heard: Day.Heard) -> String {
    "\(heard.count), median \(heard.median) µs, p99 \(heard.p99) µs, max \(heard.maximum.rounded(toPlaces: 0)) µs "
      + "from their places; excused: \(heard.afterJumps) in the beat after \(heard.jumps) jumps, \(heard.late) late "
      + "after a correction or a stall, \(heard.lost) in lost cycles"
  }
}
