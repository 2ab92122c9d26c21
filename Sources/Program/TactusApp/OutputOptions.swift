// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusOSC
import TactusSurface
import TactusSync

// The user's own outputs, in three forms: as the options have them, as JACK has them, and as controllers see
// them.
extension Configuration {
  static let outputOptions: [Option<Configuration>] = [
    Option(
      "out", in: .outputs,
      .value(
        "NAME=KIND ...",
        ValueRule(
          NamedOutput.allowed,
          judge: { text in
            ValueRule.refusal { () throws(Refusal) in _ = try NamedOutput(text) }.map {
              $0 == NamedOutput.allowed ? "" : $0
            }
          }
        ).listed(atMost: OutputSettings.limit) {
          String(($0.split(separator: " ").first ?? "").prefix { $0 != "=" })
        }, \.outputs), isRemembered: true,
      help:
        "An output of your own with a port NAME, beside those that are always there: a clock, a pulse, a run gate, a reset, a click "
        + "or timecode (ltc, mtc), up to \(OutputSettings.limit) of them, each with settings: \"drums=clock offset=4 rate=2\", "
        + "\"ppq=pulse rate=24 level=0.5\". "
        + "docs/outputs.md lists them. Can be repeated.")
  ]

  var outputNames: Set<String> { Set(outputs.compactMap { try? NamedOutput($0).name }) }

  /// The outputs as the options have them. The options do not say whether a clock plays and which programs it
  /// has sent: both are taken from `present`.
  func ownOutputs(as present: [NamedOutput]) -> [NamedOutput] {
    outputs.compactMap { text -> NamedOutput? in
      guard var output = try? NamedOutput(text) else { return nil }
      if let same = present.first(where: { $0.name == output.name }) {
        output.keepPlaying(as: same)
        output.settings.programs = same.settings.programs
      }
      return output
    }
  }
}

extension SurfaceState {
  /// The choices for the audio thread. A start waits for the longest count-in of all outputs.
  var heardChoices: Settings {
    var settings = choices
    settings.launch.othersCountIn = lists.outputs.compactMap(\.settings.countIn).max() ?? 0
    return settings
  }
}

/// Gives the user's own outputs their JACK ports. [control]
struct CarriedOutputs {
  /// A port that comes or goes disturbs the whole server, so at most four changes are made in a second.
  private static let pause = Micros(250_000)

  private var carried: [OwnOutput] = []
  private var nextChange = Micros.zero

  mutating func carry(_ outputs: [NamedOutput], on host: JACKHost) {
    let wanted = outputs.map { OwnOutput(name: $0.name, settings: $0.settings, offset: $0.offset) }
    guard wanted != carried else { return }
    let now = Link.clock()
    if wanted.map(\.name) != carried.map(\.name) {
      guard now >= nextChange else { return }
      nextChange = now + Self.pause
    }
    carried = wanted
    host.carry(outputs: wanted)
  }
}

extension CommandHandler {
  /// Adds an output, or gives the output with this name new settings. [any]
  func put(_ output: NamedOutput, lasts: Bool) -> Reply {
    let present = state.lists.outputs
    let isNew = !present.contains { $0.name == output.name }
    guard !isNew || present.count < OutputSettings.limit else {
      return .notNow("at most \(OutputSettings.limit) outputs are possible")
    }
    choose(lasts) { state in
      if let place = state.lists.outputs.firstIndex(where: { $0.name == output.name }) {
        // Keep the programs that were requested before, unless this output requests others.
        let programs = state.lists.outputs[place].settings.programs
        state.lists.outputs[place] = output
        if output.settings.programs?.isEmpty == true {
          state.lists.outputs[place].settings.programs = programs
        }
      } else {
        state.lists.outputs.append(output)
      }
    }
    wake()
    return .accepted
  }

  /// Removes the output with this name. [any]
  func removeOutput(_ name: String, lasts: Bool) -> Reply {
    guard state.lists.outputs.contains(where: { $0.name == name }) else {
      return .notNow("there is no such output")
    }
    choose(lasts) { $0.lists.outputs.removeAll { $0.name == name } }
    wake()
    return .accepted
  }
}

extension OutputHealth {
  /// Jitter in microseconds, rounded to tens: no ear hears less, and each change is a message to every
  /// tablet.
  static func shown(jitter: Float) -> Double { (Double(jitter) / 10).rounded() * 10 }

  /// The health of each output that has a port.
  static func all(on host: JACKHost) -> [String: OutputHealth] {
    let rate = Double(max(1, host.server.sampleRate))
    return host.outputPorts.mapValues { port in
      var health = OutputHealth()
      health.latencyMilliseconds = Double(port.latency) * 1000 / rate
      health.words = port.output.settings.kind.word
      guard let clock = port.figures else { return health }
      health.state = "\(clock.state)"
      health.jitterMicros = shown(jitter: clock.jitter)
      health.madeUp = Int(clamping: clock.madeUp)
      health.words += " \(clock.state)" + (clock.sent == 0 ? "" : ", \(Int(health.jitterMicros)) us")
      if clock.madeUp > 0 { health.words += ", \(clock.madeUp) made up" }
      return health
    }
  }
}
