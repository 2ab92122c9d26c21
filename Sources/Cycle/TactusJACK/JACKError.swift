// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK

/// The reason why a JACK server could not be used. Each case's text tells the user what is wrong.
public enum JACKError: Error, Equatable, Sendable {
  /// No server of that name runs.
  case noServer(String)
  /// No server runs, and none could be started.
  case notStarted(String, ServerStart.Obstacle)
  /// The client's name is empty, too long for this JACK (`limit` bytes) or has a colon in it.
  case unusableName(String, limit: Int)
  /// libjack and the server were built for different protocols.
  case versionMismatch
  /// The server's shared memory can't be reached: another user's server, or a full /dev/shm.
  case sharedMemory
  /// The server answered and refused the client. `status` has the bits by which JACK tells the reason.
  case refused(status: UInt32)
  /// A port could not be registered.
  case portRefused(String)
  /// The client could not be activated.
  case activationRefused(code: Int32)

  init(status: jack_status_t, server: String) {
    let bits = status.rawValue
    if bits & JackVersionError.rawValue != 0 {
      self = .versionMismatch
    } else if bits & JackShmFailure.rawValue != 0 {
      self = .sharedMemory
    } else if bits & (JackServerFailed.rawValue | JackServerError.rawValue) != 0 {
      self = .noServer(server)
    } else {
      self = .refused(status: bits)
    }
  }
}

extension JACKError {
  /// Whether the only problem is that no server runs.
  public var isForWantOfServer: Bool {
    switch self {
    case .noServer, .notStarted: true
    case .unusableName, .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: false
    }
  }
}

extension JACKError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noServer(let name):
      "no JACK server called \"\(name)\" is running"
    case .notStarted(let name, let obstacle):
      "\(JACKError.noServer(name)), \(obstacle)"
    case .unusableName(let name, let limit):
      "\"\(name)\" can't be a JACK client's name: 1 to \(limit) bytes, no colon"
    case .versionMismatch:
      "the JACK server and this machine's libjack are of different versions"
    case .sharedMemory:
      "the JACK server's shared memory can't be reached: is it another user's server, or is /dev/shm full?"
    case .refused(let status):
      "the JACK server refused the client (status 0x\(String(status, radix: 16)))"
    case .portRefused(let name):
      "JACK refused to register the port \"\(name)\""
    case .activationRefused(let code):
      "JACK refused to activate the client (\(code))"
    }
  }
}

extension ServerStart.Obstacle: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notConfigured: "and no ~/.jackdrc says how to start one"
    case .forbidden: "and JACK_NO_START_SERVER forbids starting one"
    case .pipeWire: "and PipeWire's libjack cannot start one"
    case .inVain(let file): "and the command in \(file) did not start one"
    }
  }
}
