// SPDX-License-Identifier: GPL-2.0-or-later

/// A citation of a fact in a comment: "facts: link 7.3" means section 7.3 of docs/facts/link.md.
struct Citation: Equatable {
  var page: String
  var section: String
  var line: Int

  /// All citations of a file, even if the section stands in the comment's next line: "facts: jack 3, 4".
  static func all(in file: SourceText) -> [Citation] {
    let words = file.lines.enumerated().flatMap { index, line in
      line.split { " \t(),;:".contains($0) }
        .filter { !$0.allSatisfy { $0 == "/" || $0 == "#" } }.map { (text: $0, line: index + 1) }
    }
    var found: [Citation] = []
    var index = 0
    while index + 2 < words.count {
      defer { index += 1 }
      guard words[index].text == "facts", Self.follows(words[index].line, in: file) else { continue }
      for next in words[(index + 2)...] {
        guard let number = section(next.text) else {
          if next.text == "and" { continue }
          break
        }
        found.append(Citation(page: String(words[index + 1].text), section: number, line: next.line))
      }
    }
    return found
  }

  private static func follows(_ line: Int, in file: SourceText) -> Bool {
    file.lines[line - 1].contains("facts: ") || file.lines[line - 1].hasSuffix("facts:")
  }

  /// A section's number such as "7.3", also at the end of a sentence.
  private static func section(_ word: Substring) -> String? {
    let number = word.hasSuffix(".") ? word.dropLast() : word
    guard let first = number.first, first.isNumber, number.allSatisfy({ $0.isNumber || $0 == "." }) else {
      return nil
    }
    return String(number)
  }

  /// The numbers of a page's headings: "### 7.3 Which timeline wins".
  static func sections(of page: String) -> Set<String> {
    Set(
      page.split(separator: "\n").compactMap { line in
        guard line.hasPrefix("## ") || line.hasPrefix("### ") else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { section($0) }
      })
  }
}

extension Rules {
  static func citedFactsExist(_ file: SourceText, facts: [String: Set<String>]) -> [String] {
    Citation.all(in: file).compactMap { citation in
      guard let sections = facts[citation.page] else {
        return file.complaint(citation.line, "there is no docs/facts/\(citation.page).md")
      }
      return sections.contains(citation.section)
        ? nil
        : file.complaint(
          citation.line, "docs/facts/\(citation.page).md has no section \(citation.section)")
    }
  }
}
