// SPDX-License-Identifier: GPL-2.0-or-later
import JSON5

/// Something in a file of the user's is wrong: one line that says where and what would be right.
struct FileFault: Error, Equatable {
  let text: String
  var isMissing = false
  /// It could not even be read.
  var isUnreadable = false

  init(_ path: String, line: Int, _ text: String) { self.text = "\(path):\(line): \(text)" }

  init(_ failure: WholeFile.Failure) {
    text = failure.text
    isMissing = failure.isMissing
    isUnreadable = true
  }
}

extension FileFault {
  static func bytes(_ path: String, orPipe: Bool = false) throws(FileFault) -> [UInt8] {
    do throws(WholeFile.Failure) {
      return try WholeFile.read(path, limit: JSON5.Limits().bytes, orPipe: orPipe)
    } catch {
      throw FileFault(error)
    }
  }

  /// A file that says nothing means nothing, as `{}` does.
  static func document(_ bytes: [UInt8], from path: String) throws(FileFault) -> JSON5.Element {
    do throws(JSON5.Fault) {
      return try JSON5.readIfAny(bytes) ?? JSON5.Element(value: .object([]), line: 1)
    } catch {
      throw FileFault(path, line: error.line, error.text)
    }
  }
}
