// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JSON5

/// What holds when the program starts: the configuration, over it what was remembered, over that the command line.
struct Startup {
  private(set) var configuration: Configuration
  /// What the configuration file alone says.
  private(set) var file = Configuration()
  /// What file and command line say together, without what was remembered.
  private(set) var written = Configuration()
  private(set) var state = UserState()
  private(set) var places: Places
  /// Worth knowing, and no reason not to start.
  private(set) var notices: [String] = []
  private let arguments: [String]

  /// - Parameter arguments: without the program's own name.
  init(_ arguments: some Collection<String>, places: Places = .ofThisUser) throws(Complaint) {
    self.places = places
    self.arguments = Array(arguments)
    configuration = try Self.typed(arguments, over: Configuration())
    guard configuration.answer == .run else { return }
    if let path = configuration.file { self.places.configuration = path }
    try read(orPipe: true)
    if let path = places.state { state = remembered(at: path) }
    var held = file
    state.apply(to: &held, over: file)
    configuration = try Self.typed(arguments, over: held)
  }

  /// The configuration file and the command line, as they are now. If that fails nothing has changed.
  ///
  /// - Parameter orPipe: what was typed may be a pipe, which gives what it has once.
  mutating func read(orPipe: Bool = false) throws(Complaint) {
    var found = Configuration()
    // A file that was named has to be there.
    if let path = configuration.file {
      try ConfigurationFile.read(path, orPipe: orPipe, into: &found)
    } else if let path = places.presentConfiguration {
      try ConfigurationFile.read(path, into: &found)
    }
    written = try Self.typed(arguments, over: found)
    file = found
  }

  /// Reads them again while tactus plays. `present`: what holds, no matter who chose it.
  mutating func reload(present: Configuration) throws(Complaint) -> Reload {
    let before = written
    try read()
    return Reload(from: before, to: written, present: present)
  }

  private static func typed(
    _ arguments: some Sequence<String>, over configuration: Configuration
  ) throws(Complaint) -> Configuration {
    var configuration = configuration
    do throws(Complaint) {
      try configuration.read(arguments)
    } catch {
      throw Complaint("\(error.text)\nTry 'tactus --help'.")
    }
    return configuration
  }

  /// Nothing is written here: many only want to know how things are.
  private mutating func remembered(at path: String) -> UserState {
    do throws(Complaint) {
      let state = try UserState(WholeFile.read(path, limit: JSON5.Limits().bytes), from: path)
      // A longer list is not read.
      let shown = state.unreadable.prefix(4)
      notices += shown.map { "\($0); this value alone is not remembered" }
      if state.unreadable.count > shown.count {
        notices.append("\(path): \(state.unreadable.count - shown.count) more values cannot be read")
      }
      return state
    } catch {
      guard error.kind != .missing else { return UserState() }
      let future =
        error.kind == .unreadable ? "" : "; the next choice puts it aside as \(StateKeeper.aside(path))"
      notices.append("\(error.inALine); nothing is remembered\(future)")
      return UserState()
    }
  }

  /// What holds because it was remembered.
  var remembered: [(key: String, value: JSON5)] { state.values(over: file) }

  func keeper(notice: @escaping @Sendable (String) -> Void) -> StateKeeper {
    StateKeeper(path: places.state, known: state, start: configuration, file: file, notice: notice)
  }
}

/// What a configuration that is read again changes while tactus plays: only what it says otherwise than it did, so that
/// nothing else of what was chosen meanwhile is lost.
struct Reload: Equatable {
  /// What holds now.
  private(set) var wanted: Configuration
  private(set) var atOnce: [String] = []
  private(set) var later: [String] = []

  /// - Parameters:
  ///   - before: what file and command line said together, `after` what they say now.
  ///   - present: what holds, no matter who chose it.
  init(from before: Configuration, to after: Configuration, present: Configuration) {
    wanted = present
    let keys = ConfigurationFile.keys
    for option in keys.options {
      let value = keys.value(of: option, in: after)
      guard value.text != keys.value(of: option, in: before).text else { continue }
      if option.reach == .start {
        later.append(option.long)
      } else {
        option.copy(from: after, to: &wanted)
        atOnce.append(option.long)
      }
    }
  }

  /// What is kept connected is otherwise.
  var movesConnections: Bool { !Set(atOnce).isDisjoint(with: ["connect", "autoconnect"]) }

  var line: String {
    var parts = atOnce.isEmpty ? [] : ["\(atOnce.joined(separator: ", ")) changed"]
    if !later.isEmpty { parts.append("\(later.joined(separator: ", ")) from the next start on") }
    return "configuration read again: "
      + (parts.isEmpty ? "nothing is different" : parts.joined(separator: "; "))
  }
}
