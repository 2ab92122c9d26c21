// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import TactusChoices

// Text forms of values that only the user's own outputs have.

/// A clock's rate, written as a factor of 24 clocks a beat: 1/2 means 12 clocks a beat.
struct ClockRate: Choosable {
  let perBeat: Int32

  static let allowed = "1/4 to 4 times 24 clocks a beat, as in 2, 1/2 and 3/4"
  static var parameters: [Parameter] { [.text(limit: 8)] }

  init(perBeat: Int32) { self.perBeat = perBeat }

  var values: [Value]? {
    let parts: Int32 = (Int32(1)...24).first(where: { perBeat * $0 % 24 == 0 }) ?? 24
    return [.text(parts == 1 ? "\(perBeat / 24)" : "\(perBeat * parts / 24)/\(parts)")]
  }

  init(_ values: [Value]) throws(Refusal) {
    let parts = values[0].text.split(separator: "/", omittingEmptySubsequences: false).map {
      Int32(plain: String($0)) ?? 0
    }
    guard (1...2).contains(parts.count), parts.allSatisfy({ (1...96).contains($0) }) else {
      throw .range(Self.allowed)
    }
    let parted = parts.count == 2 ? parts[1] : 1
    guard parts[0] * 24 % parted == 0, (6...96).contains(parts[0] * 24 / parted) else {
      throw .range(Self.allowed)
    }
    perBeat = parts[0] * 24 / parted
  }
}

extension ClockSettings {
  var rate: ClockRate {
    get { ClockRate(perBeat: perBeat) }
    set { perBeat = newValue.perBeat }
  }
}

/// Presets of a pulse for kinds of devices.
enum PulseBox: UInt8, Word {
  case own, korg, step, din, din48

  /// The settings of the preset; nil: `own` is no preset.
  fileprivate var gate: GateSettings? {
    var gate = GateSettings()
    switch self {
    case .own: return nil
    case .korg: (gate.rate, gate.width) = (Rate(2), Micros(15_000))
    case .step: (gate.rate, gate.width) = (Rate(4), Micros(5_000))
    case .din: (gate.rate, gate.width) = (Rate(24), Micros(1_000_000))
    case .din48: (gate.rate, gate.width) = (Rate(48), Micros(1_000_000))
    }
    return gate
  }
}

extension GateSettings {
  /// The preset whose settings equal these, apart from `isFine`.
  var box: PulseBox {
    get {
      PulseBox.allCases.first { box in
        var gate = box.gate
        gate?.isFine = isFine
        return gate == self
      } ?? .own
    }
    set {
      guard var gate = newValue.gate else { return }
      gate.isFine = isFine
      self = gate
    }
  }
}

extension Rate: Choosable {
  static let often =
    "up to 96 a beat as in 4 or 3/2, or a number in 1 to 64 beats or bars as in 1/bar and 3/8bars"
  static let allowed = often + "; a reset's may be start"

  public static var parameters: [Parameter] { [.text(limit: 16)] }
  public var values: [Value]? { [.text(word)] }

  private var word: String {
    if count == 0 { return "start" }
    if isInBars { return span == 1 ? "\(count)/bar" : "\(count)/\(span)bars" }
    return span == 1 ? "\(count)" : "\(count)/\(span)"
  }

  public init(_ values: [Value]) throws(Refusal) {
    let text = values[0].text
    if text == "start" {
      self.init(0)
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let count = Int32(plain: parts[0]),
      (1...Rate.mostCount).contains(count)
    else { throw .range(Rate.allowed) }
    guard parts.count == 2 else {
      self.init(count)
      return
    }
    let unit = ["bars", "bar"].first { parts[1].hasSuffix($0) }
    let digits = String(parts[1].dropLast(unit.map(\.count) ?? 0))
    let written: Int32? = unit != nil && digits.isEmpty ? 1 : Int32(plain: digits)
    guard let span = written, (1...Rate.longestSpan).contains(span) else { throw .range(Rate.allowed) }
    self.init(count, in: span, isInBars: unit != nil)
  }
}

extension Swing: Choosable {
  static let allowed = "50 to 75 (percent), as in 58 or 66.7, and the note that swings: 58/8 or 58/16"

  public static var parameters: [Parameter] { [.text(limit: 8)] }
  public var values: [Value]? { [.text(word)] }

  public var word: String {
    let percent = share % 10 == 0 ? "\(share / 10)" : "\(share / 10).\(share % 10)"
    return isStraight ? percent : "\(percent)/\(4 * perBeat)"
  }

  public init(_ values: [Value]) throws(Refusal) {
    let parts = values[0].text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let notes = ["8": Int16(2), "16": 4]
    let digits = parts[0].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let perBeat = parts.count == 2 ? notes[parts[1]] : 2,
      (1...2).contains(digits.count), digits[0].utf8.count == 2, let percent = Int32(plain: digits[0]),
      digits.count == 1 || digits[1].utf8.count == 1,
      let tenths = Int32(plain: digits.count == 2 ? digits[1] : "0")
    else { throw .range(Swing.allowed) }
    let share = Int16(10 * percent + tenths)
    guard (Swing.straight...Swing.most).contains(share) else { throw .range(Swing.allowed) }
    self.init(share: share, perBeat: perBeat)
  }
}

extension Int32 {
  /// Reads a number that consists of digits only.
  fileprivate init?(plain text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int32(text) else {
      return nil
    }
    self = value
  }
}

extension TimecodeRate: Word {
  public var word: String {
    switch self {
    case .fps24: "24"
    case .fps25: "25"
    case .drop2997: "29.97df"
    case .fps2997: "29.97"
    case .fps30: "30"
    }
  }
}

extension Timecode: Choosable {
  public static var parameters: [Parameter] { [.text(limit: 11)] }
  public var values: [Value]? { [.text(word)] }

  var word: String {
    [hours, minutes, seconds, frames].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }

  /// Accepts also the semicolon that some programs write before the frames of drop-frame timecode.
  public init(_ values: [Value]) throws(Refusal) {
    let parts = values[0].text.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == ";" }
    let numbers = parts.map { Int32(plain: String($0)) ?? 99 }
    guard numbers.count == 4, parts.allSatisfy({ $0.utf8.count == 2 }), numbers[0] < 24, numbers[1] < 60,
      numbers[2] < 60, numbers[3] < 30
    else { throw .range("a timecode is hours, minutes, seconds and frames as in 01:00:00:00") }
    self.init(
      hours: UInt8(clamping: numbers[0]), minutes: UInt8(clamping: numbers[1]),
      seconds: UInt8(clamping: numbers[2]), frames: UInt8(clamping: numbers[3]))
  }
}
