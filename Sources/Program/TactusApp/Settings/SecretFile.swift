// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TactusJSON5
import TactusWeb

/// The page's secret, on the disk. The file always wins: if it holds another secret, as after `tactus web
/// --forget`, all browsers of every tactus of this user are unpaired. Each tactus looks at the file often,
/// and whenever a browser wants to change something.
///
/// The file is in the user's own folder and never in a session's folder, which people copy and give away. If
/// the file can't be used, there still is a secret, which then lasts for this run alone.
final class SecretFile: Sendable {
  private static let longest = 4096

  private struct State {
    var secret: Secret?
    /// The version of the file from which the secret was read; nil: the file was not read yet, or did not
    /// exist.
    var stamp: Stamp?
    /// When writing the secret last failed; nil: the secret is on the disk.
    var tried: ContinuousClock.Instant?
  }

  private let path: String?
  private let retryDelay: Duration
  private let notice: @Sendable (String) -> Void
  private let held = Mutex(State())

  /// - Parameters:
  ///   - path: the path of the file; nil: the secret is for this run alone.
  ///   - retryDelay: the time after which a failed write is tried again.
  init(
    _ path: String?, retryDelay: Duration = .seconds(10), notice: @escaping @Sendable (String) -> Void
  ) {
    self.path = path
    self.retryDelay = retryDelay
    self.notice = notice
  }

  /// The path of the secret's file, which is beside the state file.
  static func path(in places: Places = .ofThisUser) -> String? {
    places.state.flatMap { state in state.lastIndex(of: "/").map { state[...$0] + "pairing.json5" } }
  }

  /// The secret that holds now. Reads the disk, which may take time. [web]
  func current() -> Secret {
    held.withLock { held in
      let stamp = path.flatMap(Stamp.init)
      let isDue = held.tried.map { ContinuousClock.now - $0 >= retryDelay } ?? (stamp == nil)
      if let secret = held.secret, path == nil || stamp == held.stamp && !isDue { return secret }
      let secret = path.map { adopt($0, stamp, &held) } ?? .fresh()
      held.secret = secret
      held.stamp = path.flatMap(Stamp.init)
      return secret
    }
  }

  /// The secret that `current` returned last; nil: `current` was not called yet. [any]
  var known: Secret? { held.withLock { $0.secret } }

  private func adopt(_ path: String, _ stamp: Stamp?, _ held: inout State) -> Secret {
    let isNews = held.tried == nil || stamp != held.stamp
    // Keep the secret whose write failed: browsers that are paired with it stay paired.
    let secret = held.tried == nil ? .fresh() : held.secret ?? .fresh()
    held.tried = nil
    if let stamp {
      do throws(UserError) {
        return try Self.read(path, stamp)
      } catch {
        if isNews { notice("\(error.text): all browsers have to pair again") }
      }
    }
    do throws(UserError) {
      if stamp == nil { return try Self.begin(path, with: secret) }
      try WholeFile.write(secret.file, to: path)
      return secret
    } catch {
      held.tried = .now
      if isNews {
        notice(
          "the page's secret can't be saved: \(error.text); until it can, browsers are paired only until "
            + "tactus ends, and only the terminal view shows the code (press o)")
      }
      return secret
    }
  }

  /// Reads the secret from the file.
  static func read(_ path: String) throws(UserError) -> Secret {
    guard let stamp = Stamp(path) else { throw UserError(path, code: errno) }
    return try read(path, stamp)
  }

  private static func read(_ path: String, _ stamp: Stamp) throws(UserError) -> Secret {
    let bytes = try WholeFile.read(path, limit: longest)
    guard let secret = Secret(file: bytes) else {
      throw UserError("\(path) is damaged or was changed", .unreadable)
    }
    guard !stamp.isOpenToOthers else { throw UserError("\(path): others could read it", .unreadable) }
    return secret
  }

  /// Writes a new secret, whatever the file holds now.
  static func renew(_ path: String) throws(UserError) -> Secret {
    let secret = Secret.fresh()
    try WholeFile.write(secret.file, to: path)
    return secret
  }

  /// Creates the file with this secret. If another tactus has just created it, returns the secret of that
  /// tactus.
  private static func begin(_ path: String, with secret: Secret) throws(UserError) -> Secret {
    var secret = secret
    try WholeFile.change(path, limit: longest) { bytes throws(UserError) in
      if let other = bytes.flatMap(Secret.init(file:)) { secret = other }
      return secret.file
    }
    return secret
  }
}

extension Secret {
  fileprivate static func fresh() -> Secret {
    var chance = SystemRandomNumberGenerator()
    return Secret(using: &chance)
  }

  fileprivate var file: String {
    "// With this secret a browser can change everything that tactus' page can change. tactus web "
      + "--forget makes a new one.\n"
      + JSON5.fields(["code": .string(groups), "token": .string(token)]).text + "\n"
  }

  fileprivate init?(file bytes: [UInt8]) {
    guard case .object(let members)? = try? JSON5.read(bytes).value else { return nil }
    let fields = Dictionary(
      members.map { ($0.name, $0.element.value) }, uniquingKeysWith: { first, _ in first })
    guard case .string(let code)? = fields["code"], case .string(let token)? = fields["token"] else {
      return nil
    }
    self.init(code: code, token: token)
  }
}

/// Identifies a version of a file: a file that replaces another one has another stamp.
private struct Stamp: Equatable {
  private let device: dev_t
  private let number: ino_t
  private let seconds: Int
  private let nanoseconds: Int
  private let mode: mode_t

  init?(_ path: String) {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    (device, number, mode) = (found.st_dev, found.st_ino, found.st_mode)
    (seconds, nanoseconds) = (found.st_ctim.tv_sec, found.st_ctim.tv_nsec)
  }

  var isOpenToOthers: Bool { mode & 0o077 != 0 }
}
