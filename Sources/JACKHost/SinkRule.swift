// SPDX-License-Identifier: GPL-2.0-or-later
import Choices

/// The sinks whose latency counts for what other programs play, and why these.
public struct SinkChoice: Hashable, Sendable {
  public enum Reason: Hashable, Sendable {
    /// The user has named them.
    case named
    /// This click, without its client's name, is heard there.
    case click(String)
    /// JACK programs play there, and no click is heard anywhere.
    case programs
    /// The sinks counted when the transport began to move, and a program still plays there.
    case kept
    /// No JACK program plays anywhere: all of them.
    case nobody
  }

  public var reason: Reason
  /// Full names of inputs.
  public var ports: [String]
  /// The user has named sinks, and none of them is there.
  public var isNameMissing = false

  static let none = SinkChoice(reason: .nobody, ports: [])

  /// Each client that has one of the ports.
  public var clients: [String] {
    var found: [String] = []
    for port in ports where !found.contains(clientName(ofPort: port)) {
      found.append(clientName(ofPort: port))
    }
    return found
  }
}

/// A server's audio ports and connections, as far as the rule asks for them; full names.
protocol SinkGraph {
  /// Every input.
  var inputs: [String] { get }
  /// Physical inputs, in the server's order.
  var sinks: [String] { get }
  func outputs(of client: String) -> [String]
  func inputs(behind output: String) -> [String]
  func outputs(before input: String) -> [String]
  /// Whether the client passes nothing on that comes in here.
  func isTerminal(input: String) -> Bool
  /// A program of the desktop plays here, and not a JACK program.
  func isDesktop(output: String) -> Bool
}

/// Which sinks count. JACK does not tell which clients take part in the transport, so this goes by where our own click is heard: that
/// is where the musician listens to other programs, too.
enum SinkRule {
  /// A route through more clients, or through more outputs side by side, is not followed.
  static let mostClients = 64, mostOutputs = 1_024

  /// - Parameters:
  ///   - clicks: our clicks' ports, the one that counts most first.
  ///   - before: what this said last; it stays while the transport moves, as long as a program plays there.
  static func choose(
    in graph: some SinkGraph, for name: SinkName, clicks: [String], before: SinkChoice = .none,
    isMoving: Bool = false
  ) -> SinkChoice {
    let named = name.isEmpty ? [] : name.matching(graph.inputs)
    guard named.isEmpty else { return SinkChoice(reason: .named, ports: named) }
    var choice = fresh(in: graph, clicks)
    if isMoving, before.reason != .named, before.reason != .nobody {
      let kept = before.ports.filter { graph.isPlayed(to: $0) }
      if !kept.isEmpty, Set(kept) != Set(choice.ports) { choice = SinkChoice(reason: .kept, ports: kept) }
    }
    choice.isNameMissing = !name.isEmpty
    return choice
  }

  private static func fresh(in graph: some SinkGraph, _ clicks: [String]) -> SinkChoice {
    for click in clicks {
      let reached = nearest(to: click, in: graph)
      if !reached.isEmpty {
        let port = click.dropFirst(clientName(ofPort: click).count + 1)
        return SinkChoice(reason: .click(String(port)), ports: reached)
      }
    }
    let played = graph.sinks.filter(graph.isPlayed)
    return played.isEmpty
      ? SinkChoice(reason: .nobody, ports: graph.sinks) : SinkChoice(reason: .programs, ports: played)
  }

  /// The sinks that an output reaches through as few other clients as possible: what is connected farther on, by any of them, moves nothing.
  private static func nearest(to output: String, in graph: some SinkGraph) -> [String] {
    var outputs = [output]
    var seen: Set = [clientName(ofPort: output)]
    while !outputs.isEmpty {
      let inputs = Set(outputs.prefix(mostOutputs).flatMap(graph.inputs(behind:)))
      let reached = graph.sinks.filter(inputs.contains)
      guard reached.isEmpty else { return reached }
      let next = Set(inputs.filter { !graph.isTerminal(input: $0) }.map(clientName)).subtracting(seen)
      guard seen.count + next.count <= mostClients else { return [] }
      seen.formUnion(next)
      outputs = next.sorted().flatMap(graph.outputs(of:))
    }
    return []
  }
}

extension SinkGraph {
  fileprivate func isPlayed(to sink: String) -> Bool {
    outputs(before: sink).contains { !isDesktop(output: $0) }
  }
}

extension SinkName {
  fileprivate func matching(_ ports: [String]) -> [String] {
    let name = NamePattern(String(decoding: (0..<count).map { self[$0] }, as: UTF8.self))
    return ports.filter { name.matches($0) || name.matches(clientName(ofPort: $0)) }
  }
}

/// JACK names a port `CLIENT:PORT`.
func clientName(ofPort port: String) -> String { String(port.prefix { $0 != ":" }) }
