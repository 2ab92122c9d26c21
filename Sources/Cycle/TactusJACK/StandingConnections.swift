// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// A connection that is to exist whenever both of its ports exist.
public enum StandingConnection: Hashable, Sendable {
  /// Two ports, the output or the input first. Each is a full name; a port of ours may stand without the
  /// client's name. `*` stands for any text.
  case ports(String, String)
  /// The connection of the click to the first two playback ports of the sound card.
  case clickToSpeakers

  /// The name of the user's output that `out/NAME` stands for; nil if `end` has another form.
  public static func ownOutput(_ end: String) -> String? {
    end.hasPrefix("out/") && !end.contains(":") ? String(end.dropFirst(4)) : nil
  }
}

/// Makes the standing connections. Each pair of ports is connected once, whenever both ports have appeared. A
/// connection that the user cuts stays cut until one of its ports, or the server, has gone and returned.
struct StandingConnections {
  /// The greatest number of pairs. Two patterns that match everything would yield thousands.
  static let limit = 512

  struct Seen {
    var outputs: [String] = []
    var inputs: [String] = []
    var speakers: [String] = []
  }

  private struct Pair: Hashable {
    let output: String
    let input: String
  }

  private(set) var wanted: [StandingConnection] = []
  private var made: Set<Pair> = []
  /// The number of pairs beyond the limit at the last look.
  private(set) var refusedCount = 0

  mutating func want(_ connections: [StandingConnection]) {
    wanted = connections
    made = []
  }

  mutating func serverLost() {
    made = []
  }

  /// - Parameter connect: connects an output to an input, and returns whether they are connected afterwards.
  mutating func step(_ seen: Seen, client: String, connect: (String, String) -> Bool) {
    guard !wanted.isEmpty else { return }
    var allowed: [Pair] = []
    var possible = 0
    for (outputs, inputs) in wanted.flatMap({ ends($0, seen, client) }) {
      possible += outputs.count * inputs.count
      for output in outputs where allowed.count < Self.limit {
        for input in inputs.prefix(Self.limit - allowed.count) {
          allowed.append(Pair(output: output, input: input))
        }
      }
    }
    refusedCount = possible - allowed.count
    made.formIntersection(allowed)
    for pair in allowed where !made.contains(pair) && connect(pair.output, pair.input) { made.insert(pair) }
  }

  /// The cables of the click to a sound card that has these playback ports.
  static func clickCables(to speakers: [String]) -> [Connection] {
    guard let first = speakers.first else { return [] }
    return [
      Connection(port: .click1, other: first),
      Connection(port: .click2, other: speakers.dropFirst().first ?? first),
    ]
  }

  /// The click's cables that were made and whose ports still exist.
  func madeOfClick(client: String) -> [Connection] {
    [Port.click1, .click2].flatMap { port in
      made.filter { $0.output == "\(client):\(port.name)" }.map { Connection(port: port, other: $0.input) }
    }
  }

  /// The outputs and inputs that are to be connected, each output with each input. The pairs are not listed
  /// one by one: there may be a million of them.
  private func ends(
    _ connection: StandingConnection, _ seen: Seen, _ client: String
  ) -> [(outputs: [String], inputs: [String])] {
    switch connection {
    case .clickToSpeakers:
      return Self.clickCables(to: seen.speakers).map { (["\(client):\($0.port)"], [$0.other]) }
    case .ports(let one, let other):
      let (one, other) = (PortPattern(one, client: client), PortPattern(other, client: client))
      let forward = (seen.outputs.filter(one.matches), seen.inputs.filter(other.matches))
      if !forward.0.isEmpty, !forward.1.isEmpty { return [forward] }
      return [(seen.outputs.filter(other.matches), seen.inputs.filter(one.matches))]
    }
  }
}

extension Port {
  /// Whether a port of ours matches `pattern`, in which `*` stands for any text and no client is named.
  public static func isOurs(_ pattern: String) -> Bool {
    registered.contains { PortPattern(pattern, client: "").matches(":" + $0.name) }
  }
}

/// A pattern for the full names of ports, in which `*` stands for any text.
struct PortPattern {
  private let name: NamePattern

  /// A pattern without a colon means a port of the client `client`.
  init(_ text: String, client: String) {
    let ours = StandingConnection.ownOutput(text) ?? text
    name = NamePattern(text.contains(":") ? text : "\(client):\(ours)")
  }

  func matches(_ name: String) -> Bool { self.name.matches(name) }
}

/// A pattern for names, in which `*` stands for any text.
public struct NamePattern: Sendable {
  private let parts: [Substring]

  public init(_ text: String) {
    parts = text.split(separator: "*", omittingEmptySubsequences: false)
  }

  public func matches(_ name: String) -> Bool {
    guard let first = parts.first, let last = parts.last, parts.count > 1 else {
      return name == parts.joined()
    }
    guard name.hasPrefix(first) else { return false }
    var rest = name.dropFirst(first.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return rest.hasSuffix(last)
  }
}
