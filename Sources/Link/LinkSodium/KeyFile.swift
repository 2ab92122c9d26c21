// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A file with a key's text in its first line, readable only by its owner.
public enum KeyFile {
  public enum Failure: Error, Hashable, Sendable {
    /// The call that failed, and why.
    case system(String, Int32)
    /// Other users may read or write the file, which has this mode.
    case notPrivate(mode: UInt32)
    /// The file belongs to another user, not to us or root.
    case notOurs
    case notAFile
    case unusable(KeyText.Refusal)
  }

  public static func read(_ path: String) throws(Failure) -> KeyText {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("open", errno) }
    defer { close(descriptor) }
    // This checks the open file, because another file may have its name by now.
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

  /// Writes a new file. It never replaces an existing file, because other rooms may have that file's key.
  ///
  /// The file gets its name when it is complete and on the disk. If the disk is full or the program ends, no
  /// file without a key is left, which the next call would refuse to replace.
  public static func write(_ text: String, to path: String) throws(Failure) {
    var template = "\(path).XXXXXX".utf8CString
    let descriptor = template.withUnsafeMutableBufferPointer { mkstemp($0.baseAddress!) }
    guard descriptor >= 0 else { throw .system("open", errno) }
    defer {
      close(descriptor)
      _ = template.withUnsafeBufferPointer { unlink($0.baseAddress!) }
    }
    let line = [UInt8]("\(text)\n".utf8)
    // The owner may read and write the file, whatever the umask is.
    guard fchmod(descriptor, 0o600) == 0 else { throw .system("fchmod", errno) }
    let count = Glibc.write(descriptor, line, line.count)
    guard count == line.count else { throw .system("write", count < 0 ? errno : ENOSPC) }
    guard fsync(descriptor) == 0 else { throw .system("fsync", errno) }
    let linked = template.withUnsafeBufferPointer { link($0.baseAddress!, path) }
    // For an existing name, this gives the error that `open` would give.
    guard linked == 0 else { throw .system(errno == EEXIST ? "open" : "link", errno) }
  }
}
