// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJSON5

/// The settings at the start. Remembered choices replace the configuration file's values, and the command
/// line replaces both.
struct Startup {
  private(set) var configuration: Configuration
  /// The settings of the configuration file alone.
  private(set) var file = Configuration()
  /// The settings of file and command line, without remembered choices.
  private(set) var written = Configuration()
  private(set) var state = UserState()
  private(set) var places: Places
  /// Warnings that do not keep the program from starting.
  private(set) var notices: [String] = []
  /// Whether the user has no configuration and has made no choice yet.
  private(set) var isFirst = false
  private let arguments: [String]

  /// - Parameter arguments: without the program's own name.
  init(_ arguments: some Collection<String>, places: Places = .ofThisUser) throws(UserError) {
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

  /// Reads the configuration file and the command line. If that fails, nothing changes.
  ///
  /// - Parameter orPipe: whether a typed path may be a pipe, whose content can be read only once.
  mutating func read(orPipe: Bool = false) throws(UserError) {
    var found = Configuration()
    // A file that the user named has to exist; the usual file need not.
    if let path = configuration.file {
      try ConfigurationFile.read(path, orPipe: orPipe, into: &found)
    } else if let path = places.presentConfiguration {
      try ConfigurationFile.read(path, into: &found)
    }
    written = try Self.typed(arguments, over: found)
    file = found
  }

  /// Reads file and command line again while tactus plays. `present`: the present settings, from whatever
  /// source.
  mutating func reload(present: Configuration) throws(UserError) -> Reload {
    let before = written
    try read()
    return Reload(from: before, to: written, present: present)
  }

  private static func typed(
    _ arguments: some Sequence<String>, over configuration: Configuration
  ) throws(UserError) -> Configuration {
    var configuration = configuration
    do throws(UserError) {
      try configuration.read(arguments)
    } catch {
      throw UserError("\(error.text)\nTry 'tactus --help'.")
    }
    return configuration
  }

  /// Reads the state file and writes nothing, because many commands start only to show something.
  private mutating func remembered(at path: String) -> UserState {
    do throws(UserError) {
      let state = try UserState(WholeFile.read(path, limit: JSON5.Limits().bytes), from: path)
      // Limit the list, because no user would read a longer one.
      let shown = state.unreadable.prefix(4)
      notices += shown.map { "\($0); only this remembered value is lost" }
      if state.unreadable.count > shown.count {
        notices.append("\(path): \(state.unreadable.count - shown.count) more values cannot be read")
      }
      return state
    } catch {
      guard error.kind != .missing else {
        isFirst = configuration.file == nil && places.presentConfiguration == nil
        return UserState()
      }
      let future =
        error.kind == .unreadable
        ? "" : "; the next change of a setting renames this file to \(StateKeeper.aside(path))"
      notices.append("\(error.inALine); nothing is remembered\(future)")
      return UserState()
    }
  }

  /// The remembered choices that are in effect, because the file has not changed since.
  var remembered: [(key: String, value: JSON5)] { state.values(over: file) }

  func keeper(notice: @escaping @Sendable (String) -> Void) -> StateKeeper {
    StateKeeper(path: places.state, known: state, start: configuration, file: file, notice: notice)
  }
}

/// The changes when the configuration is read again while tactus plays. Only keys whose values have changed
/// in the file take effect, so that choices made meanwhile are kept.
struct Reload: Equatable {
  /// The settings after the reload.
  private(set) var wanted: Configuration
  private(set) var atOnce: [String] = []
  private(set) var later: [String] = []

  /// - Parameters:
  ///   - before: the settings of file and command line before the reload; `after`: those after it.
  ///   - present: the present settings, from whatever source.
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

  /// Whether the connections to keep have changed.
  var movesConnections: Bool { !Set(atOnce).isDisjoint(with: ["connect", "autoconnect"]) }

  var line: String {
    var parts = atOnce.isEmpty ? [] : ["\(atOnce.joined(separator: ", ")) changed"]
    if !later.isEmpty { parts.append("\(later.joined(separator: ", ")) from the next start on") }
    return "configuration read again: "
      + (parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; "))
  }
}
