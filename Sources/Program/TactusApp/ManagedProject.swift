// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusJSON5
import TactusNSM
import TactusOSC
import TactusSurface

/// tactus as part of a session manager's session. The manager chooses the folder, the client name, and when
/// to save. [control]
///
/// There is no JACK client until the manager has sent `open`. Choices and connections are written only when
/// the manager asks for it (`save`).
final class ManagedProject {
  private static let lookInterval = Micros(500_000)

  private struct Saved: Equatable {
    var configuration: Configuration
    var connections: Set<Connection>
  }

  private let session: ManagedSession
  private let folder: SessionFolder
  private var saved: Saved
  private var isOpen = false
  private var nextLook = Micros.zero
  /// The settings with which the program starts.
  let startup: Startup

  fileprivate init(
    _ session: ManagedSession, folder: SessionFolder, startup: Startup, connections: Set<Connection>
  ) {
    self.session = session
    self.folder = folder
    self.startup = startup
    saved = Saved(configuration: Self.nameless(startup.configuration), connections: connections)
  }

  /// The configuration without its client name: the manager chooses the name, perhaps a new one each time.
  private static func nameless(_ configuration: Configuration) -> Configuration {
    var configuration = configuration
    configuration.name = Configuration().name
    return configuration
  }

  /// Call it when the client is on the server with all its ports: it makes the saved connections.
  func opened(on host: JACKHost) {
    host.wish(for: saved.connections)
    isOpen = true
    session.opened(.done)
  }

  /// Tells the manager why the program ends, if the project was not open yet.
  func failed(_ reason: String) {
    guard !isOpen else { return }
    session.opened(.failed(.general(reason)))
  }

  /// Sends a line that the manager shows to its user.
  func tell(_ line: String) { session.tell(line, priority: 1) }

  /// Carries out the manager's requests and reports to the manager; `configuration` is the present one.
  func poll(_ configuration: Configuration, host: JACKHost, links: String, at now: Micros) {
    for output in session.step(at: now) {
      switch output {
      case .save: session.saved(save(configuration, host: host))
      case .sessionIsLoaded: Console.say("the session is loaded")
      case .send, .joined, .stillWaiting, .alone, .open: break
      }
    }
    guard now >= nextLook else { return }
    nextLook = now + Self.lookInterval
    session.show(label: links)
    session.changed(
      saved != Saved(configuration: Self.nameless(configuration), connections: host.connections))
  }

  /// Saves the project when the manager, a controller or a signal asks for it.
  @discardableResult
  func save(_ configuration: Configuration, host: JACKHost) -> NSMClient.Outcome {
    let present = Saved(configuration: Self.nameless(configuration), connections: host.connections)
    do throws(UserError) {
      try folder.write(present.configuration)
      // Leave out the ports of an output that was removed: `readConnections` would refuse them.
      let outputs = present.configuration.outputNames
      try folder.write(present.connections.filter { SessionFolder.mayHavePort($0.port, outputs) })
      saved = present
      return .done
    } catch {
      Console.complain("can't save: \(error.text)")
      return .failed(.cannotCreate(error.text))
    }
  }
}

extension ManagedProject {
  /// The outcome of a start under `NSM_URL`.
  enum Arrival {
    case open(ManagedProject)
    /// There is no manager, or it does not accept tactus: run without one.
    case alone
    case ended(Tactus.Status)
  }

  private static let step = 20

  /// Waits until the manager says which project to open, or until it turns out that there is no manager.
  static func arrive(_ arguments: [String], url: String?, until signals: Signals) -> Arrival {
    guard let url, !url.isEmpty else { return .alone }
    let session: ManagedSession
    do {
      guard let manager = ManagerAddress(url: url)?.resolve() else {
        Console.complain(
          "NSM_URL is no session manager's address (osc.udp://HOST:PORT/); running without one")
        return .alone
      }
      session = try ManagedSession(manager: manager, executable: executable, at: Link.clock())
    } catch {
      Console.complain("no session manager: \(error.description); running without one")
      return .alone
    }
    while !signals.came(withinMilliseconds: step) {
      for output in session.step(at: Link.clock()) {
        switch output {
        case .joined(let manager): Console.say("session manager: \(printable(manager, limit: 60))")
        case .stillWaiting:
          Console.complain(
            "the session manager has not said what to open; waiting for it (without NSM_URL tactus runs without one)"
          )
        case .alone(let reason):
          Console.complain("\(printable(reason, limit: 200)); running without one")
          return .alone
        case .open(let project):
          if let opened = open(project, session, arguments) { return .open(opened) }
          return .ended(.usage)
        case .send, .save, .sessionIsLoaded: break
        }
      }
    }
    return .ended(.success)
  }

  /// The program's name without its folder: when the manager opens the session again, it looks the name up in
  /// PATH.
  private static var executable: String {
    let path = CommandLine.arguments.first ?? "tactus"
    return String(path.split(separator: "/").last ?? "tactus")
  }

  /// Opens the project; nil: it can't be opened, and the manager and the terminal have the reason.
  private static func open(
    _ project: Project, _ session: ManagedSession, _ arguments: [String]
  ) -> ManagedProject? {
    let folder = SessionFolder(path: project.path)
    // The last of repeated options wins, so the client is named as the manager wants.
    let arguments = arguments + ["--name=" + project.clientID]
    var isCreating = false
    do throws(UserError) {
      if folder.isNew {
        // A new session begins with the user's own configuration.
        let home = try Startup(arguments)
        isCreating = true
        try folder.write(nameless(home.configuration))
        isCreating = false
      }
      let startup = try Startup(arguments, places: folder.places)
      let connections = try folder.readConnections(startup.configuration.outputNames)
      Console.say("session: \(printable(project.displayName, limit: 60)), in \(folder.path)")
      return ManagedProject(session, folder: folder, startup: startup, connections: connections)
    } catch {
      Console.complain(error.text)
      session.opened(.failed(isCreating ? .cannotCreate(error.text) : .badProject(error.text)))
      return nil
    }
  }
}

/// A project on the disk: a folder with two files. `config.json5` is a configuration like any other;
/// `connections.json5` holds the connections of the ports.
struct SessionFolder: Equatable {
  static let heading =
    "The configuration of tactus in a session. A session manager's Save overwrites it with the settings of that moment."

  let path: String

  var configuration: String { path + "/config.json5" }
  var connections: String { path + "/connections.json5" }

  var isNew: Bool { access(configuration, F_OK) != 0 }

  /// There is no state file: if the user quits the manager without Save, the changes must be lost.
  var places: Places { Places(configuration: configuration, state: nil) }

  func write(_ configuration: Configuration) throws(UserError) {
    let text = ConfigurationFile.text(of: configuration, heading: Self.heading)
    try WholeFile.write(text + "\n", to: self.configuration)
  }

  func write(_ connections: Set<Connection>) throws(UserError) {
    let lines = Set(connections.map(\.port)).sorted().map { port in
      let others = connections.filter { $0.port == port }.map(\.other).sorted()
      return "  \(JSON5.quoted(port)): [\(others.map(JSON5.quoted).joined(separator: ", "))],\n"
    }
    let words =
      "// The connections of tactus's ports in this session. tactus makes each again as soon as both "
      + "ports exist.\n"
    try WholeFile.write(words + "{\n" + lines.joined() + "}\n", to: self.connections)
  }

  /// Returns the saved connections; none if the file does not exist. `outputs`: the names of the user's own
  /// outputs.
  func readConnections(_ outputs: Set<String> = []) throws(UserError) -> Set<Connection> {
    guard let bytes = try WholeFile.readIfAny(connections, limit: JSON5.Limits().bytes) else { return [] }
    return try Self.connections(in: JSON5.document(bytes, from: connections), of: connections, outputs)
  }

  fileprivate static func mayHavePort(_ name: String, _ outputs: Set<String>) -> Bool {
    Port.registered.contains { $0.name == name } || outputs.contains(name)
      || AudioChannelPorts.canHavePort(name)
  }

  private static func connections(
    in document: JSON5.Element, of path: String, _ outputs: Set<String>
  ) throws(UserError) -> Set<Connection> {
    guard case .object(let members) = document.value else {
      throw UserError(
        path, line: document.line, "holds \(document.value.kind) instead of { port: [...], ... }")
    }
    var found: Set<Connection> = []
    for member in members {
      let port = member.name
      guard mayHavePort(port, outputs) else {
        throw UserError(path, line: member.line, "tactus has no port \(JSON5.quoted(port))")
      }
      guard case .array(let others) = member.element.value else {
        throw UserError(path, line: member.line, "\(JSON5.quoted(port)) takes a list of ports")
      }
      for other in others {
        guard case .string(let name) = other.value, isPortName(name) else {
          throw UserError(
            path, line: other.line,
            "\(JSON5.quoted(port)) takes names of ports, such as \"system:playback_1\"")
        }
        found.insert(Connection(port: port, other: name))
      }
    }
    return found
  }

  /// Whether the name has JACK's form `client:port`.
  private static func isPortName(_ name: String) -> Bool {
    (3...320).contains(name.utf8.count) && name.dropFirst().dropLast().contains(":")
      && name.isPrintable
  }
}
