// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import TactusChoices

/// A server as an open client sees it.
public struct ServerDescription: Equatable, Sendable {
  /// The name by which the user asked for the server, or the name of JACK's default server.
  public var server: String
  /// The name that JACK has given to this client: JACK adds a number if the wanted name is taken.
  public var clientName: String
  public var implementation: JACKImplementation
  public var sampleRate: Int
  public var framesPerPeriod: Int
  /// Whether the server schedules its clients in real time.
  public var isRealtime: Bool
}

/// An open client: libjack's handle, closed by `deinit`. [control]
///
/// A process can use only one JACK server at a time, because libjack silently connects a second client to the
/// first server. So there is never more than one `JACKClient`.
public final class JACKClient {
  let handle: OpaquePointer
  public let server: String
  public let name: String
  /// Whether libjack started the server for this client.
  public let serverWasStarted: Bool
  private var isClosed = false

  /// Joins a running server; `server` nil is JACK's default server. With `mayStart`, a server is started if
  /// none runs.
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

  /// Whether another client has ports under our name. Call this before we register ports ourselves.
  private static func isTaken(_ handle: OpaquePointer) -> Bool {
    guard let name = jack_get_client_name(handle) else { return false }
    let prefix = String(cString: name) + ":"
    return portNames(jack_get_ports(handle, nil, nil, 0)).contains { $0.hasPrefix(prefix) }
  }

  deinit { close() }

  /// Closes the client, which must not be active, and makes `handle` invalid. Further calls do nothing.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    let turn = ServerTurn()
    let hangUp = HangUp(handle)
    withExtendedLifetime(hangUp) { _ = jack_client_close(handle) }
    turn?.end()
  }

  /// Waits for one answer of the server. When the answer comes, the server has finished its earlier work.
  func awaitAnswer() {
    if let answer = jack_get_uuid_for_client_name(handle, name) { jack_free(answer) }
  }

  /// The server's ports that have all of these flags.
  func ports(_ flags: JackPortFlags..., type: String? = nil) -> [String] {
    let bits = flags.reduce(UInt(0)) { $0 | UInt($1.rawValue) }
    return portNames(jack_get_ports(handle, nil, type, bits))
  }

  func exists(port name: String) -> Bool { jack_port_by_name(handle, name) != nil }

  /// The full names of the ports that are connected to the port `name` of any client.
  func connections(of name: String) -> [String] {
    guard let port = jack_port_by_name(handle, name) else { return [] }
    return portNames(jack_port_get_all_connections(handle, port))
  }

  /// The other clients that have the same ports as our client: each of them is a tactus.
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

  /// The name of the server that libjack itself uses when the caller names none.
  static var defaultServer: String {
    guard let name = getenv("JACK_DEFAULT_SERVER"), name.pointee != 0 else { return "default" }
    return String(cString: name)
  }
}

/// Makes libjack print nothing. Otherwise it would print to stderr, over the terminal view. Every important
/// message also arrives as an error.
private func silenceLibjack() {
  jack_set_error_function(ignoreMessage)
  jack_set_info_function(ignoreMessage)
}

private func ignoreMessage(_ text: UnsafePointer<CChar>?) {}

/// A lock that all tactus programs on a machine share, held around calls that jack2 cannot handle
/// concurrently.
/// jack2 keeps properties in a database without deadlock detection: two programs that remove properties at
/// the same time can wait for each other for ever.
///
/// A program that ends is a danger, too. Its client stops reading notifications before jackd learns that it
/// is closing, and each change of a property is one notification for every client. If 33 notifications have
/// arrived meanwhile, jackd waits for ever for the client to read the last one, and all other clients wait
/// for jackd. Six programs that ended together on a busy machine were enough to cause this deadlock.
struct ServerTurn {
  /// The number of attempts to take the lock, at intervals of 10 ms. A program that holds the lock for two
  /// seconds hangs, and a property is not worth a longer wait.
  private static let lockAttempts = 200
  /// The file descriptor of /dev/shm. All clients of a server share this folder, so it serves as the lock
  /// file.
  private let folder: Int32

  /// Takes the lock; nil: the lock did not become free in time.
  init?() {
    folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for _ in 0..<Self.lockAttempts {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return }
      usleep(10_000)
    }
    close(folder)
    return nil
  }

  func end() { close(folder) }
}
