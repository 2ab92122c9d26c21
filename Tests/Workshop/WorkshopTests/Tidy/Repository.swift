// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport

/// The files of the repository from which these tests were built.
enum Repository {
  /// The names in a folder, sorted.
  static func entries(of folder: String) -> [String] {
    guard let directory = opendir("\(Lab.top)/\(folder)") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Every file below the folder, without hidden and generated ones.
  static func files(below folder: String) -> [String] {
    entries(of: folder).filter { !$0.hasPrefix(".") && $0 != "__pycache__" }.flatMap { name in
      let path = "\(folder)/\(name)"
      return isFolder(path) ? files(below: path) : [path]
    }
  }

  static func text(_ path: String) -> String? {
    guard let file = fopen("\(Lab.top)/\(path)", "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Every handwritten file with a licence line: code, scripts, build files.
  static func code() -> [SourceText] {
    let paths = ["Package.swift"] + ["Sources", "Tests", "tools", ".ci"].flatMap(files)
    return paths.compactMap { path in
      guard let text = text(path) else { return nil }
      let isCode = [".swift", ".h", ".c", ".hpp", ".cpp", ".py", ".sh"].contains { path.hasSuffix($0) }
      return isCode || text.hasPrefix("#!") ? SourceText(path: path, text: text) : nil
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat("\(Lab.top)/\(path)", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
