// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusJSON5
import TactusOSC
import TactusSurface

/// A running tactus, with which `status`, `monitor`, `send`, `check` and `view` communicate over OSC.
struct RunningTactus: ~Copyable {
  /// Milliseconds to wait for an answer. tactus reads its sockets many times a second, but its machine may be
  /// busy.
  static let answerTimeoutMillis = 2000

  private var socket: OSCPort
  private let endpoint: Endpoint
  /// Whether a `RunningNote` says that a tactus uses this port.
  private let isNoted: Bool
  var port: Int { Int(endpoint.port) }
  /// The address of the machine on which tactus runs; nil: this machine.
  var place: String? { endpoint.address.isLoopback ? nil : endpoint.address.description }

  init(_ whereabouts: Whereabouts) throws(UserError) {
    let running = RunningNote.all()
    let port = try whereabouts.port(of: running)
    let opened = try Self.open(.loopback)
    isNoted = running.contains { $0.port == port }
    endpoint = Endpoint(.loopback, port: UInt16(clamping: port))
    socket = opened
  }

  /// The tactus at `endpoint`, for instance on another machine.
  init(at endpoint: Endpoint) throws(UserError) {
    let own: Address =
      endpoint.address.isLoopback
      ? .loopback : endpoint.address.isIPv6 ? .v6(high: 0, low: 0, scope: 0) : .v4(0)
    socket = try Self.open(own)
    self.endpoint = endpoint
    isNoted = false
  }

  private static func open(_ own: Address) throws(UserError) -> OSCPort {
    do throws(OpenFailure) {
      return try OSCPort(bindingTo: Endpoint(own, port: 0))
    } catch {
      throw UserError(error.description, .unavailable)
    }
  }

  var nobody: UserError {
    guard place == nil else {
      return UserError(
        "no tactus answers at \(endpoint): it has to run there, listen on its network (--osc-listen) and obey this machine "
          + "(--osc-allow)", .unavailable)
    }
    let blind =
      RunningNote.folder == nil
      ? " (XDG_RUNTIME_DIR is not set, so that a tactus at another port can't be found)" : ""
    return UserError(
      "no tactus answers at OSC port \(port) of this machine\(blind); start it, or say which port with --osc=PORT",
      .unavailable)
  }

  var silence: UserError {
    isNoted
      ? UserError("the tactus at OSC port \(port) does not answer: it may be busy; try again", .unavailable)
      : nobody
  }

  func say(_ message: Message) { socket.send(message, to: endpoint) }

  /// Returns the next messages. nil: no message came in time, or the bell rang.
  mutating func receive(withinMilliseconds limit: Int, orAt bell: Int32 = -1) throws(UserError) -> [Message]?
  {
    switch socket.receive(withinMilliseconds: limit, orAt: bell) {
    case .messages(let messages, endpoint): return messages
    case .messages, .nothing: return nil
    case .nobody: throw nobody
    }
  }

  /// Every value that can be read, in the order of the command table.
  mutating func values() throws(UserError) -> [(row: Node, arguments: [Argument])] {
    say(Message(Table.address("query")))
    var told: [String: [Argument]] = [:]
    while true {
      guard let messages = try receive(withinMilliseconds: Self.answerTimeoutMillis) else { throw silence }
      for message in messages {
        if message.address == Table.address("update"), message.arguments.first?.number == 0 {
          return Table.standard.rows.compactMap { row in
            row.kind == .answer ? nil : told[Table.address(row.path)].map { (row, $0) }
          } + Self.outputs(in: told)
        }
        told[message.address] = message.arguments
      }
    }
  }

  /// All channels of Link Audio, as the arguments of `audio/channel`; nil: tactus refused the request.
  mutating func channels() throws(UserError) -> [[Argument]]? {
    var channels: [[Argument]] = []
    var (page, pages) = (1, 1)
    say(Message(Table.address("audio/list"), .int32(1)))
    while true {
      guard let messages = try receive(withinMilliseconds: Self.answerTimeoutMillis) else { throw silence }
      for message in messages {
        switch message.address {
        case Table.address("error"): return nil
        case Table.address("audio/channel"): channels.append(message.arguments)
        case Table.address("audio/page"):
          pages = message.arguments.dropFirst().first?.number.map { Int($0) } ?? 1
        case Table.address("update") where message.arguments.first?.number == 0:
          guard page < pages else { return channels }
          page += 1
          say(Message(Table.address("audio/list"), .int32(Int32(page))))
        default: break
        }
      }
    }
  }

  /// The rows of the running tactus's own outputs. Only the running program knows their addresses.
  private static func outputs(in told: [String: [Argument]]) -> [(row: Node, arguments: [Argument])] {
    told.sorted { $0.key < $1.key }.compactMap { address, arguments in
      Table.path(of: address).flatMap { Table.ownOutput($0) }.map { ($0, arguments) }
    }
  }

  enum Answer {
    /// tactus obeyed the message. The associated value has the messages that arrived before the
    /// pong.
    case accepted([Message])
    case refused(String)
  }

  /// Sends a message, then a ping, and waits for the pong. Errors and values that arrive before the pong
  /// belong to the message.
  mutating func ask(_ message: Message) throws(UserError) -> Answer {
    say(message)
    say(Message(Table.address("ping")))
    var told: [Message] = []
    while true {
      guard let messages = try receive(withinMilliseconds: Self.answerTimeoutMillis) else { throw silence }
      for message in messages {
        switch message.address {
        case Table.address("pong"): return .accepted(told)
        case Table.address("bye"): return .accepted(told)
        case Table.address("error"): return .refused(message.arguments.first?.text ?? "refused")
        default: told.append(message)
        }
      }
    }
  }
}

extension Argument {
  fileprivate var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

extension JSON5 {
  /// A row's values in the form that programs prefer: true rather than 1.0, 131.1 rather than
  /// 131.10000610351562.
  init(_ arguments: [Argument], of row: Node?) {
    let values = arguments.enumerated().map { index, argument in
      JSON5(argument, as: row?.parameter(at: index))
    }
    self = values.count == 1 ? values[0] : .list(values)
  }

  private init(_ argument: Argument, as parameter: Parameter?) {
    if case .flag? = parameter, let number = argument.number {
      self = .boolean(number >= 0.5)
      return
    }
    switch argument {
    case .int32(let value): self = .number(Double(value), written: "\(value)")
    case .int64(let value): self = .number(Double(value), written: "\(value)")
    case .float32(let value): self = .of(Double(value.description) ?? 0)
    case .float64(let value): self = .of(value)
    case .string(let text): self = .string(text)
    case .truth(let value): self = .boolean(value)
    case .null, .impulse, .other: self = .null
    }
  }
}

/// How the user names the tactus that a command is for; empty, if only one runs.
struct Whereabouts: Equatable, Sendable {
  /// The OSC port of the tactus; 0: the user gave none.
  var port = 0
  var name: String?

  /// - Parameter running: the notes of all running tactus.
  func port(of running: [RunningNote.Content]) throws(UserError) -> Int {
    if port > 0 { return port }
    if let name {
      guard let found = running.first(where: { $0.name == name }) else {
        let others = running.isEmpty ? "" : "; there is \(Self.list(running))"
        throw UserError("no tactus called \"\(name.shortened)\" runs here" + others, .unavailable)
      }
      return found.port
    }
    let usual = Self.usualPort
    // A tactus without a note may use the usual port, because some systems have no place for a
    // note.
    if running.isEmpty || running.contains(where: { $0.port == usual }) { return usual }
    guard running.count == 1 else {
      throw UserError("several run here: \(Self.list(running)); say which with --name=NAME", .unavailable)
    }
    return running[0].port
  }

  /// The configured OSC port, or the default port if the configuration can't be read.
  private static var usualPort: Int {
    Int((try? Startup([]).configuration.surface.osc.port) ?? Table.port)
  }

  private static func list(_ all: [RunningNote.Content]) -> String {
    all.map { "\($0.name.shortened) (OSC port \($0.port))" }.joined(separator: ", ")
  }
}

/// A command that communicates with a running tactus.
protocol Conversing: Subcommand {
  var whereabouts: Whereabouts { get set }
}

extension Conversing {
  static var whereaboutsOptions: [Option<Self>] {
    [
      Option(
        "osc", "o", in: .other, .value("PORT", .whole(1...65_535), \.whereabouts.port),
        help:
          "The OSC port of the running tactus (default: the port of the only one that runs, or as configured)."
      ),
      Option(
        "name", "n", in: .other, .value("NAME", .text(63), \.whereabouts.name),
        help: "The JACK name of the running tactus, if several run."),
    ]
  }
}

/// The values of a running tactus: its state, and each value as text for people.
struct RemoteValues {
  private let known: [String: (row: Node, arguments: [Argument])]
  /// The state; a value that was not received is unknown in it.
  let state: SurfaceState

  init(_ values: [(row: Node, arguments: [Argument])]) {
    known = Dictionary(values.map { ($0.row.path, $0) }, uniquingKeysWith: { first, _ in first })
    var told = RemoteState()
    for (row, arguments) in values { told.receive(Message(Table.address(row.path), arguments: arguments)) }
    state = told.state
  }

  /// The texts of a list, whose first argument is their number.
  func list(_ path: String) -> [String] {
    (known[path]?.arguments ?? []).dropFirst().compactMap {
      if case .string(let text) = $0 { text } else { nil }
    }
  }

  /// A value as text: on and off for flags, strings without quotes, "?" if there is none.
  func words(_ path: String) -> String {
    guard let (row, arguments) = known[path] else { return "?" }
    switch JSON5(arguments, of: row) {
    case .boolean(let on): return on ? "on" : "off"
    case .string(let text): return text
    case .array(let elements): return elements.map(\.value.text).joined(separator: "/")
    case .null, .number, .object: return JSON5(arguments, of: row).text
    }
  }

  /// Whether a switch is on; nil: the value was not received, or is no switch.
  func flag(_ path: String) -> Bool? {
    guard let (row, arguments) = known[path], case .boolean(let isOn) = JSON5(arguments, of: row) else {
      return nil
    }
    return isOn
  }

  func isOn(_ path: String) -> Bool { flag(path) ?? false }

  func offset(_ path: String, _ follower: (path: String, port: String)? = nil) -> String {
    offsetNote(words(path), follower.map { ("offset of \($0.port)", words($0.path)) })
  }

  /// The offsets that are not 0, in milliseconds.
  var offsets: [(path: String, value: String)] {
    Table.standard.choices.map(\.path).filter {
      $0.hasSuffix("offset") && known[$0] != nil && words($0) != "0"
    }
    .map { ($0, words($0)) }
  }
}
