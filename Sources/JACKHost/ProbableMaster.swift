// SPDX-License-Identifier: GPL-2.0-or-later
import HostSync

/// Who is likely to be timebase master, if another client is: JACK tells nobody who it is.
enum ProbableMaster {
  /// Programs that can be; their clients may have more behind the name.
  private static let programs = [
    "ardour", "mixbus", "hydrogen", "qtractor", "sooperlooper", "carla", "rosegarden", "muse", "non-timeline",
    "seq24", "seq66", "klick", "gtklick", "jack_transport_link", "jack-link",
  ]

  /// The only one of them, or the only other tactus. Nil: there is none or there are several, or one that has no ports.
  static func name(ofPorts ports: [String], neighbours: Set<String>) -> String? {
    let clients = Set(ports.compactMap { $0.split(separator: ":").first.map(String.init) })
    let candidates = clients.filter { neighbours.contains($0) || isKnown($0) }
    return candidates.count == 1 ? candidates.first : nil
  }

  /// "Hydrogen", "hydrogen-01", "Qtractor"; no "musescore".
  private static func isKnown(_ client: String) -> Bool {
    let name = client.lowercased()
    return programs.contains { program in
      guard name.hasPrefix(program) else { return false }
      return name.dropFirst(program.count).first.map { !$0.isLetter } ?? true
    }
  }
}

/// What was guessed last: asked again when ports or clients have changed.
struct MasterGuess {
  private(set) var name: String?
  private var isMade = false

  mutating func look(at running: RunningClient, _ report: Report, graphChanged: Bool) {
    if report.timebase != .foreign {
      self = MasterGuess()
    } else if graphChanged || !isMade {
      (name, isMade) = (running.probableMaster, true)
    }
  }
}
