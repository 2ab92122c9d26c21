// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// A program that a test starts. The test writes its standard input and reads its standard output line by
/// line; its standard error is kept. The program ends with this object at the latest. Use an object from one
/// task at a time.
public final class ChildProcess: @unchecked Sendable {
  public let identifier: pid_t
  private let input: CInt
  private let output: CInt
  private let errors: CInt
  private var pending: [UInt8] = []
  /// The last lines that were read, for the report if the next line does not come.
  private var taken: [String] = []
  private var inputIsOpen = true
  private var ended: Int32?

  public enum Failure: Error, CustomStringConvertible {
    case cannotStart(String, errno: Int32)
    case silent(after: Duration, errors: String)
    case ended(status: Int32, errors: String)

    public var description: String {
      switch self {
      case .cannotStart(let program, let number): "\(program): \(String(cString: strerror(number)))"
      case .silent(let duration, let errors): "no line within \(duration); it said: \(errors)"
      case .ended(let status, let errors): "ended with \(status); it said: \(errors)"
      }
    }
  }

  /// - Parameter environment: variables that are added to ours; an empty value removes a variable.
  public init(_ command: [String], environment: [String: String] = [:]) throws {
    Self.brokenPipesAreErrors
    let (toChild, fromChild, errors) = (try Self.pipe(), try Self.pipe(), try Self.scratchFile())
    (input, output, self.errors) = (toChild.write, fromChild.read, errors)
    defer {
      close(toChild.read)
      close(fromChild.write)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (ours, theirs) in [(toChild.read, 0), (fromChild.write, 1), (errors, 2)] as [(CInt, CInt)] {
      posix_spawn_file_actions_adddup2(&actions, ours, theirs)
    }
    // Close all other descriptors, ours and those that we inherited. Tests run side by side: a pipe would not
    // end while another child holds a copy of it, some programs count descriptors, and some bind addresses
    // that were just closed.
    closeFrom(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var child: pid_t = 0
    let failure = Self.withCStrings(command) { arguments in
      Self.withCStrings(Self.environment(changedBy: environment)) { variables in
        Self.spawning.withLock { _ in
          posix_spawnp(&child, command[0], &actions, &attributes, arguments, variables)
        }
      }
    }
    identifier = child
    guard failure == 0 else {
      ended = failure
      throw Failure.cannotStart(command[0], errno: failure)
    }
  }

  deinit {
    if ended == nil {
      kill(identifier, SIGKILL)
      status()
    }
    closeInput()
    close(output)
    close(errors)
  }

  public typealias Finished = (status: Int32, output: String, errors: String)

  /// Runs a program until it ends.
  public static func run(
    _ command: [String], environment: [String: String] = [:], within limit: Duration = .seconds(60)
  ) async throws -> Finished {
    let child = try ChildProcess(command, environment: environment)
    child.closeInput()
    var output = ""
    let deadline = ContinuousClock.now + limit
    while let line = try await child.line(within: time(to: deadline)) { output += line + "\n" }
    return (await child.status(), output, child.saidOnErrors)
  }

  /// Runs a program until it ends, and blocks. Call this only on a thread of your own, because all tests
  /// share a few threads.
  public static func run(
    _ command: [String], environment: [String: String] = [:], within limit: Duration = .seconds(60)
  ) throws -> Finished {
    let child = try ChildProcess(command, environment: environment)
    child.closeInput()
    var output = ""
    let deadline = ContinuousClock.now + limit
    while let line = try child.line(within: time(to: deadline)) { output += line + "\n" }
    return (child.status(), output, child.saidOnErrors)
  }

  private static func time(to deadline: ContinuousClock.Instant) -> Duration {
    ContinuousClock.now.duration(to: deadline)
  }

  public func send(_ line: String) {
    var bytes = Array((line + "\n").utf8)[...]
    while inputIsOpen, !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      guard count > 0 else { return }  // the program has ended; waiting for the next line will report it
      bytes = bytes.dropFirst(count)
    }
  }

  public func closeInput() {
    if inputIsOpen { close(input) }
    inputIsOpen = false
  }

  /// The next line of standard output; nil: the output has ended.
  public func line(within limit: Duration = .seconds(30)) async throws -> String? {
    let deadline = ContinuousClock.now + limit
    while true {
      switch receive(waiting: 0) {
      case .line(let line): return line
      case .end: return nil
      case .silence:
        guard ContinuousClock.now < deadline else { throw silence(of: limit) }
        try Task.checkCancellation()
        await Doorbell.wait(for: output, until: min(deadline, .now + Self.slice))
      }
    }
  }

  /// The next line that begins with `start`. Earlier lines are skipped: on a busy machine tactus may first
  /// report that JACK does not answer.
  public func line(beginning start: String) async throws -> String {
    while let line = try await line() {
      if line.hasPrefix(start) { return line }
    }
    throw Failure.ended(status: await status(), errors: saidOnErrors)
  }

  /// The next line of standard output. Blocks: call this only on a thread of your own, because all tests
  /// share a few threads.
  public func line(within limit: Duration = .seconds(30)) throws -> String? {
    let deadline = ContinuousClock.now + limit
    while true {
      switch receive(waiting: 10) {
      case .line(let line): return line
      case .end: return nil
      case .silence: guard ContinuousClock.now < deadline else { throw silence(of: limit) }
      }
    }
  }

  private enum Heard {
    case line(String)
    case end
    case silence
  }

  private func receive(waiting milliseconds: Int32) -> Heard {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeSubrange(...end)
        if taken.count == 20 { taken.removeFirst() }
        taken.append(line)
        return .line(line)
      }
      var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, milliseconds) > 0 else { return .silence }
      var chunk = [UInt8](repeating: 0, count: 65536)
      let count = read(output, &chunk, chunk.count)
      if count > 0 {
        pending += chunk[..<count]
      } else if pending.isEmpty {
        return .end
      } else {
        pending.append(UInt8(ascii: "\n"))  // a last line without a line break
      }
    }
  }

  private func silence(of limit: Duration) -> Failure {
    .silent(after: limit, errors: saidOnErrors + taken.map { "> \($0)\n" }.joined())
  }

  public func signal(_ number: CInt) {
    if ended == nil { kill(identifier, number) }
  }

  /// Waits until the program ends. Returns its exit status, or 128 plus the signal, as a shell does.
  @discardableResult
  public func status() async -> Int32 {
    let deadline = ContinuousClock.now + Self.patience
    while !hasEnded(WNOHANG) {
      // A program that hangs must fail only its own test.
      if ContinuousClock.now > deadline { signal(SIGKILL) }
      try? await Task.sleep(for: Self.pause)
    }
    return ended ?? -1
  }

  /// Waits until the program ends, and blocks. Call this only on a thread of your own, or if the program is
  /// about to end.
  @discardableResult
  public func status() -> Int32 {
    _ = hasEnded(0)
    return ended ?? -1
  }

  private func hasEnded(_ options: Int32) -> Bool {
    if ended != nil { return true }
    var raw: Int32 = 0
    var child: pid_t = -1
    repeat { child = waitpid(identifier, &raw, options) } while child < 0 && errno == EINTR
    if child == 0 { return false }
    ended = child < 0 ? -1 : raw & 0x7f == 0 ? (raw >> 8) & 0xff : 128 + (raw & 0x7f)
    return true
  }

  /// All that the program has written to standard error so far.
  public var saidOnErrors: String {
    let size = Int(lseek(errors, 0, SEEK_END))
    var bytes = [UInt8](repeating: 0, count: max(0, min(size, 1 << 20)))
    let count = pread(errors, &bytes, bytes.count, 0)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  private static let spawning = Mutex(())
  private static let patience = Duration.seconds(120)
  private static let pause = Duration.milliseconds(5)
  /// How often a wait for a line checks whether the test was cancelled.
  private static let slice = Duration.seconds(1)

  /// Waits until no child is being started. Until a new child executes its program, it holds copies of all
  /// our descriptors, even of those that were closed since. Call this before binding an address that was just
  /// closed.
  public static func waitForOthers() { spawning.withLock { _ in } }

  private static func pipe() throws -> (read: CInt, write: CInt) {
    var ends: [CInt] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw Failure.cannotStart("pipe", errno: errno) }
    return (ends[0], ends[1])
  }

  /// Opens a file that has no name.
  private static func scratchFile() throws -> CInt {
    var path = Array("/tmp/tactus-test-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw Failure.cannotStart("mkstemp", errno: errno) }
    unlink(path)
    return file
  }

  /// Writing to a child that has ended must not end the test process.
  private static let brokenPipesAreErrors: Void = { _ = Glibc.signal(SIGPIPE, SIG_IGN) }()

  private static func environment(changedBy changes: [String: String]) -> [String] {
    var result: [String] = []
    var entry = environ
    while let text = entry.pointee {
      let variable = String(cString: text)
      let name = String(variable.prefix { $0 != "=" })
      if changes[name] == nil { result.append(variable) }
      entry += 1
    }
    return result + changes.filter { !$0.value.isEmpty }.map { "\($0.key)=\($0.value)" }
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

// A GNU extension that the module Glibc does not export.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
@discardableResult private func closeFrom(
  _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: CInt
) -> CInt
