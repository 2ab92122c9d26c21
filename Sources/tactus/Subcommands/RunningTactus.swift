// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5
import OSC

/// The tactus that runs on this machine, as `status`, `monitor`, `send` and `check` speak with it: over OSC.
struct RunningTactus: ~Copyable {
  enum Failure: Error {
    case noSocket(OpenFailure)
    case nobody(port: Int)
    case nobodyCalled(String, of: [RunningNote.Content])
    case several([RunningNote.Content])

    var text: String {
      switch self {
      case .noSocket(let failure): failure.description
      case .nobody(let port):
        "no tactus answers at OSC port \(port) of this machine; start it, or say which port with --osc=PORT"
      case .nobodyCalled(let name, let others):
        "no tactus called \"\(name.shortened)\" runs here"
          + (others.isEmpty ? "" : "; there is \(Self.list(others))")
      case .several(let all): "several run here: \(Self.list(all)); say which with --name=NAME"
      }
    }

    private static func list(_ all: [RunningNote.Content]) -> String {
      all.map { "\($0.name.shortened) (OSC port \($0.port))" }.joined(separator: ", ")
    }
  }

  /// It looks after its surface many times a second, and may be on a busy machine.
  static let patience = 2000

  private var client: SurfaceClient
  let port: Int

  init(_ whereabouts: Whereabouts) throws(Failure) {
    try self.init(port: whereabouts.port(of: RunningNote.all()))
  }

  private init(port: Int) throws(Failure) {
    self.port = port
    do throws(OpenFailure) {
      client = try SurfaceClient(port: UInt16(clamping: port))
    } catch {
      throw .noSocket(error)
    }
  }

  static func address(_ path: String) -> String { "/\(Table.root)/\(path)" }

  func say(_ message: Message) { client.send(message) }

  /// The next messages; nil if nothing came within the time.
  mutating func hear(withinMilliseconds limit: Int) throws(Failure) -> [Message]? {
    switch client.hear(withinMilliseconds: limit) {
    case .messages(let messages): return messages
    case .nothing: return nil
    case .nobody: throw .nobody(port: port)
    }
  }

  /// Everything that it can be asked, in the table's order.
  mutating func values() throws(Failure) -> [(row: Node, arguments: [Argument])] {
    say(Message(Self.address("query")))
    var told: [String: [Argument]] = [:]
    while true {
      guard let messages = try hear(withinMilliseconds: Self.patience) else { throw .nobody(port: port) }
      for message in messages {
        if message.address == Self.address("update"), message.arguments.first?.number == 0 {
          return Table.standard.rows.compactMap { row in
            row.kind == .answer ? nil : told[Self.address(row.path)].map { (row, $0) }
          }
        }
        told[message.address] = message.arguments
      }
    }
  }

  enum Answer {
    /// What it told us meanwhile.
    case accepted([Message])
    case refused(String)
  }

  /// Says it and waits until it has been heard: what comes before the answer to a ping is about what came before it.
  mutating func ask(_ message: Message) throws(Failure) -> Answer {
    say(message)
    say(Message(Self.address("ping")))
    var told: [Message] = []
    while true {
      guard let messages = try hear(withinMilliseconds: Self.patience) else { throw .nobody(port: port) }
      for message in messages {
        switch message.address {
        case Self.address("pong"): return .accepted(told)
        case Self.address("bye"): return .accepted(told)
        case Self.address("error"): return .refused(message.arguments.first?.text ?? "refused")
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
  /// What a row tells, as programs like it: true rather than 1.0, 131.1 rather than 131.10000610351562.
  init(_ arguments: [Argument], of row: Node?) {
    let values = arguments.enumerated().map { index, argument in
      JSON5(argument, as: row.flatMap { index < $0.parameters.count ? $0.parameters[index] : nil })
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
