// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import CJACK
import Glibc

/// What can be said about a server once a client is open on it.
public struct ServerDescription: Equatable, Sendable {
  /// The server's name as asked for, or JACK's default.
  public var server: String
  /// The name that this client really has: JACK adds a number if the wanted one is taken.
  public var clientName: String
  public var implementation: JACKImplementation
  public var sampleRate: Int
  public var framesPerPeriod: Int
  /// Whether the server schedules its clients in real time.
  public var isRealtime: Bool
}

/// An open client: libjack's handle, closed when this is let go. [control]
///
/// One process can use one JACK server at a time (a second open lands silently on the first server), so
/// there is never more than one of these.
public final class JACKClient {
  let handle: OpaquePointer
  public let server: String
  public let name: String
  /// It was not there, and was started for this client.
  public let serverWasStarted: Bool
  private var isClosed = false

  /// Joins a running server. `server` nil is JACK's default; `mayStart`: if none runs, one may be started.
  public convenience init(name: String, server: String?, mayStart: Bool = false) throws(JACKError) {
    let limit = Int(jack_client_name_size()) - 1
    guard !name.isEmpty, name.utf8.count <= limit, !name.utf8.contains(UInt8(ascii: ":")),
      !name.utf8.contains(0)
    else { throw .unusableName(name, limit: limit) }
    silenceLibjack()
    var (handle, isStarted) = try Self.open(name, server, mayStart: mayStart)
    if !JACKImplementation.loaded.keepsClientNamesApart {
      var number = 0
      while Self.isTaken(handle), number < 99 {
        jack_client_close(handle)
        number += 1
        handle = try Self.open("\(name)-\(number < 10 ? "0" : "")\(number)", server)
      }
    }
    self.init(handle: handle, server: server ?? Self.defaultServer, serverWasStarted: isStarted)
  }

  private init(handle: OpaquePointer, server: String, serverWasStarted: Bool) {
    self.handle = handle
    self.server = server
    self.serverWasStarted = serverWasStarted
    name = jack_get_client_name(handle).map { String(cString: $0) } ?? ""
  }

  private static func open(
    _ name: String, _ server: String?, mayStart: Bool
  ) throws(JACKError) -> (OpaquePointer, isStarted: Bool) {
    do throws(JACKError) {
      return (try open(name, server), false)
    } catch {
      guard mayStart, case .noServer = error else { throw error }
      return try ServerStart.open(name, server)
    }
  }

  private static func open(_ name: String, _ server: String?) throws(JACKError) -> OpaquePointer {
    var status = JackStatus(rawValue: 0)
    guard let handle = Question.ask({ cjack_client_open(name, JackNoStartServer, &status, server) }) else {
      throw JACKError(status: status, server: server ?? defaultServer)
    }
    return handle
  }

  /// Whether somebody has ports under our name, before we have any.
  private static func isTaken(_ handle: OpaquePointer) -> Bool {
    guard let name = jack_get_client_name(handle) else { return false }
    let prefix = String(cString: name) + ":"
    return portNames(jack_get_ports(handle, nil, nil, 0)).contains { $0.hasPrefix(prefix) }
  }

  deinit { close() }

  /// Once; the handle is nothing any more.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    let turn = ServerTurn()
    jack_client_close(handle)
    turn?.end()
  }

  /// The server has done all that it was doing when it answers.
  func awaitAnswer() {
    if let answer = jack_get_uuid_for_client_name(handle, name) { jack_free(answer) }
  }

  /// The server's ports that have all of these flags.
  func ports(_ flags: JackPortFlags..., type: String? = nil) -> [String] {
    let bits = flags.reduce(UInt(0)) { $0 | UInt($1.rawValue) }
    return portNames(jack_get_ports(handle, nil, type, bits))
  }

  func exists(port name: String) -> Bool { jack_port_by_name(handle, name) != nil }

  /// The ports that this port, of any client, is connected with.
  func connections(of name: String) -> [String] {
    guard let port = jack_port_by_name(handle, name) else { return [] }
    return portNames(jack_port_get_all_connections(handle, port))
  }

  /// The other clients that have our ports: each is a tactus.
  var neighbours: Set<String> {
    let clients = portNames(jack_get_ports(handle, ":\(Port.run.name)$", nil, 0))
      .map { String($0.dropLast(Port.run.name.count + 1)) }
    return Set(
      clients.filter { other in
        other != name && Port.registered.allSatisfy { exists(port: "\(other):\($0.name)") }
      })
  }

  public var description: ServerDescription {
    ServerDescription(
      server: server, clientName: name, implementation: .loaded,
      sampleRate: Int(jack_get_sample_rate(handle)), framesPerPeriod: Int(jack_get_buffer_size(handle)),
      isRealtime: jack_is_realtime(handle) != 0)
  }

  /// The name that libjack itself uses when none is given.
  static var defaultServer: String {
    guard let name = getenv("JACK_DEFAULT_SERVER"), name.pointee != 0 else { return "default" }
    return String(cString: name)
  }
}

/// libjack writes its opinions to stderr, over whatever is shown there; what matters comes back as errors.
private func silenceLibjack() {
  jack_set_error_function(ignoreMessage)
  jack_set_info_function(ignoreMessage)
}

private func ignoreMessage(_ text: UnsafePointer<CChar>?) {}

/// Of several tactus one at a time: jack2 is not made for two at once.
///
/// It keeps properties in a database without anybody who settles who waits for whom: two programs that remove theirs at one
/// moment can wait for each other for ever. And a program that closes a client reads no news any more from before jackd hears of
/// it: when 33 have come meanwhile, and a change of a property is one for everybody, jackd waits for ever to have the last
/// one read, and all its clients with it. Six that end together on a busy machine were enough.
struct ServerTurn {
  /// A program that has it so long will not let go; nothing here is worth waiting for longer.
  private static let patience = 200
  /// Who shares the server shares this folder.
  private let folder: Int32

  /// Nil: it did not come.
  init?() {
    folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for _ in 0..<Self.patience {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return }
      usleep(10_000)
    }
    close(folder)
    return nil
  }

  func end() { close(folder) }
}
