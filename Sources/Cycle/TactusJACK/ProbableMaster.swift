// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSync

/// Guesses which other client is timebase master, because JACK does not name the timebase master.
enum ProbableMaster {
  /// Programs that can be timebase master. The name of a program's client may have a suffix.
  private static let programs = [
    "ardour", "mixbus", "hydrogen", "qtractor", "sooperlooper", "carla", "rosegarden", "muse", "non-timeline",
    "seq24", "seq66", "klick", "gtklick", "jack_transport_link", "jack-link",
  ]

  /// The name of the only client that belongs to one of the listed programs or is another tactus. nil if no
  /// client does, or several do. A client without ports is not seen.
  static func name(ofPorts ports: [String], neighbours: Set<String>) -> String? {
    let clients = Set(ports.compactMap { $0.split(separator: ":").first.map(String.init) })
    let candidates = clients.filter { neighbours.contains($0) || isKnown($0) }
    return candidates.count == 1 ? candidates.first : nil
  }

  /// Whether the client belongs to a listed program. "Hydrogen", "hydrogen-01" and "Qtractor" belong to
  /// listed programs. "musescore" does not, although it begins with the listed name "muse".
  private static func isKnown(_ client: String) -> Bool {
    let name = client.lowercased()
    return programs.contains { program in
      guard name.hasPrefix(program) else { return false }
      return name.dropFirst(program.count).first.map { !$0.isLetter } ?? true
    }
  }
}

/// The last guess at the timebase master. A new guess is made when ports or clients have changed.
struct MasterGuess {
  private(set) var name: String?
  private var isMade = false

  mutating func poll(at running: RunningClient, _ report: Report, graphChanged: Bool) {
    if report.master.timebase != .foreign {
      self = MasterGuess()
    } else if graphChanged || !isMade {
      (name, isMade) = (running.probableMaster, true)
    }
  }
}
