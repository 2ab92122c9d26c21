// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The program that a session's start script started beside tactus. The script becomes tactus by `exec`, so
/// the program is our child, and we can wait for its end. [control]
struct Companion {
  private let process: pid_t
  private let name: String
  private let log: String
  private var hasEnded = false
  /// Whether the program has stayed open since an earlier start. It is then not our child, and we cannot
  /// learn its exit status.
  private var isJoined = false
  private var looks: UInt32 = 0
  private(set) var hasFailed = false

  /// Parses what `sessions/session.sh` writes: our process id, the program's process id, its name, and the
  /// path of its log. nil: malformed, or the process id is not ours: a tactus that the program itself starts
  /// inherits this text.
  init?(_ text: String?, of ours: pid_t = getpid()) {
    let parts = text?.split(separator: " ", maxSplits: 3) ?? []
    guard parts.count == 4, pid_t(parts[0]) == ours, let process = pid_t(parts[1]), process > 0 else {
      return nil
    }
    self.process = process
    name = String(parts[2])
    log = String(parts[3])
  }

  static func ofEnvironment() -> Companion? { Companion(Environment.text("TACTUS_BESIDE")) }

  /// Whether a process runs that is not our child. A zombie has ended, although its parent has not waited
  /// for it yet.
  private static func isAlive(_ process: pid_t) -> Bool {
    guard let file = fopen("/proc/\(process)/stat", "r") else { return false }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = fread(&bytes, 1, bytes.count, file)
    // In this file the process's state follows its name, which stands in parentheses.
    guard let name = bytes[..<count].lastIndex(of: UInt8(ascii: ")")), name + 2 < count else { return false }
    return bytes[name + 2] != UInt8(ascii: "Z")
  }

  /// Returns a line once, when the program has ended: how it ended, and where its messages are. nil
  /// otherwise.
  mutating func poll() -> String? {
    var status: Int32 = 0
    guard !hasEnded else { return nil }
    let found = waitpid(process, &status, WNOHANG)
    guard found != 0 else { return nil }
    if found < 0 {
      looks &+= 1
      // `poll` is called every 2 to 20 ms; /proc is read less often.
      if isJoined, looks % 50 != 0 { return nil }
      if Self.isAlive(process) {
        isJoined = true
        return nil
      }
    }
    hasEnded = true
    if isJoined { return "\(name) has ended" }
    guard found == process else {
      // The program ended before the script became tactus, and the script has reaped it.
      hasFailed = true
      return "\(name) ended at once; its messages are in \(log)"
    }
    let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
    hasFailed = status != 0
    let how = signal != 0 ? " by signal \(signal)" : code != 0 ? " with status \(code)" : ""
    return "\(name) has ended\(how); its messages are in \(log)"
  }
}
