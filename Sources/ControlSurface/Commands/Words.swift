// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// A choice among words: the same in an address, an option and a file.
public protocol Word: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == UInt8 {
  var word: String { get }
}

extension Word {
  public var word: String { "\(self)" }

  public static var allCases: [Self] {
    (0..<UInt8.max).lazy.map(Self.init(rawValue:)).prefix { $0 != nil }.compactMap { $0 }
  }

  static var first: Self { allCases[0] }
}

extension Lead: Word {}
extension LaunchMoment: Word {}
extension Alignment: Word {}
extension Correction: Word {}
extension RunsWhen: Word {}
extension ClickSound: Word {}
extension PulseRate: Word {
  public var word: String { perBeat.map { "\($0)" } ?? "bar" }
}

extension Pattern {
  public var letters: String {
    (0..<count).map { place in
      switch self[Int64(place)] {
      case .accent: "X"
      case .beat, .subdivision: "x"
      case .silent: "."
      }
    }.joined()
  }
}

extension Micros {
  public var milliseconds: Double { Double(count) / 1000 }
  public static func milliseconds(_ milliseconds: Double) -> Micros { Micros(rounding: milliseconds * 1000) }
}
