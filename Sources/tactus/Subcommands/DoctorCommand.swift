// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5

/// `tactus doctor`: looks at everything that has to be right, and says what is not and how to mend it.
struct DoctorCommand: Conversing {
  static let name = "doctor"
  static let summary = "Look for what is wrong with JACK, the network and this machine"
  static let description = """
    Looks at JACK or PipeWire, latencies, real-time limits, the clock, and whether Link gets
    through on each network interface; says what is wrong and how to mend it. Ends with 0 if
    nothing is, else with 1. It sends one packet to Link's group that no peer takes notice of.
    """
  static let options: [Option<DoctorCommand>] =
    [
      Option(
        "server", "s", in: .other, .value("NAME", .text(127), \.server),
        help: "The JACK server to look at (default: as configured)."),
      Option("json", in: .other, .flag(\.json), help: "One line of JSON."),
    ] + whereaboutsOptions

  var asksForHelp = false
  var server: String?
  var json = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(Complaint) -> Tactus.Status {
    var findings = configuration()
    let configured = (try? Startup([]).configuration.server) ?? nil
    findings += JACKExamination.findings(server: server ?? configured)
    findings += MachineExamination.judge(MachineExamination.facts)
    findings += NetworkExamination.judge(NetworkExamination.interfaces)
    findings += running()
    let bad = findings.count { $0.grade == .bad }
    let summary =
      bad == 0 ? "Nothing is wrong." : bad == 1 ? "One thing is wrong." : "\(bad) things are wrong."
    let text =
      json
      ? JSON5.fields(["wrong": .of(bad), "findings": .list(findings.map(\.json))]).text
      : findings.map(\.text).joined(separator: "\n") + "\n" + summary
    guard Console.say(text) else { return .failure }
    return bad == 0 ? .success : .failure
  }

  private func configuration() -> [Finding] {
    do {
      return try Startup([]).notices.map {
        .bad("Memory of choices", $0, mend: "Nothing has to be done; it begins anew.")
      }
    } catch {
      return [.bad("Configuration", error.text, mend: "Mend that line; tactus does not start with it.")]
    }
  }

  /// All that run, unless one is meant.
  private func running() -> [Finding] {
    let notes = whereabouts == Whereabouts() ? RunningNote.all() : []
    return notes.count > 1
      ? notes.map { running(at: Whereabouts(port: $0.port), $0.name) } : [running(at: whereabouts, "tactus")]
  }

  private func running(at place: Whereabouts, _ name: String) -> Finding {
    do throws(Complaint) {
      var running = try RunningTactus(place)
      guard let values = try? running.values() else {
        return .note("tactus", "does not run, or not with OSC at port \(running.port)")
      }
      let status = values.first { $0.row.path == "status" }.map { JSON5($0.arguments, of: $0.row).text } ?? ""
      return .good(
        "tactus",
        "\(name == "tactus" ? "" : name + " ")runs, controlled at OSC port \(running.port): \(status)")
    } catch {
      return .note("tactus", error.text)
    }
  }
}
