// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5

/// Why a request can't be carried out: text for the person who made the request.
struct UserError: Error {
  enum Kind {
    case failure
    /// A wrong command line: the command's help shows the right form.
    case mistyped
    /// The file does not exist, or exists and can't be read.
    case missing, unreadable
    /// No JACK server runs, or no tactus runs.
    case unavailable
  }

  let text: String
  let kind: Kind

  init(_ text: String, _ kind: Kind = .failure) {
    self.text = text
    self.kind = kind
  }

  /// How many lines of a list of complaints are shown; further complaints are only counted.
  private static let limit = 20

  /// Joins several complaints into one text, each on a line.
  init(_ all: [UserError]) {
    let more = all.count > Self.limit ? ["and \(all.count - Self.limit) more"] : []
    self.init(
      (all.prefix(Self.limit).map(\.text) + more).joined(separator: "\n"), all.first?.kind ?? .failure)
  }

  /// The text as a single line, for a place that has no room for more lines.
  var inALine: String { text.split(separator: "\n").joined(separator: "; ") }

  init(_ path: String, line: Int, _ text: String) { self.init("\(path):\(line): \(text)") }

  /// The exit status of a program that ends because of this error.
  var status: Tactus.Status {
    switch kind {
    case .mistyped: .usage
    case .unavailable: .unavailable
    case .failure, .missing, .unreadable: .failure
    }
  }
}

/// Two errors are equal if their texts are: the kind only decides how the program reacts.
extension UserError: Equatable {
  static func == (left: UserError, right: UserError) -> Bool { left.text == right.text }
}
