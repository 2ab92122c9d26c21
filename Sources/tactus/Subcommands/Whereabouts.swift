// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// What the user says of where the tactus is that a command speaks with; nothing, if only one runs.
struct Whereabouts: Equatable, Sendable {
  /// Of its OSC; 0: not said.
  var port = 0
  var name: String?

  /// - Parameter running: the notes of all that run.
  func port(of running: [RunningNote.Content]) throws(Complaint) -> Int {
    if port > 0 { return port }
    if let name {
      guard let found = running.first(where: { $0.name == name }) else {
        let others = running.isEmpty ? "" : "; there is \(Self.list(running))"
        throw Complaint("no tactus called \"\(name.shortened)\" runs here" + others, .unavailable)
      }
      return found.port
    }
    let usual = Self.usualPort
    // Without a note it may run all the same: there is not always a place for one.
    if running.isEmpty || running.contains(where: { $0.port == usual }) { return usual }
    guard running.count == 1 else {
      throw Complaint("several run here: \(Self.list(running)); say which with --name=NAME", .unavailable)
    }
    return running[0].port
  }

  /// As configured, as far as the configuration can be read.
  private static var usualPort: Int {
    Int((try? Startup([]).configuration.surface.osc.port) ?? Table.port)
  }

  private static func list(_ all: [RunningNote.Content]) -> String {
    all.map { "\($0.name.shortened) (OSC port \($0.port))" }.joined(separator: ", ")
  }
}

/// A command that speaks with a tactus that runs.
protocol Conversing: Subcommand {
  var whereabouts: Whereabouts { get set }
}

extension Conversing {
  static var whereaboutsOptions: [Option<Self>] {
    [
      Option(
        "osc", "o", in: .other, .value("PORT", .whole(1...65_535), \.whereabouts.port),
        help: "The OSC port of the tactus that runs (default: the one that runs, or as configured)."),
      Option(
        "name", "n", in: .other, .value("NAME", .text(63), \.whereabouts.name),
        help: "The JACK name of the tactus that is meant, where several run."),
    ]
  }
}
