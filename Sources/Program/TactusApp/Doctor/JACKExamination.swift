// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJACK

/// Examines JACK or PipeWire: the server, its latencies, and its other clients.
enum JACKExamination {
  static func findings(server: String?) -> [Finding] {
    do {
      return judge(try PipeWireLibrary.survey(server: server))
    } catch {
      return [judge(error, pipeWireRuns: PipeWireLibrary.answers, startFile: ServerStart.file)]
    }
  }

  /// Returns the finding about a failure to reach JACK. `startFile`: the file with the command line that
  /// starts a JACK server.
  static func judge(_ failure: JACKError, pipeWireRuns: Bool, startFile: String? = nil) -> Finding {
    switch failure {
    case .noServer where pipeWireRuns, .notStarted where pipeWireRuns:
      .bad(
        "JACK", failure.description + ", but PipeWire runs",
        mend:
          "If you want PipeWire, install its JACK library: apt install pipewire-jack. tactus finds it by itself, "
          + "unless you name another server with --server or JACK_DEFAULT_SERVER."
      )
    case .noServer, .notStarted:
      .bad(
        "JACK", failure.description,
        mend: "Start one, for instance with QjackCtl, or name yours with --server. "
          + (startFile.map { "tactus --start-server starts one as \($0) says." }
            ?? "Once a ~/.jackdrc says how, tactus --start-server starts one."))
    case .sharedMemory:
      .bad(
        "JACK", failure.description,
        mend: "Run tactus as the user who started the server, and make room in /dev/shm.")
    case .unusableName, .versionMismatch, .refused, .portRefused, .activationRefused:
      .bad("JACK", failure.description, mend: "Restart the JACK server.")
    }
  }

  static func judge(_ survey: GraphSurvey) -> [Finding] {
    [self.server(survey.server)] + latencies(survey) + implausible(survey) + company(survey)
  }

  private static func server(_ server: ServerDescription) -> Finding {
    let line =
      "\(server.implementation), server \"\(server.server)\", \(server.sampleRate) Hz, "
      + "\(server.framesPerPeriod) frames a period"
    guard !server.isRealtime else { return .good("JACK", line + ", real time") }
    return .bad(
      "JACK", line + ", not real time: every busy program can make it stutter",
      mend:
        "Start the server in real-time mode (jackd -R, QjackCtl: Settings, Realtime); the entry \"Real time\" below says "
        + "whether you may.")
  }

  private static func latencies(_ survey: GraphSurvey) -> [Finding] {
    let audio = survey.outputs.filter { !$0.isMIDI }
    guard !audio.isEmpty else {
      return [.note("Latency", "the server has no ports of a sound card, so you hear nothing directly")]
    }
    let silent = audio.filter { $0.latencyFrames == 0 }.map(\.name)
    guard !silent.isEmpty else {
      func words(_ ports: [GraphSurvey.PhysicalPort]) -> String {
        let longest = ports.map(\.latencyFrames).max() ?? 0
        let tenths = survey.server.sampleRate > 0 ? Int(longest) * 10_000 / survey.server.sampleRate : 0
        return "\(longest) frames (\(tenths / 10).\(tenths % 10) ms)"
      }
      let cards = Dictionary(grouping: audio, by: \.client).sorted { $0.key < $1.key }
      guard cards.count > 1 else {
        return [.good("Latency", "JACK reports \(words(audio)) for the sound card's outputs")]
      }
      let each = cards.map { "\(words($0.value)) for \($0.key)" }.joined(separator: ", ")
      return [.good("Latency", "JACK reports \(each)")]
    }
    return [
      .bad(
        "Latency",
        "JACK reports no latency for \(silent.joined(separator: ", ")), although every sound card has some",
        mend:
          "Connect an output to an input by a cable: tactus check measures the latency, and tactus check --set corrects it."
      )
    ]
  }

  private static func implausible(_ survey: GraphSurvey) -> [Finding] {
    guard !survey.implausible.isEmpty else { return [] }
    let ports = survey.implausible.prefix(4).joined(separator: ", ")
    let more = survey.implausible.count > 4 ? " and \(survey.implausible.count - 4) more" : ""
    return [
      .bad(
        "Latency",
        "\(ports)\(more): the program reports a latency of more than 2 s, which tactus ignores",
        mend: "Restart that program, or report the defect to its authors.")
    ]
  }

  private static func company(_ survey: GraphSurvey) -> [Finding] {
    let ours = survey.tactus
    var findings: [Finding] = []
    if ours.count > 1 {
      findings.append(
        .note("Company", "tactus runs \(ours.count) times on this server: \(ours.joined(separator: ", "))"))
    }
    switch (survey.showsBars, ours.isEmpty) {
    case (true, true):
      findings.append(
        .note(
          "Timebase", "another program is timebase master: JACK's transport shows its bars and beats",
          mend:
            "With --lead=auto tactus follows it; tactus send takeover makes tactus timebase master instead."))
    case (true, false): findings.append(.good("Timebase", "bars and beats are shown on JACK's transport"))
    case (false, _): findings.append(.good("Timebase", "no other program is timebase master"))
    }
    return findings
  }
}
