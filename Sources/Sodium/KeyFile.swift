// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A file with a key's text in its first line, that nobody else on this machine can read.
public enum KeyFile {
  public enum Failure: Error, Hashable, Sendable {
    /// The call that failed, and why.
    case system(String, Int32)
    /// Others may read it, or write it: its mode.
    case notPrivate(mode: UInt32)
    /// It belongs to somebody else than us and root.
    case notOurs
    case notAFile
    case unusable(KeyText.Refusal)
  }

  public static func read(_ path: String) throws(Failure) -> KeyText {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("open", errno) }
    defer { close(descriptor) }
    // Of what is open, not of what has this name by now.
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system("fstat", errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
    guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .notOurs }
    guard status.st_mode & 0o077 == 0 else { throw .notPrivate(mode: status.st_mode & 0o777) }
    var bytes = [UInt8](repeating: 0, count: KeyText.most + 1)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .system("read", errno) }
    let line = bytes[..<count].prefix { $0 != 0x0a }
    do throws(KeyText.Refusal) {
      return try KeyText(String(decoding: line, as: UTF8.self))
    } catch {
      throw .unusable(error)
    }
  }

  /// Never over one that is there: the other room would not know of it.
  public static func write(_ text: String, to path: String) throws(Failure) {
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system("open", errno) }
    defer { close(descriptor) }
    let line = [UInt8]("\(text)\n".utf8)
    // Whatever the mask for new files takes away, the owner may read it.
    guard fchmod(descriptor, 0o600) == 0 else { throw .system("fchmod", errno) }
    guard Glibc.write(descriptor, line, line.count) == line.count else { throw .system("write", errno) }
  }
}
