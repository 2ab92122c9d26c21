// SPDX-License-Identifier: GPL-2.0-or-later

/// Reads a formula from left to right. Products are computed before sums, and brackets first.
struct FormulaReader {
  private let letters: [UInt8]
  private let names: [String]
  private var place = 0
  private var steps: [Formula.Step] = []

  init(_ text: some StringProtocol, names: [String]) throws(Formula.Fault) {
    guard text.utf8.count <= Formula.longest else {
      throw Formula.Fault(text: "a formula has at most \(Formula.longest) bytes")
    }
    letters = Array(text.utf8)
    self.names = names
  }

  mutating func whole() throws(Formula.Fault) -> [Formula.Step] {
    try sum(depth: 0)
    guard next == nil else { throw fault("an operator is missing") }
    return steps
  }

  private mutating func sum(depth: Int) throws(Formula.Fault) {
    try product(depth: depth)
    while let sign = next, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
      place += 1
      try product(depth: depth)
      steps.append(sign == UInt8(ascii: "+") ? .add : .subtract)
    }
  }

  private mutating func product(depth: Int) throws(Formula.Fault) {
    try factor(depth: depth)
    while let sign = next, sign == UInt8(ascii: "*") || sign == UInt8(ascii: "x") || sign == UInt8(ascii: "/")
    {
      place += 1
      try factor(depth: depth)
      steps.append(sign == UInt8(ascii: "/") ? .divide : .multiply)
    }
  }

  private mutating func factor(depth: Int) throws(Formula.Fault) {
    var isNegative = false
    while next == UInt8(ascii: "-") {
      isNegative.toggle()
      place += 1
    }
    guard let first = next else { throw fault("a number is missing") }
    if first == UInt8(ascii: "(") {
      try bracket(depth: depth)
    } else if first.isDigit || first == UInt8(ascii: ".") {
      steps.append(.number(try number()))
    } else if first.isLetter {
      try word(depth: depth)
    } else {
      throw fault("a number is missing")
    }
    if isNegative { steps.append(.negate) }
  }

  private mutating func bracket(depth: Int) throws(Formula.Fault) {
    guard depth < Formula.deepest else { throw fault("more than \(Formula.deepest) nested brackets") }
    place += 1
    try sum(depth: depth + 1)
    guard next == UInt8(ascii: ")") else { throw fault("a ) is missing") }
    place += 1
  }

  /// Reads a name, or a function with its brackets.
  private mutating func word(depth: Int) throws(Formula.Fault) {
    let begin = place
    let word = read { $0.isLetter }
    if let number = names.firstIndex(of: word) { return steps.append(.name(number)) }
    let functions: [(String, Formula.Step)] = [("round", .round), ("floor", .floor), ("ceil", .ceil)]
    guard let function = functions.first(where: { $0.0 == word }) else {
      place = begin
      throw fault(
        "there is no \(word.prefix(32)), but \(names.joined(separator: ", ")), round, floor and ceil")
    }
    guard next == UInt8(ascii: "(") else { throw fault("\(word) needs its bracket") }
    try bracket(depth: depth)
    steps.append(function.1)
  }

  /// Reads digits, which may contain a point.
  private mutating func number() throws(Formula.Fault) -> Double {
    let text = read { $0.isDigit || $0 == UInt8(ascii: ".") }
    guard let number = Double(text), number.isFinite else { throw fault("\(text.prefix(32)) is no number") }
    return number
  }

  /// Skips spaces and returns the character after them; nil: the formula ends.
  private var next: UInt8? {
    mutating get {
      while place < letters.count, letters[place] == UInt8(ascii: " ") { place += 1 }
      return place < letters.count ? letters[place] : nil
    }
  }

  private mutating func read(while isPart: (UInt8) -> Bool) -> String {
    let begin = place
    while place < letters.count, isPart(letters[place]) { place += 1 }
    return String(decoding: letters[begin..<place], as: UTF8.self)
  }

  private func fault(_ words: String) -> Formula.Fault {
    let before = String(decoding: letters[..<min(place, letters.count)].suffix(24), as: UTF8.self)
    return Formula.Fault(text: before.isEmpty ? words : "\(words) behind \"\(before)\"")
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
  fileprivate var isLetter: Bool { (0x61...0x7A).contains(self) }
}
