// SPDX-License-Identifier: GPL-2.0-or-later

// Arithmetic: formulas that a musician writes, such as `60000 / bpm * 3/4`, parsed once and computed at each
// beat.
//
// Left out on purpose: conditions, loops, and memory. The module defines no names; the caller gives
// them.
//
// One invariant: for every text, reading accepts at most `longest` bytes and `deepest` nested brackets,
// computing is one pass over the steps, and the result is a finite number or nil.
//
// Start reading at `Formula(_:names:)`, then `value(_:)`. Pure: no I/O, no clock, no Foundation.

/// Arithmetic on named numbers: + - * / (also x for *), brackets, round, floor and ceil.
public struct Formula: Hashable, Sendable {
  /// Length limit in bytes.
  public static let longest = 128
  /// Limit of nested brackets.
  public static let deepest = 16

  /// The reason why a text is no formula.
  public struct Fault: Error, Hashable, Sendable {
    public let text: String
  }

  /// Steps in the order of a stack calculator (reverse Polish notation).
  enum Step: Hashable, Sendable {
    case number(Double)
    /// The index of a name in the caller's list of names.
    case name(Int)
    case add, subtract, multiply, divide, negate, round, floor, ceil
  }

  let steps: [Step]

  public init(_ text: some StringProtocol, names: [String]) throws(Fault) {
    var reader = try FormulaReader(text, names: names)
    steps = try reader.whole()
  }

  /// Computes the formula. `values` has one value for each name, in the order of the names. nil: the result
  /// is no number, as after a division by zero.
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
