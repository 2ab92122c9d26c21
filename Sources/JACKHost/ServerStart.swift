// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Glibc

/// A server that is started for us: by libjack, with the line that its user has written for that. [control]
///
/// jack2's libjack runs the line with the server's name and with `-T` in it, so such a server ends with its last client.
/// Where there is no such file libjack would try `jackd -d alsa` on whatever card is the first; we don't let it guess.
public enum ServerStart {
  /// Why none was started.
  public enum Obstacle: Equatable, Sendable {
    /// Nobody has written how.
    case notConfigured
    /// `JACK_NO_START_SERVER` is set.
    case forbidden
    /// PipeWire's libjack starts none.
    case pipeWire
    /// What that file says brought no server within libjack's six seconds.
    case inVain(file: String)
  }

  /// The file with the line that starts a server, where libjack looks for it; nil if there is none.
  public static var file: String? {
    let home = getenv("HOME").map { String(cString: $0) + "/.jackdrc" }
    return ([home].compactMap(\.self) + ["/etc/jackdrc"]).first { access($0, R_OK) == 0 }
  }

  /// Lets libjack do it. It takes a second, and six if nothing comes.
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

/// Whether the process that is forked now is the server-to-be. The control thread's.
nonisolated(unsafe) private var isStarting = false

private let childrenAreDetached = pthread_atfork(nil, nil, detachServer) == 0

/// In libjack's child, before it becomes the server: that would write its messages into the terminal view for as long as
/// it runs, keep a pipe open that somebody reads us through, and be deaf to the signals that only we take our own way.
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
