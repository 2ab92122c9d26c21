// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5

/// One result of the doctor's examination, in words for a musician.
struct Finding: Equatable {
  enum Grade: String {
    case good
    /// A fact that is worth knowing. The user need not mend anything.
    case note
    /// A fault that the user will hear or see sooner or later.
    case bad
  }

  let grade: Grade
  let topic: String
  let words: String
  /// Advice for the user.
  var remedy: String?

  static func good(_ topic: String, _ words: String) -> Finding {
    Finding(grade: .good, topic: topic, words: words)
  }

  static func note(_ topic: String, _ words: String, mend remedy: String? = nil) -> Finding {
    Finding(grade: .note, topic: topic, words: words, remedy: remedy)
  }

  static func bad(_ topic: String, _ words: String, mend remedy: String) -> Finding {
    Finding(grade: .bad, topic: topic, words: words, remedy: remedy)
  }

  /// ```
  /// !  Latency: system:playback_1 says that it has none
  ///    tactus check measures it ...
  /// ```
  var text: String {
    let mark =
      switch grade {
      case .good: "+"
      case .note: " "
      case .bad: "!"
      }
    let margin = "   "
    var lines = "\(topic): \(words)".wrapped(to: 77)
    if let remedy {
      lines += remedy.wrapped(to: 73).enumerated().map { ($0.offset == 0 ? "-> " : "   ") + $0.element }
    }
    return mark + "  " + lines.joined(separator: "\n" + margin)
  }

  var json: JSON5 {
    .fields([
      "grade": .string(grade.rawValue), "topic": .string(topic), "words": .string(words),
      "remedy": remedy.map { .string($0) } ?? .null,
    ])
  }
}
