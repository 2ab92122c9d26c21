// SPDX-License-Identifier: GPL-2.0-or-later

// Arithmetic: what a musician writes as `60000 / bpm * 3/4`, read once and computed at each beat.
//
// It lacks, on purpose: names of its own (anyone who reads a formula says which there are), conditions, loops, anything that remembers.
//
// One invariant: whatever the text, reading it takes `longest` bytes and `deepest` brackets at most, computing it one pass
// over its steps, and what comes out is a finite number or nil.
//
// Way in: `Formula(_:names:)`, then `value(_:)`. Pure: no I/O, no clock, no Foundation.

/// Arithmetic on named numbers: + - * / (also x for *), brackets, round, floor and ceil.
public struct Formula: Hashable, Sendable {
  /// Bytes.
  public static let longest = 128
  /// Brackets within brackets.
  public static let deepest = 16

  /// Why a text is none.
  public struct Fault: Error, Hashable, Sendable {
    public let text: String
  }

  /// In the order in which a calculator without brackets would have them.
  enum Step: Hashable, Sendable {
    case number(Double)
    /// Its place among the names.
    case name(Int)
    case add, subtract, multiply, divide, negate, round, floor, ceil
  }

  let steps: [Step]

  public init(_ text: some StringProtocol, names: [String]) throws(Fault) {
    var reader = try FormulaReader(text, names: names)
    steps = try reader.whole()
  }

  /// `values` are those of the names, in their order. nil: that is no number, as after a division by zero.
  public func value(_ values: [Double]) -> Double? {
    var stack: [Double] = []
    for step in steps {
      switch step {
      case .number(let number): stack.append(number)
      case .name(let place): stack.append(values.indices.contains(place) ? values[place] : .nan)
      case .negate: stack.append(-stack.removeLast())
      case .round: stack.append(stack.removeLast().rounded())
      case .floor: stack.append(stack.removeLast().rounded(.down))
      case .ceil: stack.append(stack.removeLast().rounded(.up))
      case .add, .subtract, .multiply, .divide:
        let right = stack.removeLast()
        let left = stack.removeLast()
        stack.append(step.joins(left, right))
      }
    }
    guard let result = stack.last, result.isFinite else { return nil }
    return result
  }
}

extension Formula.Step {
  fileprivate func joins(_ left: Double, _ right: Double) -> Double {
    switch self {
    case .add: left + right
    case .subtract: left - right
    case .multiply: left * right
    case .divide: left / right
    case .number, .name, .negate, .round, .floor, .ceil: .nan
    }
  }
}
