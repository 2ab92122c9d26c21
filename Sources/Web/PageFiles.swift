// SPDX-License-Identifier: GPL-2.0-or-later
import CPage

/// The page as it lies in `Page`, embedded in the program: `CPage/page.c` lists its files.
enum PageFiles {
  private static let files: [String: (type: String, bytes: [UInt8])] = {
    var files: [String: (type: String, bytes: [UInt8])] = [:]
    var number = 0
    while let file = page_file_at(number)?.pointee {
      let bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.count))
      files[String(cString: file.name)] = (String(cString: file.type), bytes)
      number += 1
    }
    return files
  }()

  static var paths: [String] { files.keys.sorted() }

  static func response(_ path: String) -> Response? {
    guard let file = files[path] else { return nil }
    var response = Response(200)
    response.type = file.type
    response.body = file.bytes
    return response
  }
}
