// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A terminal in a lab: a shell in tmux. The test sends keys and reads the screen.
public final class Terminal: Sendable {
  private let socket: String

  public struct NeverSeen: Error, CustomStringConvertible {
    public let description: String
  }

  /// The shell's prompt is `$ `; it has job control, and UTF-8 unless the environment says otherwise.
  public init(
    in stage: LabStage, columns: Int, rows: Int, environment: [String] = ["LC_ALL=C.UTF-8"]
  ) async throws {
    socket = "/tmp/tactus-terminal-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    // After this, use tmux without the lab's tools: tmux's socket is a path, which can be reached from
    // any network namespace.
    let done = try await ChildProcess.run(
      stage.command(
        ["env", "-u", "TMUX", "LC_ALL=C.UTF-8", "tmux", "-u", "-S", socket, "-f", "/dev/null"]
          + ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
          + ["env", "-u", "LANG", "-u", "LC_ALL", "-u", "NO_COLOR", "PS1=$ "] + environment
          + ["bash", "--norc", "--noprofile", "-i"]))
    guard done.status == 0 else { throw NeverSeen(description: done.errors) }
    try await tmux("set-option", "-g", "status", "off")
    // Add a row, because tmux's status line takes a row.
    try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    try await see("$")
  }

  deinit {
    let _: ChildProcess.Finished? = try? ChildProcess.run(["tmux", "-S", socket, "kill-server"])
    unlink(socket)
  }

  @discardableResult
  private func tmux(_ words: String...) async throws -> String {
    let done = try await ChildProcess.run(["tmux", "-S", socket] + words)
    guard done.status == 0 else { throw NeverSeen(description: "\(words): \(done.errors)") }
    return done.output
  }

  /// Types text, key by key.
  public func type(_ text: String) async throws { try await tmux("send-keys", "-l", text) }

  /// Presses keys by tmux's names: Enter, C-c, Up, Escape.
  public func press(_ keys: String...) async throws {
    for key in keys { try await tmux("send-keys", key) }
  }

  public func enter(_ command: String) async throws {
    try await type(command)
    try await press("Enter")
  }

  public func resize(_ columns: Int, _ rows: Int) async throws {
    try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
  }

  /// The screen's text, without styles or with their escape sequences.
  public func screen(withStyles: Bool = false) async throws -> String {
    withStyles ? try await tmux("capture-pane", "-p", "-e") : try await tmux("capture-pane", "-p")
  }

  /// Waits until the screen shows all texts, and returns the screen's text.
  @discardableResult
  public func see(_ texts: String..., within limit: Duration = .seconds(20)) async throws -> String {
    try await look(within: limit, for: "\(texts)") { screen in texts.allSatisfy { screen.contains($0) } }
  }

  @discardableResult
  public func look(
    within limit: Duration = .seconds(20), for what: String, until isRight: (String) -> Bool
  ) async throws -> String {
    let deadline = ContinuousClock.now + limit
    while true {
      let screen = try await screen()
      if isRight(screen) { return screen }
      guard ContinuousClock.now < deadline else { throw NeverSeen(description: "\(what) in:\n\(screen)") }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Whether a program uses the alternate screen, hides the cursor and keeps long lines from wrapping.
  public func isTaken() async throws -> Bool { try await flags() == "1 0 0\n" }

  private func flags() async throws -> String {
    try await tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}")
  }

  /// Waits for the shell's prompt. Keys that are typed before the prompt would be lost.
  public func prompt() async throws {
    try await look(for: "the prompt") { $0.split(separator: "\n").last?.hasSuffix("$") == true }
  }

  /// Whether the terminal is in its normal state: line mode, echo, the normal screen, the cursor and
  /// wrapping.
  public func isSane() async throws -> Bool {
    try await prompt()
    try await enter(
      "clear; stty -a | tr ';' ' ' | tr ' ' '\\n' | grep -xE -e '-?(icanon|echo|isig|ixon|icrnl)' | tr '\\n' ,"
    )
    let screen = try await see("echo,")
    return try await flags() == "0 1 1\n"
      && ["isig,", "icrnl,", "ixon,", "icanon,", "echo,"].allSatisfy {
        screen.contains($0) && !screen.contains("-" + $0)
      }
  }
}
