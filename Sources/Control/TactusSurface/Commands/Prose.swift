// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import TactusChoices
import TactusOSC

// Text for people: wrapped lines, roff, numbers, and suggestions for mistyped names.

extension String {
  /// Breaks text into lines of whole words.
  package func wrapped(to width: Int) -> [String] {
    var lines = [""]
    for word in split(separator: " ") {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  /// The text, filled up with spaces to the width of a column.
  package func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  /// The text in roff's notation for a man page, which prints it unchanged.
  package var roff: String {
    split(separator: "\n").map { line in
      let shown = line.map { character in
        switch character {
        case "\\": "\\e"
        case "-": "\\-"
        case let other: "\(other)"
        }
      }.joined()
      return shown.hasPrefix(".") || shown.hasPrefix("'") ? "\\&" + shown : shown
    }.joined(separator: "\n")
  }

  /// The name that was probably meant: the only name that begins with this text; otherwise the name with the
  /// fewest slips, if there are few slips for its length.
  package func nearest(among names: [String]) -> String? {
    if count >= 2 {
      let continued = names.filter { $0.hasPrefix(self) }
      if continued.count == 1 { return continued[0] }
    }
    // A word of more than 64 letters was pasted, not mistyped, and the search takes time quadratic in the
    // length.
    guard utf8.count <= 64 else { return nil }
    let ranked = names.map { (name: $0, slips: slips(from: self, to: $0)) }
    guard let best = ranked.min(by: { $0.slips < $1.slips }), best.slips <= max(1, best.name.count / 3) else {
      return nil
    }
    return best.name
  }
}

/// How many letters are missing, added, wrong or swapped with their neighbour (optimal string alignment
/// distance).
package func slips(from word: String, to other: String) -> Int {
  let a = Array(word.utf8)
  let b = Array(other.utf8)
  var beforeLast = Array(0...b.count)
  var last = beforeLast
  var row = beforeLast
  for i in 0..<a.count {
    row[0] = i + 1
    for j in 0..<b.count {
      var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
      row[j + 1] = best
    }
    (beforeLast, last, row) = (last, row, beforeLast)
  }
  return last[b.count]
}

/// Text for an output's offset: `, offset 50.67 ms`. If the output has a second port with another offset,
/// that offset is appended. Empty if there is no offset.
package func offsetNote(_ own: String, _ follower: (name: String, offset: String)? = nil) -> String {
  let other = follower.flatMap { $0.offset == own ? nil : ", \($0.name) \($0.offset) ms" } ?? ""
  return (own == "0" ? "" : ", offset \(own) ms") + other
}

/// The present leader. If the user has chosen another leader than the session, that choice is added, as in
/// `Ableton Link (lead host: no host yet)`.
///
/// - Parameter leader: the name of the present leader, long or short.
func leadNote(_ leader: String, _ state: SurfaceState, isShort: Bool = false) -> String {
  let lead = state.choices.lead
  guard lead != .link else { return leader }
  let missing: (long: String, short: String)? =
    switch (state.leading, lead, state.midiClock) {
    case (.host, _, _), (.midi, _, _), (.auto, _, _): nil
    case (.link, .midi, .lost): ("clock lost", "lost")
    case (.link, .midi, .echo): ("own clock", "own clock")
    case (.link, .midi, .acquiring): ("clock comes", "comes")
    case (.link, .midi, _): ("no clock yet", "none yet")
    case (.link, _, _): ("no host yet", "none yet")
    }
  let why = missing.map { ": " + (isShort ? $0.short : $0.long) } ?? ""
  return "\(leader) (\(isShort ? "" : "lead ")\(lead.word)\(why))"
}

/// Lists places with their counts in the given order, as in "10.0.0.2, 10.0.0.7 (2)". If the list is too long
/// for `limit`, the text says how many of `all` are left out.
package func tally(_ places: [(name: String, count: Int)], of all: Int, limit: Int = 220) -> String {
  var text = ""
  var rest = all
  for (name, count) in places {
    let next = (text.isEmpty ? "" : ", ") + (count > 1 ? "\(name) (\(count))" : name)
    guard text.utf8.count + next.utf8.count <= limit else { break }
    text += next
    rest -= count
  }
  return rest > 0 ? text + " and \(rest) more" : text
}

/// The number of peers, worded as in Ableton's guidelines.
package func links(_ peers: Int) -> String {
  peers == 0 ? "No Links" : peers == 1 ? "1 Link" : "\(peers) Links"
}

extension Argument {
  /// The argument in the form in which its sender knows it, for error messages.
  var words: String {
    switch self {
    case .int32(let value): "\(value)"
    case .int64(let value): "\(value)"
    case .float32(let value): "\(value)"
    case .float64(let value): "\(value)"
    case .string(let text): "\"\(printable(text, limit: 40))\""
    case .truth(let value): value ? "true" : "false"
    case .null: "nil"
    case .impulse: "impulse"
    case .other(let tag): "an argument of type \(printable(String(UnicodeScalar(tag)), limit: 1))"
    }
  }
}

/// A number with at most `decimals` places, the same in every locale.
package func fixed(_ value: Double, _ decimals: Int) -> String {
  guard value.isFinite, value.magnitude < 1e12 else { return "-" }
  var scale: Int64 = 1
  for _ in 0..<decimals { scale *= 10 }
  let scaled = Int64((value.magnitude * Double(scale)).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard decimals > 0 else { return "\(sign)\(scaled)" }
  return "\(sign)\(scaled / scale).\(padded(scaled % scale, decimals))"
}

/// A whole number, padded with zeros in front.
func padded(_ value: Int64, _ width: Int) -> String {
  let digits = "\(value.magnitude)"
  let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
  return (value < 0 ? "-" : "") + zeros + digits
}

extension Tempo {
  /// The shortest decimal that sets the same tempo. For example, a peer at 111 BPM sends 540541 us
  /// per beat, which are 110.99990 BPM: this is shown as 111.
  public var shortest: Double {
    var scale = 1.0
    while scale <= 1e6 {
      let rounded = (beatsPerMinute * scale).rounded() / scale
      if Tempo(rounded).microsPerBeat == microsPerBeat { return Tempo(rounded).clamped.beatsPerMinute }
      scale *= 10
    }
    return beatsPerMinute
  }
}
