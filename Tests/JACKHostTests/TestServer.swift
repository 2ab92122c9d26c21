// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Glibc
import Testing

@testable import JACKHost

/// A JACK server of the test's own, of the kind whose libjack this process has loaded: jackd with the dummy
/// driver, or PipeWire when the tests run under `pw-jack`. One at a time per process: libjack knows no more.
final class TestServer {
  let name: String
  private(set) var period: Int
  private let rate: Int
  private var child: pid_t = 0

  static var isPipeWire: Bool {
    if case .pipeWire = JACKImplementation.loaded { true } else { false }
  }

  init(period: Int = 256, rate: Int = 48_000) async throws {
    self.period = period
    self.rate = rate
    name = "tactus-test-\(getpid())"
    try await start()
  }

  deinit {
    end(SIGTERM)
  }

  func start() async throws {
    child = try spawn([
      "jackd", "--no-realtime", "--name", name, "-d", "dummy", "--rate", "\(rate)", "--period", "\(period)",
    ])
    for _ in 0..<1_000 {
      if (try? JACKClient(name: "waiting", server: name)) != nil { return }
      if waitpid(child, nil, WNOHANG) == child { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the test's JACK server did not start")
  }

  /// Ends the server: SIGKILL is a crash, SIGTERM a server that takes its leave.
  func end(_ signal: Int32) {
    guard child > 0 else { return }
    kill(child, signal)
    waitpid(child, nil, 0)
    child = 0
  }

  private func spawn(_ command: [String]) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    setenv("JACK_NO_AUDIO_RESERVATION", "1", 1)
    unsetenv("DISPLAY")
    var pid: pid_t = 0
    try #require(posix_spawnp(&pid, command[0], &actions, nil, &arguments, environ) == 0)
    return pid
  }
}
