// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkWorld

/// Simulates many worlds on several processors. Each world follows from its own seed.
enum Campaign {
  private struct Multiset: Sendable {
    var convergences = Samples()
    var medians = Samples()
    var p99s = Samples()
    var maxima = Samples()
    var rates = Samples()
    var curves = Curves()
    var broken: [(seed: UInt64, violations: [Violation])] = []
    var datagrams = 0
    var simulated = 0.0
    var peers = 0
    var processorSeconds = 0.0
    var done = 0
  }

  static func run(_ arguments: Arguments) async -> Bool {
    if arguments.isSeedGiven { return World.tell(arguments.drawn(arguments.seed), arguments) }
    let start = Console.seconds()
    var shown = start
    var tally = Multiset()
    var next = 0
    await withTaskGroup(of: (Simulation.Outcome, Double).self) { group in
      func add() {
        guard next < arguments.runs else { return }
        let scenario = arguments.drawn(arguments.seed &+ UInt64(next))
        next += 1
        group.addTask {
          let start = Console.processorSeconds()
          var simulation = Simulation(scenario)
          let outcome = simulation.run()
          return (outcome, Console.processorSeconds() - start)
        }
      }
      for _ in 0..<arguments.jobs { add() }
      while let (outcome, spent) = await group.next() {
        note(outcome, spent, in: &tally, arguments)
        if Console.seconds() - shown > 10 {
          shown = Console.seconds()
          Console.complain(
            "\(tally.done) of \(arguments.runs) worlds, \(tally.broken.count) broken, "
              + "\((shown - start).rounded(toPlaces: 0)) s")
        }
        add()
      }
    }
    report(tally, arguments, seconds: Console.seconds() - start)
    if let file = arguments.svg, !tally.curves.write(to: file) {
      Console.complain("LinkSimulator: cannot write \(file)")
      return false
    }
    return tally.broken.isEmpty
  }

  private static func note(
    _ outcome: Simulation.Outcome, _ spent: Double, in tally: inout Multiset, _ arguments: Arguments
  ) {
    tally.done += 1
    tally.processorSeconds += spent
    tally.datagrams += outcome.datagramsSent
    tally.simulated += Double(outcome.simulated.count) / 1e6
    tally.peers += outcome.scenario.peers
    tally.rates.add(outcome.calmRate)
    tally.curves.add(outcome)
    if let convergence = outcome.convergence { tally.convergences.add(Double(convergence.count) / 1e6) }
    if let median = outcome.phaseErrors.median { tally.medians.add(median) }
    if let p99 = outcome.phaseErrors.quantile(0.99) { tally.p99s.add(p99) }
    if let maximum = outcome.phaseErrors.maximum { tally.maxima.add(maximum) }
    guard !outcome.isKept else { return }
    let seed = outcome.scenario.seed
    tally.broken.append((seed, outcome.violations))
    print("BROKEN: \(arguments.replay(seed))\n  \(outcome.scenario)")
    for violation in outcome.violations { print("  \(violation)") }
  }

  private static func report(_ tally: Multiset, _ arguments: Arguments, seconds: Double) {
    let last = arguments.seed &+ UInt64(arguments.runs - 1)
    print(
      "\(tally.done) worlds, seeds \(arguments.seed) to \(last), "
        + "\((Double(tally.peers) / Double(max(1, tally.done))).rounded(toPlaces: 1)) peers on average, "
        + "\(tally.simulated.rounded(toPlaces: 0)) s simulated")
    print("convergence after peace: \(spread(tally.convergences) { $0.rounded(toPlaces: 2) + " s" })")
    print("phase error, median of each world: \(spread(tally.medians, Describe.micros))")
    print("phase error, p99 of each world:    \(spread(tally.p99s, Describe.micros))")
    print("phase error, maximum of each world: \(spread(tally.maxima, Describe.micros))")
    for (name, errors) in tally.curves.kinds where tally.curves.kinds.count > 1 {
      print("  \(name): \(errors.count) worlds, \(spread(errors, Describe.micros))")
    }
    print("datagrams per peer and second: \(spread(tally.rates) { $0.rounded(toPlaces: 1) })")
    print(
      "cost: \(tally.processorSeconds.rounded(toPlaces: 0)) s of processor in \(seconds.rounded(toPlaces: 0)) s, "
        + "\(tally.datagrams) datagrams, "
        + "\((tally.processorSeconds / Double(max(1, tally.datagrams)) * 1e6).rounded(toPlaces: 2)) µs each")
    let violations = tally.broken.flatMap(\.violations)
    print(
      Describe.invariants([]).split(separator: "\n").map(String.init).enumerated().map { place, line in
        let count = Set(
          tally.broken.filter { $0.violations.contains { $0.invariant == Invariant.allCases[place] } }.map(
            \.seed)
        ).count
        return count == 0 ? line : "BROKEN in \(count): \(Invariant.allCases[place].rawValue)"
      }.joined(separator: "\n"))
    if violations.isEmpty { print("every invariant kept in every world") }
  }

  private static func spread(_ samples: Samples, _ text: (Double) -> String) -> String {
    guard let median = samples.median, let p99 = samples.quantile(0.99), let maximum = samples.maximum else {
      return "none"
    }
    return "median \(text(median)), p99 \(text(p99)), max \(text(maximum))"
  }
}
