// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Small files, read and written as a whole.
enum WholeFile {
  struct Failure: Error, Equatable {
    let path: String
    let code: Int32

    var isMissing: Bool { code == ENOENT || code == ENOTDIR }
    var text: String { "\(path): \(String(cString: strerror(code)))" }
  }

  /// At most a byte more than the limit, so that the reader can see that it is too long.
  static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Failure(path: path, code: errno) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while bytes.count <= limit {
      let count = Glibc.read(file, &chunk, min(chunk.count, limit + 1 - bytes.count))
      if count == 0 { break }
      if count > 0 {
        bytes += chunk[..<count]
      } else if errno != EINTR {
        throw Failure(path: path, code: errno)
      }
    }
    return bytes
  }

  /// The old content stays until the new one is on the disk: written beside it, then put in its place.
  static func write(_ text: String, to path: String) throws(Failure) {
    // A link stays a link: its target is what is replaced.
    let target = resolved(path)
    let temporary = "\(target).\(getpid()).new"
    do throws(Failure) {
      try makeDirectory(of: target)
      try fill(temporary, with: Array(text.utf8))
      guard rename(temporary, target) == 0 else { throw Failure(path: target, code: errno) }
    } catch {
      unlink(temporary)
      throw error
    }
    // The name as well: without it a power cut could bring the old file back.
    let directory = open(parent(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
    }
  }

  private static func fill(_ path: String, with bytes: [UInt8]) throws(Failure) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Failure(path: path, code: errno) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        let code = errno
        close(file)
        throw Failure(path: path, code: code)
      }
    }
    // Some file systems say only here that the disk is full.
    guard fsync(file) == 0 else {
      let code = errno
      close(file)
      throw Failure(path: path, code: code)
    }
    guard close(file) == 0 else { throw Failure(path: path, code: errno) }
  }

  private static func makeDirectory(of path: String) throws(Failure) {
    let directory = parent(of: path)
    guard access(directory, F_OK) != 0, directory != "/", directory != "." else { return }
    try makeDirectory(of: directory)
    // XDG wants it to be the user's alone.
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw Failure(path: directory, code: errno) }
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }
}
