// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld

/// The table of X. Riley's thesis on Ableton Link (2018), by the rules of Ableton's library and by ours. Each
/// cell has two fractions of the time: in which the peers were within 100 ms of each other, and within 1 ms.
enum FiveNodesTable {
  private static let rows: [(name: String, delay: Micros, law: FiveNodes.Law)] =
    [("none", .zero, .constant)]
    + [48, 500].flatMap { millis in
      FiveNodes.Law.allCases.map { ("\(millis) ms, \($0.rawValue)", Micros(millis * 1000), $0) }
    }

  static func run(_ arguments: Arguments) -> Bool {
    let sides = [(name: "reference", isReference: true), (name: "far wires", isReference: false)]
    let columns = FiveNodes.Topology.allCases.flatMap { topology in sides.map { (topology, $0) } }
    print("| delay | " + columns.map { "\($0.rawValue), \($1.name)" }.joined(separator: " | ") + " |")
    print("| --- |" + String(repeating: " ---: |", count: columns.count))
    for row in rows {
      let cells = columns.map { topology, side in
        cell(FiveNodes(topology, row.delay, row.law), side.isReference, arguments)
      }
      print("| \(row.name) | " + cells.joined(separator: " | ") + " |")
    }
    return true
  }

  private static func cell(_ nodes: FiveNodes, _ isReference: Bool, _ arguments: Arguments) -> String {
    var (hundred, one) = (0.0, 0.0)
    for run in 0..<arguments.runs {
      let shares = nodes.run(seed: arguments.seed &+ UInt64(run), byReference: isReference)
      (hundred, one) = (hundred + shares.hundred, one + shares.one)
    }
    let runs = Double(arguments.runs)
    return "\((100 * hundred / runs).rounded(toPlaces: 1)) / \((100 * one / runs).rounded(toPlaces: 1))"
  }
}
