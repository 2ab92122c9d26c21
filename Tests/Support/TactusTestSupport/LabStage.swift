// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

extension Lab {
  /// The top of the repository from which this file was compiled.
  public static let top: String = {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(4).joined(separator: "/")
  }()

  public static let tool = top + "/tools/lab"

  /// The Python for the tests' peers, with the packages that `tools/lab prepare` installs.
  public static let python = top + "/tools/.venv/bin/python"

  /// The folder of this test program. tools/test builds the programs that tests start into the same folder.
  public static let products: String = {
    var path = [UInt8](repeating: 0, count: 4096)
    let size = readlink("/proc/self/exe", &path, path.count)
    let program = String(decoding: path[..<max(0, size)], as: UTF8.self)
    return program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
  }()

  /// Whether PipeWire can be used. It can't be used under the thread sanitizer (`tools/test`): libpipewire
  /// ends one of its threads in the middle of the sanitizer's bookkeeping, and the sanitizer then ends the
  /// program.
  public static let hasPipeWire = getenv("WITHOUT_PIPEWIRE") == nil

  /// Whether this process is inside a lab (private networks made by `tools/lab`), so that it may open sockets
  /// and JACK clients.
  public static var isHere: Bool {
    guard let directory = getenv("LAB_DIR") else { return false }
    return access(String(cString: directory) + "/host-1", R_OK) == 0
  }
}

/// A lab (private networks made by `tools/lab`) for programs on its hosts. It exists as long as this object.
/// A pipe from the test process keeps the lab up, so the lab ends with the test process in any case.
public final class LabStage: Sendable {
  private let holder: ChildProcess
  /// A program that does the same as `tools/lab at` without starting Python, which would be slow:
  /// tests start hundreds of programs.
  private let entry: String

  /// - Parameter options: options of `tools/lab`, for instance `"--hosts", "2", "--wire", "loss=5%"`.
  public init(_ options: String...) async throws {
    holder = try ChildProcess([Lab.tool] + options + ["--", "sh", "-c", "echo \"$LAB_AT\"; exec cat"])
    guard let entry = try await holder.line(within: .seconds(60)) else {
      throw ChildProcess.Failure.ended(status: await holder.status(), errors: holder.saidOnErrors)
    }
    self.entry = entry
  }

  deinit {
    holder.closeInput()
    holder.status()
  }

  /// The process id of `tools/lab` itself.
  public var identifier: Int32 { holder.identifier }

  /// The command that runs COMMAND on a host of this lab.
  public func command(on host: Int = 1, _ command: [String]) -> [String] {
    [entry, "\(identifier)", "\(host)"] + command
  }

  public func run(on host: Int = 1, _ arguments: String...) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(command(on: host, arguments))
  }

  /// The full names of the ports that are connected with a JACK port. Looks again for a while, until
  /// `isWanted` accepts them.
  public func cables(
    of port: String, server: String? = nil, until isWanted: (Set<String>) -> Bool = { _ in true }
  ) async throws -> Set<String> {
    let words = ["jack_lsp", "-c", port] + (server.map { ["-s", $0] } ?? [])
    var found: Set<String> = []
    for _ in 0..<400 {
      let lines = try await ChildProcess.run(command(words)).output.split(separator: "\n")
      found = Set(lines.filter { $0.hasPrefix(" ") }.map { String($0.dropFirst(3)) })
      if isWanted(found) { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    return found
  }

  /// Sets the conditions of the lab's network, for example `wire("loss=10%", "delay=5ms")` or `wire("cut",
  /// "2")`. Without words, returns the present conditions as JSON.
  @discardableResult
  public func wire(_ words: String...) async throws -> String {
    let done = try await ChildProcess.run(command([Lab.tool, "wire"] + words))
    guard done.status == 0 else { throw ChildProcess.Failure.ended(status: done.status, errors: done.errors) }
    return done.output
  }
}
