// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusOSC

// The user's own outputs. The addresses out/NAME/... exist as long as the output NAME does.
extension Table {
  static let ownOutputs: [Node] = [
    .order(
      "out/add", [.text(limit: NamedOutput.longest)],
      "Adds an output with a port of its own, or gives an existing output other settings: \(NamedOutput.allowed)."
    ) { values, it throws(Refusal) in
      var output = try NamedOutput(values[0].text)
      if let present = it.output(output.name) { output.keepPlaying(as: present) }
      return .command(.output(output))
    },
    .order("out/remove", [.text(limit: 32)], "Removes the output of this NAME, with its port.") {
      values, _ in
      .command(.removeOutput(values[0].text))
    },
    .label(
      "out/list", "Your own outputs, with the state of each; if they are many, only their names.",
      limit: longestList
    ) { it in
      let outputs = it.state.lists.outputs
      guard !outputs.isEmpty else { return "none" }
      let words = outputs.map { output in
        let doing = it.state.jack.outputHealth[output.name]?.words ?? "no port"
        return "\(output.name) (\(doing)\(offsetNote(shortest(output.offset.milliseconds))))"
      }.joined(separator: ", ")
      return words.utf8.count <= longestList ? words : outputs.map(\.name).joined(separator: ", ")
    },
    .list("out/names", "How many outputs you have, and the name of each.") {
      $0.state.lists.outputs.map(\.name)
    }.restoring { $0.takeOutputs($1.listed) },
    .count(
      "out/changes", "times",
      "Counts changes of your output list; when it changes, a controller should query the addresses "
        + "again."
    ) { $0.own.outputChanges },
  ]

  /// The length limit of the list of outputs, which must fit one datagram. There is room for the largest
  /// number of outputs with the longest names.
  private static let longestList = 1_200

  /// This table, with the addresses of these outputs at its end.
  func with(_ outputs: [NamedOutput]) -> Table {
    Table(rows.filter { $0.output == nil } + outputs.flatMap(Node.rows(of:)))
  }

  /// The row for an address of one's own output, whether or not that output exists.
  public static func ownOutput(_ path: String) -> Node? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, parts[0] == "out", let kind = kinds[parts[2]], NamedOutput.isName(parts[1]) else {
      return nil
    }
    return row(path, of: [NamedOutput(name: parts[1], settings: OutputSettings(kind))])
  }

  /// The first kind of output that has a setting, by the setting's name, which is the last part of an
  /// address.
  private static let kinds = Dictionary(
    OutputKind.allCases.flatMap { kind in
      Node.rows(of: NamedOutput(name: "x", settings: OutputSettings(kind))).map {
        (String($0.path.dropFirst("out/x/".utf8.count)), kind)
      }
    }, uniquingKeysWith: { first, _ in first })

  /// The row at an address of one of these outputs.
  static func row(_ path: String, of outputs: [NamedOutput]) -> Node? {
    guard let output = outputs.first(where: { path.hasPrefix("out/\($0.name)/") }) else { return nil }
    return Node.rows(of: output).first { $0.path == path }
  }

  /// The names and kinds of the outputs. While these stay the same, so do the table's rows.
  static func shape(of outputs: [NamedOutput]) -> [String] {
    outputs.map { "\($0.name) \($0.settings.kind.word)" }
  }
}

extension Node {
  fileprivate static func rows(of output: NamedOutput) -> [Node] {
    let name = output.name
    @Sendable func present(_ it: Reading) -> NamedOutput { it.output(name) ?? output }
    @Sendable func health(_ it: Reading) -> OutputHealth {
      it.state.jack.outputHealth[name] ?? OutputHealth()
    }
    var rows = OutputChoice.all(of: output.settings.kind).map { choice in
      Node.value("out/\(name)/\(choice.path)", [choice.parameter], choice.words) {
        [choice.value(present($0))]
      } write: { values, it throws(Refusal) in
        var changed = present(it)
        try choice.write(&changed, values)
        try changed.check()
        return .command(.output(changed))
      }
    }
    rows.append(
      .measured("out/\(name)/latency", "ms", "The latency from this port to the ear, as JACK reports it.") {
        health($0).latencyMilliseconds
      })
    if case .clock = output.settings { rows += machineRows(name, present, health) }
    for place in rows.indices { rows[place].output = name }
    return rows
  }

  /// Rows of an output that drives a machine by MIDI clock.
  private static func machineRows(
    _ name: String, _ present: @escaping @Sendable (Reading) -> NamedOutput,
    _ health: @escaping @Sendable (Reading) -> OutputHealth
  ) -> [Node] {
    [
      .order(
        "out/\(name)/program", [.whole(1...128)],
        "A program change for this machine: the program's number from 1, and its MIDI channel (1 if none "
          + "is given).",
        optional: [.whole(1...Programs.channels)]
      ) { values, it in
        var changed = present(it)
        changed.settings.programs?.ask(
          for: UInt8(clamping: values[0].whole - 1), channel: values.count > 1 ? values[1].whole - 1 : 0)
        return .command(.output(changed))
      },
      .label("out/\(name)/state", "The state of this machine: it rests, waits for its beat, or plays.") {
        health($0).state
      }.restoring { state, values in
        guard state.lists.outputs.contains(where: { $0.name == name }) else { return }
        state.jack.outputHealth[name, default: OutputHealth()].state = values[0].text
      },
      .measured(
        "out/\(name)/jitter", "us",
        "The largest timing error of a clock in the last ten to twenty seconds."
      ) { health($0).jitterMicros },
      .count(
        "out/\(name)/madeup", "clocks",
        "Clocks that were sent more than a frame off their time, to make up for lost cycles."
      ) { health($0).madeUp },
    ]
  }
}

extension SurfaceState {
  /// Takes over the names of another tactus's outputs. Their settings are not known.
  fileprivate mutating func takeOutputs(_ names: [String]) {
    lists.outputs = names.prefix(OutputSettings.limit).filter(NamedOutput.isName).map {
      NamedOutput(name: $0, settings: OutputSettings(.clock))
    }
    jack.outputHealth = jack.outputHealth.filter { names.contains($0.key) }
  }
}

/// The state of an output as controllers see it.
public struct OutputHealth: Hashable, Sendable {
  /// The state of a clock, "waits" or "plays"; empty: the output is no clock.
  public var state = ""
  public var jitterMicros = 0.0
  public var madeUp = 0
  public var latencyMilliseconds = 0.0
  /// The state in words, for example "clock plays, 12 us".
  public var words = ""

  public init() {}
}
