// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc

/// Lets libjack start a server, with the command line in the user's `.jackdrc`. [control]
///
/// jack2's libjack adds the server's name and `-T`, so the server ends with its last client. Without a
/// `.jackdrc`, libjack would try `jackd -d alsa` on the first sound card; we don't let libjack guess.
public enum ServerStart {
  /// The reason why no server was started.
  public enum Obstacle: Equatable, Sendable {
    /// There is no `.jackdrc`.
    case notConfigured
    /// `JACK_NO_START_SERVER` is set.
    case forbidden
    /// PipeWire's libjack starts no server.
    case pipeWire
    /// The command in `file` started no server within libjack's six seconds.
    case inVain(file: String)
  }

  /// The file with the command that starts a server, in a place where libjack looks; nil if there is no such
  /// file.
  public static var file: String? {
    let home = getenv("HOME").map { String(cString: $0) + "/.jackdrc" }
    return ([home].compactMap(\.self) + ["/etc/jackdrc"]).first { access($0, R_OK) == 0 }
  }

  /// Lets libjack start the server. Takes one second, or six if it fails.
  static func open(_ name: String, _ server: String?) throws(JACKError) -> (OpaquePointer, isStarted: Bool) {
    let serverName = server ?? JACKClient.defaultServer
    if case .pipeWire = JACKImplementation.loaded { throw .notStarted(serverName, .pipeWire) }
    guard getenv("JACK_NO_START_SERVER") == nil else { throw .notStarted(serverName, .forbidden) }
    guard let file else { throw .notStarted(serverName, .notConfigured) }
    var status = JackStatus(rawValue: 0)
    guard childrenAreDetached,
      let handle = detached({ cjack_client_open(name, JackNullOption, &status, server) })
    else {
      let error = JACKError(status: status, server: serverName)
      if case .noServer = error { throw .notStarted(serverName, .inVain(file: file)) }
      throw error
    }
    return (handle, status.rawValue & JackServerStarted.rawValue != 0)
  }

  private static func detached<Result>(_ body: () -> Result) -> Result {
    isStarting = true
    defer { isStarting = false }
    return body()
  }
}

/// Whether a process that is forked now becomes the JACK server. Only the control thread uses this variable.
nonisolated(unsafe) private var isStarting = false

private let childrenAreDetached = pthread_atfork(nil, nil, detachServer) == 0

/// Detaches libjack's child process from tactus before the child becomes the server. Otherwise the server
/// would write into the terminal view for as long as it runs, keep our stdout pipe open, and inherit the
/// signals that we block or ignore.
private func detachServer() {
  guard isStarting else { return }
  let nothing = open("/dev/null", O_RDWR)
  dup2(nothing, STDIN_FILENO)
  dup2(nothing, STDOUT_FILENO)
  dup2(nothing, STDERR_FILENO)
  if nothing > STDERR_FILENO { close(nothing) }
  signal(SIGPIPE, SIG_DFL)
  var none = sigset_t()
  sigemptyset(&none)
  sigprocmask(SIG_SETMASK, &none, nil)
}
