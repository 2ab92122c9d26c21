// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkWorld

/// Simulates one world and prints its details, or simulates it again and again with more peers each time.
enum World {
  static func run(_ arguments: Arguments) -> Bool {
    let peers = arguments.peers ?? 4...4
    guard peers.lowerBound == peers.upperBound else {
      Console.complain("LinkSimulator: one world has one number of peers; --runs N plays many")
      return false
    }
    return tell(arguments.scenario(peers: peers.lowerBound), arguments)
  }

  static func tell(_ scenario: Scenario, _ arguments: Arguments) -> Bool {
    print("seed \(scenario.seed): \(scenario)")
    let start = Console.processorSeconds()
    let outcome = play(scenario, keepsTrace: arguments.svg != nil)
    let spent = Console.processorSeconds() - start
    report(outcome, processorSeconds: spent)
    if let file = arguments.svg, !Chart(outcome).write(to: file) {
      Console.complain("LinkSimulator: cannot write \(file)")
      return false
    }
    return outcome.isKept
  }

  static func play(_ scenario: Scenario, keepsTrace: Bool) -> Simulation.Outcome {
    var simulation = Simulation(scenario)
    return watching { simulation.run(keepsTrace: keepsTrace, progress: $0) }
  }

  /// Runs a long computation and shows its progress.
  static func watching<Outcome>(_ body: ((Micros, String) -> Void) -> Outcome) -> Outcome {
    var shown = Console.seconds()
    let isTerminal = isatty(STDERR_FILENO) == 1
    let outcome = body { time, what in
      let now = Console.seconds()
      guard now - shown > (isTerminal ? 0.2 : 20) else { return }
      shown = now
      if isTerminal {
        Console.progress("\(time.seconds) s: \(what)")
      } else {
        Console.complain("\(time.seconds) s: \(what)")
      }
    }
    if isTerminal { Console.endProgress() }
    return outcome
  }

  private static func report(_ outcome: Simulation.Outcome, processorSeconds: Double) {
    if let convergence = outcome.convergence {
      print("one session, one timeline, everybody counted: \(convergence.seconds) s after peace began")
    }
    print("phase error: \(Describe.phase(outcome.phaseErrors))")
    let peers = Double(outcome.scenario.peers)
    let simulated = Double(outcome.simulated.count) / 1e6
    print(
      "datagrams: \(outcome.datagramsSent) sent, \(outcome.datagramsDelivered) delivered, "
        + "\(outcome.calmRate.rounded(toPlaces: 1)) sent per peer and second in peace; "
        + "\(outcome.measurements) measurements")
    print(
      "cost: \(processorSeconds.rounded(toPlaces: 2)) s of processor for \(simulated.rounded(toPlaces: 1)) s, "
        + "\((processorSeconds / peers / simulated * 1e6).rounded(toPlaces: 1)) µs per peer and second, network included"
    )
    print(Describe.invariants(outcome.violations))
    if !outcome.isKept { print(outcome.portrait.joined(separator: "\n")) }
  }

  static func growth(_ arguments: Arguments) -> Bool {
    print(
      "| peers | converged after | datagrams per peer and second | processor per peer and second | phase error median / p99 / max |"
    )
    print("| ---: | ---: | ---: | ---: | ---: |")
    var isKept = true
    for count in [2, 4, 8, 16, 32, 64, 125, 250, 500, 1000] {
      let start = Console.processorSeconds()
      let outcome = play(arguments.scenario(peers: count), keepsTrace: false)
      let spent = Console.processorSeconds() - start
      let seconds = Double(outcome.simulated.count) / 1e6
      print(
        "| \(count) | \(outcome.convergence.map { $0.seconds + " s" } ?? "never") "
          + "| \(outcome.calmRate.rounded(toPlaces: 1)) "
          + "| \((spent / Double(count) / seconds * 1e6).rounded(toPlaces: 0)) µs "
          + "| \(Describe.phase(outcome.phaseErrors)) |")
      for violation in outcome.violations { print(violation) }
      isKept = isKept && outcome.isKept
    }
    return isKept
  }
}

enum Describe {
  static func phase(_ errors: Samples) -> String {
    guard let median = errors.median, let p99 = errors.quantile(0.99), let worst = errors.maximum else {
      return "nobody to compare with"
    }
    return "median \(micros(median)), p99 \(micros(p99)), max \(micros(worst))"
  }

  static func micros(_ value: Double) -> String {
    value < 1000 ? value.rounded(toPlaces: 1) + " µs" : (value / 1000).rounded(toPlaces: 2) + " ms"
  }

  static func invariants(_ violations: [Violation]) -> String {
    let broken = Set(violations.map(\.invariant))
    var lines = Invariant.allCases.map { (broken.contains($0) ? "BROKEN  " : "kept    ") + $0.rawValue }
    lines += violations.map { "        \($0)" }
    return lines.joined(separator: "\n")
  }
}
