// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusPage

/// The files of `Page`, which are embedded in the program; `page.c` in CTactusPage lists them.
enum PageFiles {
  private static let files: [String: (type: String, bytes: [UInt8])] = {
    var files: [String: (type: String, bytes: [UInt8])] = [:]
    var number = 0
    while let file = page_file_at(number)?.pointee {
      let (name, bytes) = (
        String(cString: file.name), UnsafeBufferPointer(start: file.bytes, count: file.count)
      )
      files[name] = (
        String(cString: file.type), name.hasSuffix(".js") ? withoutComments(bytes) : Array(bytes)
      )
      number += 1
    }
    return files
  }()

  /// Empties the comment lines, which only readers of the source need. The lines stay, so that line numbers
  /// in a browser's messages are right.
  private static func withoutComments(_ script: some Collection<UInt8>) -> [UInt8] {
    let newline = UInt8(ascii: "\n")
    let lines = script.split(separator: newline, omittingEmptySubsequences: false)
    return Array(
      lines.map { line in
        line.drop { $0 == UInt8(ascii: "\t") }.starts(with: "//".utf8) ? [] : Array(line)
      }.joined(separator: CollectionOfOne(newline)))
  }

  static var paths: [String] { files.keys.sorted() }

  static func response(_ path: String) -> Response? {
    guard let file = files[path] else { return nil }
    var response = Response(200)
    response.type = file.type
    response.body = file.bytes
    return response
  }
}
