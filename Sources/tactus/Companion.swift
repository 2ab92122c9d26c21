// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The program that a session's start script has put beside us. The script became us, so that it is our child, and its end
/// is ours to see. [control]
struct Companion {
  private let process: pid_t
  private let name: String
  private let log: String
  private var hasEnded = false
  /// An earlier start left it open: it is not our child, and how it ends is not ours to see.
  private var isJoined = false
  private var looks: UInt32 = 0
  private(set) var hasFailed = false

  /// As `sessions/session.sh` writes it: our process, its process, its name, where its messages go. A tactus that a program
  /// beside us starts finds the same words, and they are not about it.
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

  /// Whether a process runs that is not our child. One that has ended and that its parent has not asked yet is not alive.
  private static func isAlive(_ process: pid_t) -> Bool {
    guard let file = fopen("/proc/\(process)/stat", "r") else { return false }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = fread(&bytes, 1, bytes.count, file)
    // The state follows the name, which stands in parentheses.
    guard let name = bytes[..<count].lastIndex(of: UInt8(ascii: ")")), name + 2 < count else { return false }
    return bytes[name + 2] != UInt8(ascii: "Z")
  }

  /// Once, when it has ended: that it did, how, and what to read.
  mutating func look() -> String? {
    var status: Int32 = 0
    guard !hasEnded else { return nil }
    let found = waitpid(process, &status, WNOHANG)
    guard found != 0 else { return nil }
    if found < 0 {
      looks &+= 1
      // A look every 2 to 20 ms: the kernel's files are read less often.
      if isJoined, looks % 50 != 0 { return nil }
      if Self.isAlive(process) {
        isJoined = true
        return nil
      }
    }
    hasEnded = true
    if isJoined { return "\(name) has ended" }
    guard found == process else {
      // It ended while we were still the script, which has taken note of it.
      hasFailed = true
      return "\(name) ended at once; its messages are in \(log)"
    }
    let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
    hasFailed = status != 0
    let how = signal != 0 ? " by signal \(signal)" : code != 0 ? " with status \(code)" : ""
    return "\(name) has ended\(how); its messages are in \(log)"
  }
}
