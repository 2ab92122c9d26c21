// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5

/// Why something can't be done: text for the person who asked for it.
struct UserError: Error {
  enum Kind {
    case failure
    /// A wrong command line; its help shows the right form.
    case mistyped
    /// The file does not exist, or exists and can't be read.
    case missing, unreadable
    /// No JACK server runs, or no tactus.
    case unavailable
  }

  let text: String
  let kind: Kind

  init(_ text: String, _ kind: Kind = .failure) {
    self.text = text
    self.kind = kind
  }

  /// The lines shown of a list of complaints; the rest is only counted.
  private static let limit = 20

  /// Joins several complaints, one per line.
  init(_ all: [UserError]) {
    let more = all.count > Self.limit ? ["and \(all.count - Self.limit) more"] : []
    self.init(
      (all.prefix(Self.limit).map(\.text) + more).joined(separator: "\n"), all.first?.kind ?? .failure)
  }

  /// The text for a place with room for one line.
  var inALine: String { text.split(separator: "\n").joined(separator: "; ") }

  init(_ path: String, line: Int, _ text: String) { self.init("\(path):\(line): \(text)") }

  /// The exit status of a program that ends with this complaint.
  var status: Tactus.Status {
    switch kind {
    case .mistyped: .usage
    case .unavailable: .unavailable
    case .failure, .missing, .unreadable: .failure
    }
  }
}

/// Compares the texts only; the kind decides how the program reacts.
extension UserError: Equatable {
  static func == (left: UserError, right: UserError) -> Bool { left.text == right.text }
}
