// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

/// The sinks (input ports, mostly of a sound card) at which other programs are heard, and the reason for this
/// choice. Other programs' sound counts as heard with the latencies of these sinks.
public struct SinkChoice: Hashable, Sendable {
  public enum Reason: Hashable, Sendable {
    /// The user has named these sinks.
    case named
    /// This click of ours is heard at these sinks. The text is the click port's name without the client's
    /// name.
    case click(String)
    /// JACK programs play to these sinks, and no click of ours reaches any sink.
    case programs
    /// These sinks were chosen when the transport began to move, and a program still plays to them.
    case kept
    /// No JACK program plays to any sink, so all sinks are chosen.
    case nobody
  }

  public var reason: Reason
  /// The full names of the sinks, which are input ports.
  public var ports: [String]
  /// Whether the user has named sinks of which none exists.
  public var isNameMissing = false

  static let none = SinkChoice(reason: .nobody, ports: [])

  /// The clients that have these ports.
  public var clients: [String] {
    var found: [String] = []
    for port in ports where !found.contains(clientName(ofPort: port)) {
      found.append(clientName(ofPort: port))
    }
    return found
  }
}

/// A server's audio ports and connections, as far as `SinkRule` needs them. All port names are full names.
protocol SinkGraph {
  /// Every audio input port.
  var inputs: [String] { get }
  /// The physical audio input ports, in the server's order.
  var sinks: [String] { get }
  func outputs(of client: String) -> [String]
  func inputs(behind output: String) -> [String]
  func outputs(before input: String) -> [String]
  /// Whether the input's client is a terminal: it passes on no signal that arrives at this input.
  func isTerminal(input: String) -> Bool
  /// Whether this output belongs to a desktop program and not to a JACK program.
  func isDesktop(output: String) -> Bool
}

/// Decides at which sinks other programs are heard. JACK does not tell which clients follow the transport, so
/// the rule takes the sinks at which our own click is heard: the musician listens to other programs there,
/// too.
enum SinkRule {
  /// The limits of the search: a route through more clients, or through more outputs at a time, is not
  /// followed.
  static let mostClients = 64, mostOutputs = 1_024

  /// - Parameters:
  ///   - clicks: our clicks' ports, the most important first.
  ///   - before: the last choice, which is kept while the transport moves and a program plays to its sinks.
  static func choose(
    in graph: some SinkGraph, for name: ChosenName, clicks: [String], before: SinkChoice = .none,
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

  /// The sinks that an output reaches through the fewest other clients. The connections of these sinks to
  /// further clients don't matter.
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

extension ChosenName {
  fileprivate func matching(_ ports: [String]) -> [String] {
    let name = NamePattern(String(decoding: (0..<count).map { self[$0] }, as: UTF8.self))
    return ports.filter { name.matches($0) || name.matches(clientName(ofPort: $0)) }
  }
}

/// JACK names a port `CLIENT:PORT`.
func clientName(ofPort port: String) -> String { String(port.prefix { $0 != ":" }) }
