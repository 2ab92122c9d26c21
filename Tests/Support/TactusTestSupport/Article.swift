// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The code of an article of the documentation. A test file has the same code, word for word, between marks;
/// the test compiles and runs the code.
///
/// The article has `<!-- compiled by FILE: MARK -->` above a block of code. The test file has `// begin MARK`
/// and `// end MARK` around the same code.
public struct Article {
  private let lines: [Substring]
  private let compiled: [Substring]
  /// Lines of the article that the test file leaves out because they open sockets.
  private let dangerous: Set<String>

  public init(_ path: String, compiledIn file: String, leavingOut dangerous: Set<String>) throws(Unreadable) {
    lines = try Self.lines(of: Lab.top + "/" + path)
    compiled = try Self.lines(of: file)
    self.dangerous = dangerous
  }

  public struct Unreadable: Error {
    public let path: String
  }

  /// The article's marks.
  public var marks: [String] {
    lines.filter { $0.hasPrefix("<!-- compiled by ") }.compactMap { line in
      line.split(separator: " ").dropLast().last.map(String.init)
    }
  }

  public func isCompiled(_ mark: String) -> Bool {
    guard let start = lines.firstIndex(where: { $0.hasSuffix(": \(mark) -->") }), start + 2 < lines.count,
      let begin = compiled.firstIndex(where: { $0.hasSuffix("// begin \(mark)") })
    else { return false }
    let quoted = lines[(start + 2)...].prefix { $0 != "```" }
    let here = compiled[(begin + 1)...].prefix { !$0.hasSuffix("// end \(mark)") }
    return !quoted.isEmpty && code(quoted) == code(here)
  }

  /// Lines of code, without indentation, empty lines and dangerous lines.
  private func code(_ text: some Sequence<Substring>) -> [String] {
    text.map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty && !dangerous.contains($0) }
  }

  private static func lines(of path: String) throws(Unreadable) -> [Substring] {
    guard let file = fopen(path, "r") else { throw Unreadable(path: path) }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
  }
}
