// SPDX-License-Identifier: GPL-2.0-or-later
import JSON5

/// Why something can't be done: text for the person who asked for it.
struct Complaint: Error {
  enum Kind {
    case failure
    /// A command line, whose help says how it is typed.
    case mistyped
    /// No such file; it could not even be read.
    case missing, unreadable
    /// There is no JACK server, or no tactus that runs.
    case unavailable
  }

  let text: String
  let kind: Kind

  init(_ text: String, _ kind: Kind = .failure) {
    self.text = text
    self.kind = kind
  }

  /// As many as somebody reads.
  private static let limit = 20

  /// Several, a line each.
  init(_ all: [Complaint]) {
    let more = all.count > Self.limit ? ["and \(all.count - Self.limit) more"] : []
    self.init(
      (all.prefix(Self.limit).map(\.text) + more).joined(separator: "\n"), all.first?.kind ?? .failure)
  }

  /// Where there is room for one line only.
  var inALine: String { text.split(separator: "\n").joined(separator: "; ") }

  init(_ path: String, line: Int, _ text: String) { self.init("\(path):\(line): \(text)") }

  /// How a program ends with it.
  var status: Tactus.Status {
    switch kind {
    case .mistyped: .usage
    case .unavailable: .unavailable
    case .failure, .missing, .unreadable: .failure
    }
  }
}

/// By what is said; the kind only decides what is done about it.
extension Complaint: Equatable {
  static func == (left: Complaint, right: Complaint) -> Bool { left.text == right.text }
}
