// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusOSC

/// An entry in the network's directory (mDNS), by which tablets find tactus.
///
/// Avahi's own command publishes the entry for as long as it runs. One shell waits for that command. A second
/// shell reads a pipe from us and ends the command when the pipe closes, which happens however tactus ends.
/// Without Avahi there is no entry, and all else works.
struct Announcement: ~Copyable {
  enum Service: CaseIterable {
    case osc, oscQuery, page

    var words: [String] {
      switch self {
      case .osc: ["_osc._udp", "txtvers=1", "version=1.1", "types=ifsTFhdNI"]
      case .oscQuery: ["_oscjson._tcp", "txtvers=1"]
      case .page: ["_http._tcp", "path=/"]
      }
    }
  }

  private let shell: pid_t
  private let pipe: Int32
  private let command: String

  private static let notInstalled: Int32 = 127
  private static let script = """
    command -v "$1" >/dev/null || exit \(notInstalled)
    exec 3<&0
    "$@" 3<&- & publisher=$!
    { read -r end <&3; kill "$publisher"; } & watch=$!
    wait "$publisher"
    kill "$watch"
    """

  /// Starts the announcement; nil: not even a shell could be started.
  init?(_ service: Service, name: String, port: UInt16, command: String) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
      Glibc.close(ends[0])
    }
    let words =
      ["sh", "-c", Self.script, "sh", command, "-f", "-s", Self.shortened(name), service.words[0], "\(port)"]
      + service.words.dropFirst()
    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    guard posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ) == 0 else {
      Glibc.close(ends[1])
      return nil
    }
    shell = child
    pipe = ends[1]
    self.command = command
  }

  /// Why the announcement has ended; nil: it has not.
  var ended: String? {
    var status: Int32 = 0
    guard waitpid(shell, &status, WNOHANG) != 0 else { return nil }
    return status >> 8 == Self.notInstalled
      ? "\(command) is not installed" : "\(command) has ended: does avahi-daemon run?"
  }

  deinit {
    Glibc.close(pipe)
    var status: Int32 = 0
    while waitpid(shell, &status, 0) < 0, errno == EINTR {}
  }

  /// Shortens a name to 63 bytes without control characters, as mDNS demands.
  static func shortened(_ name: String) -> String {
    var shown = ""
    for character in printable(name, limit: 63) {
      guard shown.utf8.count + character.utf8.count <= 63 else { break }
      shown.append(character)
    }
    return shown
  }
}
