// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Runs `tactus doctor` as a separate program when a visitor of the page asks for it. That program may hang
/// where JACK's server hangs, and it sees JACK as any new client does.
enum DoctorVisit {
  private static let timeoutMillis: Int32 = 20_000
  private static let longest = 65_536
  private static let mostDescriptors: Int32 = 1024

  /// The output of `tactus doctor --json`; nil: no output came in time. Blocks until the output or the
  /// timeout.
  static func report() -> [UInt8]? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    // The child must not keep any of our descriptors open after our end, not even a descriptor that a library
    // opened.
    for descriptor in 3..<mostDescriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    let child = start(writing: ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    guard let child else { return nil }
    let heard = read(ends[0])
    // A child that hangs in a system call ends when that call returns.
    kill(child, SIGKILL)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return heard
  }

  private static func start(writing end: Int32) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var (all, none) = (sigset_t(), sigset_t())
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    let words = ["tactus", "doctor", "--json"]
    let arguments = words.map { strdup($0) } + [nil]
    defer {
      for argument in arguments { free(argument) }
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var child: pid_t = 0
    return posix_spawn(&child, "/proc/self/exe", &actions, &attributes, arguments, environ) == 0 ? child : nil
  }

  /// Reads the output to its end. nil: no output, too much of it, or too long a pause.
  private static func read(_ end: Int32) -> [UInt8]? {
    var heard: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 8192)
    while heard.count < longest {
      var place = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      guard poll(&place, 1, timeoutMillis) > 0 else { return nil }
      let count = Glibc.read(end, &chunk, chunk.count)
      guard count > 0 else { return heard.isEmpty ? nil : heard }
      heard += chunk[..<count]
    }
    return nil
  }
}
