// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import Synchronization
import TactusTestSupport
import Testing

@testable import TactusJACK

/// A private JACK server for a test, of the kind whose libjack this process has loaded: jackd with the dummy
/// driver, or PipeWire if the tests run under `pw-jack`. A process can have only one test server at a time,
/// because libjack knows one server.
final class TestServer {
  static var isPipeWire: Bool {
    if case .pipeWire = JACKImplementation.loaded { true } else { false }
  }

  /// The two physical inputs that each test server has.
  static let outputs =
    isPipeWire ? ["system:playback_FL", "system:playback_FR"] : ["system:playback_1", "system:playback_2"]

  /// Whether the server may run with real-time priority, as in the lab. If it may, other load on this machine
  /// does not disturb the server's cycles.
  private static let mayRunRealtime: Bool = {
    let answer = Mutex(false)
    Worker {
      var parameters = sched_param(sched_priority: 10)
      // This call changes only the calling thread, although its name speaks of the scheduler.
      let may = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0
      answer.withLock { $0 = may }
    }.join()
    return answer.withLock { $0 }
  }()

  let name: String
  /// The period in frames with which the server starts next. `rate` is its next sample rate.
  var period = 256
  var rate = 48_000
  /// The last client that watches the transport on this server. It says what it saw if a wait is in vain.
  weak var watch: TransportWatch?
  private var child: pid_t = 0
  private var stopped: Stop?
  private let directory: String

  init() async throws {
    var template = Array("/tmp/tactus-test-XXXXXX".utf8CString)
    directory = try #require(mkdtemp(&template).map { String(cString: $0) })
    name = Self.isPipeWire ? "pipewire-0" : "tactus-test-\(getpid())"
    try await start()
  }

  deinit {
    end(SIGTERM)
    for file in ["pipewire.conf", "pipewire-0", "pipewire-0.lock"] { unlink("\(directory)/\(file)") }
    rmdir(directory)
  }

  func start() async throws {
    try spawn()
    for _ in 0..<1_000 {
      if (try? JACKClient(name: "waiting", server: name)) != nil { return }
      if waitpid(child, nil, WNOHANG) == child { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the test's JACK server did not start")
  }

  /// Ends the server: SIGKILL for a crash, SIGTERM for a clean shutdown.
  func end(_ signal: Int32) {
    guard child > 0 else { return }
    stopped?.end()
    kill(child, signal)
    waitpid(child, nil, 0)
    child = 0
  }

  /// Stops the server's process until `goOn` or `end`. If the control thread was late, it may call JACK after
  /// the server's stop, and would wait for ever, since only this thread lets the server go on. So another
  /// thread frees such a server.
  func stop() {
    kill(child, SIGSTOP)
    let stop = Stop(child)
    self.stopped = stop
    _ = Worker { stop.watch() }
  }

  func goOn() {
    stopped?.end()
    kill(child, SIGCONT)
  }

  /// Whether a stopped server had to go on, since a call waited for it.
  var hasBeenFreed: Bool { stopped?.isFreed ?? false }

  /// Stops the server's process for a while, as a driver that stalls does.
  func stall(milliseconds: UInt32) async throws {
    stop()
    try await Task.sleep(for: .milliseconds(milliseconds))
    goOn()
  }

  /// Stops the server's process for a while, from another thread. Meanwhile the caller can make a call to
  /// jackd, which then has to wait.
  func stalled(milliseconds: UInt32) -> Worker {
    stop()
    return Worker { [child] in
      usleep(1_000 * milliseconds)
      kill(child, SIGCONT)
    }
  }

  /// A time in which the server's process is stopped.
  private final class Stop: Sendable {
    private enum State { case under, freed, over }
    private let state = Mutex(State.under)
    private let child: pid_t

    init(_ child: pid_t) { self.child = child }

    var isFreed: Bool { state.withLock { $0 == .freed } }

    func end() {
      state.withLock { if $0 == .under { $0 = .over } }
    }

    /// Frees the server if a call to JACK has waited for five seconds.
    func watch() {
      var waits = 0
      while state.withLock({ $0 == .under }) {
        usleep(50_000)
        waits = Question.isUnanswered ? waits + 1 : 0
        guard waits > 100 else { continue }
        state.withLock {
          if $0 == .under {
            $0 = .freed
            kill(child, SIGCONT)
          }
        }
      }
    }
  }

  private func spawn() throws {
    if Self.isPipeWire {
      setenv("XDG_RUNTIME_DIR", directory, 1)
      setenv("PIPEWIRE_RUNTIME_DIR", directory, 1)
      // This is the lab's configuration, except that clients may change the period and the rate.
      let words =
        "s/@RATE@/\(rate)/; s/@RATES@/44100 48000/; s/@PERIOD@/\(period)/; s/@LEAST@/32/; s/@MOST@/8192/; s/@REALTIME@//"
      let (template, own) = ("\(Lab.top)/tools/lib/pipewire.conf", "\(directory)/pipewire.conf")
      try spawn(["sh", "-c", "sed '\(words)' '\(template)' >'\(own)' && exec pipewire -c '\(own)'"])
    } else {
      setenv("JACK_NO_AUDIO_RESERVATION", "1", 1)
      unsetenv("DISPLAY")
      let scheduling = Self.mayRunRealtime ? ["--realtime", "--realtime-priority", "10"] : ["--no-realtime"]
      let driver = ["-d", "dummy", "--rate", "\(rate)", "--period", "\(period)"]
      try spawn(["jackd"] + scheduling + ["--name", name] + driver)
    }
  }

  private func spawn(_ command: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    try #require(posix_spawnp(&child, command[0], &actions, nil, &arguments, environ) == 0)
  }
}
