// SPDX-License-Identifier: GPL-2.0-or-later

// Words for people: in lines, for roff, counted, and meant but mistyped.

extension String {
  /// Lines of whole words.
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

  /// In a column of its own.
  package func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  /// For a man page: as it is read, not as roff would take it.
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

  /// The name that was probably meant: the one that this begins, else the one with the fewest slips of the
  /// finger, if they are few for its length.
  package func nearest(among names: [String]) -> String? {
    if count >= 2 {
      let continued = names.filter { $0.hasPrefix(self) }
      if continued.count == 1 { return continued[0] }
    }
    // Nobody mistypes a name of 64 letters; a longer word is a paste, and the table is quadratic.
    guard utf8.count <= 64 else { return nil }
    let ranked = names.map { (name: $0, slips: slips(from: self, to: $0)) }
    guard let best = ranked.min(by: { $0.slips < $1.slips }), best.slips <= max(1, best.name.count / 3) else {
      return nil
    }
    return best.name
  }
}

/// Letters missing, too many, wrong or swapped with their neighbour (optimal string alignment distance).
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

/// As Ableton's guidelines want the number of peers to be shown.
package func links(_ peers: Int) -> String {
  peers == 0 ? "No Links" : peers == 1 ? "1 Link" : "\(peers) Links"
}
