// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// A choice among words: the same in an address, an option and a file.
public protocol Word: RawRepresentable, Hashable, Sendable where RawValue == UInt8 {
  var word: String { get }
}

extension Word {
  public var word: String { "\(self)" }

  public static var all: [Self] {
    (0..<UInt8.max).lazy.map(Self.init(rawValue:)).prefix { $0 != nil }.compactMap { $0 }
  }

  public init?(_ word: String) {
    guard let known = Self.all.first(where: { $0.word == word }) else { return nil }
    self = known
  }
}

extension Lead: Word {}
extension LaunchMoment: Word {}
extension Alignment: Word {}
extension Correction: Word {}
extension ClickWhen: Word {}
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

extension Settings {
  /// Of the choices that a command makes; nothing else.
  public mutating func choose(_ command: Command) {
    switch command {
    case .quantum(let quantum): self.quantum = quantum
    case .meter(let meter): self.meter = meter
    case .launch(let moment): launch.moment = moment
    case .alignment(let alignment): launch.alignment = alignment
    case .stopWhen(let moment): stop = moment
    case .correction(let correction): self.correction = correction
    case .correctAbove(let milliseconds): correctAbove = .milliseconds(milliseconds)
    case .linkEnabled(let on): isLinkEnabled = on
    case .startStopSync(let on): syncsStartStop = on
    case .lead(let lead): self.lead = lead
    case .record(let on): records = on
    case .click(.enabled(let on)): click.isOn = on
    case .click(.when(let when)): click.when = when
    case .click(.gain(let gain)): click.gain = gain
    case .click(.pattern(let pattern)): click.pattern = pattern
    case .click(.subdivision(let count)): click.subdivision = Int32(clamping: count)
    case .click(.countsIn(let on)): click.countsIn = on
    case .clock(.enabled(let on)): clock.isOn = on
    case .clock(.whileStopped(let on)): clock.runsWhileStopped = on
    case .clock(.settle(let milliseconds)): clock.settle = .milliseconds(milliseconds)
    case .pulse(.enabled(let on)): pulse.isOn = on
    case .pulse(.rate(let rate)): pulse.rate = rate
    case .click(.sound), .click(.offset), .offset, .start, .stop, .toggle, .rewind, .locate, .rolling, .tempo,
      .align,
      .timebase, .takeover, .quit:
      break
    }
  }
}

extension Micros {
  public var milliseconds: Double { Double(count) / 1000 }
  public static func milliseconds(_ milliseconds: Double) -> Micros { Micros(rounding: milliseconds * 1000) }
}
