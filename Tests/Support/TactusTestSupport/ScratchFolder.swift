// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A folder for one test. It is deleted with its contents when the last reference to this object goes.
public final class ScratchFolder: Sendable {
  public let path: String

  public struct Failure: Error {
    let path: String
    let code: Int32
  }

  public init() throws {
    var template = Array("/tmp/tactus-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw Failure(path: "/tmp", code: errno) }
    path = String(cString: made)
  }

  deinit { _ = try? ChildProcess.run(["rm", "-rf", path]) as ChildProcess.Finished }

  /// The names of the files in the folder, sorted.
  public var names: [String] { Self.names(in: path) }

  /// The names in any folder, sorted.
  static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Writes a file, and creates the folders above it. Returns the file's whole path.
  @discardableResult
  public func write(_ bytes: some Collection<UInt8>, to name: String) throws -> String {
    var folder = path
    for part in name.split(separator: "/").dropLast() {
      folder += "/" + part
      mkdir(folder, 0o755)
    }
    let file = path + "/" + name
    guard let stream = fopen(file, "w") else { throw Failure(path: file, code: errno) }
    let bytes = Array(bytes)
    let count = fwrite(bytes, 1, bytes.count, stream)
    guard fclose(stream) == 0, count == bytes.count else { throw Failure(path: file, code: errno) }
    return file
  }

  @discardableResult
  public func write(_ text: String, to name: String) throws -> String { try write(text.utf8, to: name) }

  public func bytes(of name: String) throws -> [UInt8] {
    guard let stream = fopen(path + "/" + name, "r") else {
      throw Failure(path: path + "/" + name, code: errno)
    }
    defer { fclose(stream) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while case let count = fread(&chunk, 1, chunk.count, stream), count > 0 { bytes += chunk[..<count] }
    return bytes
  }

  public func text(of name: String) throws -> String { String(decoding: try bytes(of: name), as: UTF8.self) }

  /// Compiles a library of `tools/native` for LD_PRELOAD, and returns its path.
  public func preload(_ name: String) async throws -> String {
    let library = "\(path)/\(name).so"
    let command = ["cc", "-shared", "-fPIC", "-o", library, "\(Lab.top)/tools/native/\(name).c"]
    let made = try await ChildProcess.run(command)
    guard made.status == 0 else {
      throw ChildProcess.Failure.ended(status: made.status, errors: made.errors)
    }
    return library
  }
}
