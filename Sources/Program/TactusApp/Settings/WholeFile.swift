// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Reads and writes small files as a whole. Each wait for another process has a limit.
enum WholeFile {
  /// How long a pipe on the command line, as in `--config <(...)`, may go without bringing data.
  private static let timeoutMillis: Int32 = 2000
  /// How long to wait while another tactus changes the file, in hundredths of a second.
  private static let turn = 100

  /// Reads a file. Returns at most one byte more than the limit, which shows the caller that the file is too
  /// long.
  ///
  /// - Parameter orPipe: whether `path` may be a pipe, which must bring its content soon.
  static func read(_ path: String, limit: Int, orPipe: Bool = false) throws(UserError) -> [UInt8] {
    // Check before opening: a FIFO can make the open wait for its writer, and a device may do anything.
    try judge(path, orPipe: orPipe)
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw UserError(path, code: errno) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while bytes.count <= limit {
      let count = Glibc.read(file, &chunk, min(chunk.count, limit + 1 - bytes.count))
      if count == 0 { break }
      if count > 0 {
        bytes += chunk[..<count]
      } else if errno == EAGAIN, orPipe {
        var wait = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, timeoutMillis) > 0 else {
          throw UserError("\(path): a pipe that its writer does not close", .unreadable)
        }
      } else if errno != EINTR {
        throw UserError(path, code: errno)
      }
    }
    if bytes.isEmpty, orPipe, isPipe(file) {
      throw UserError("\(path): this pipe ended without any text", .unreadable)
    }
    return bytes
  }

  /// The first line of a file; nil: the file has no first line, or can't be read.
  static func firstLine(_ path: String) -> String? {
    guard let bytes = try? read(path, limit: 4096) else { return nil }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init)
  }

  /// The names in a folder; empty, if the folder does not exist.
  static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 } }
      names.append(String(decoding: name, as: UTF8.self))
    }
    return names
  }

  /// Reads a file; nil: the file does not exist.
  static func readIfAny(_ path: String, limit: Int) throws(UserError) -> [UInt8]? {
    do throws(UserError) {
      return try read(path, limit: limit)
    } catch {
      guard error.kind == .missing else { throw error }
      return nil
    }
  }

  private static func judge(_ path: String, orPipe: Bool = false) throws(UserError) {
    var found = stat()
    guard stat(path, &found) == 0 else { throw UserError(path, code: errno) }
    switch found.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFIFO: if !orPipe { throw UserError("\(path): a pipe, not a file", .unreadable) }
    case S_IFDIR: throw UserError("\(path): a folder, not a file", .unreadable)
    case S_IFSOCK: throw UserError("\(path): a socket, not a file", .unreadable)
    // /dev/null stands for an empty file.
    default:
      if !orPipe || found.st_rdev != nothing { throw UserError("\(path): a device, not a file", .unreadable) }
    }
  }

  private static let nothing: dev_t = {
    var found = stat()
    return stat("/dev/null", &found) == 0 ? found.st_rdev : 0
  }()

  private static func isPipe(_ file: Int32) -> Bool {
    var found = stat()
    return fstat(file, &found) == 0 && found.st_mode & S_IFMT == S_IFIFO
  }

  /// Writes a temporary file beside the old file, then renames it, so that the old content stays until the
  /// new content is on the disk.
  static func write(_ text: String, to path: String) throws(UserError) {
    // If `path` is a link, replace the link's target and keep the link.
    let target = try resolved(path)
    let temporary = "\(target).\(getpid()).new"
    do throws(UserError) {
      try makeDirectory(of: target)
      try fill(temporary, with: Array(text.utf8))
      guard rename(temporary, target) == 0 else { throw UserError(target, code: errno) }
    } catch {
      unlink(temporary)
      throw error
    }
    // The folder holds the file's name: without this sync, a power cut could bring the old file back.
    let directory = open(parent(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
    }
  }

  /// Replaces the file's content (nil: no file) by the text that `body` makes of it. A lock keeps other
  /// tactus from doing the same meanwhile.
  static func change(
    _ path: String, limit: Int, _ body: ([UInt8]?) throws(UserError) -> String
  ) throws(UserError) {
    let target = try resolved(path)
    try makeDirectory(of: target)
    // Lock the folder, because a lock file would stay there for ever. If the holder does not finish, or the
    // disk has no locks, go on without the lock: the file is read just before it is written anyway.
    let folder = open(parent(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if folder >= 0 { close(folder) } }
    for _ in 0..<turn where flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK { usleep(10_000) }
    try write(body(readIfAny(path, limit: limit)), to: path)
  }

  private static func fill(_ path: String, with bytes: [UInt8]) throws(UserError) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard file >= 0 else { throw UserError(path, code: errno) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        let code = errno
        close(file)
        throw UserError(path, code: code)
      }
    }
    // Some file systems report only here that the disk is full.
    guard fsync(file) == 0 else {
      let code = errno
      close(file)
      throw UserError(path, code: code)
    }
    guard close(file) == 0 else { throw UserError(path, code: errno) }
  }

  private static func makeDirectory(of path: String) throws(UserError) {
    let directory = parent(of: path)
    guard access(directory, F_OK) != 0, directory != "/", directory != "." else { return }
    try makeDirectory(of: directory)
    // The XDG rules ask for a folder that only the user can open.
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw UserError(directory, code: errno) }
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The path to write to, with links resolved. Throws for a device, a folder or a broken link, which must
  /// not be replaced.
  private static func resolved(_ path: String) throws(UserError) -> String {
    do throws(UserError) {
      try judge(path)
    } catch {
      guard error.kind == .missing else { throw error }
      return path
    }
    guard let real = realpath(path, nil) else { throw UserError(path, code: errno) }
    defer { free(real) }
    return String(cString: real)
  }
}

extension UserError {
  /// The system's error for a path. For a broken link, the text names the link's target.
  init(_ path: String, code: Int32) {
    let target = code == ENOENT ? Self.target(ofLink: path) : nil
    let reason = target.map { "a link to \($0), which is not there" } ?? String(cString: strerror(code))
    let isMissing = target == nil && (code == ENOENT || code == ENOTDIR)
    self.init("\(path): \(reason)", isMissing ? .missing : .unreadable)
  }

  /// The target of a link; nil: `path` is no link.
  private static func target(ofLink path: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self).shortened : nil
  }
}
