// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import OSC

extension Argument {
  /// For error messages: what was sent, in the sender's eyes.
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

/// A number with at most `decimals` places, without a locale: musicians abroad see the same as at home.
package func fixed(_ value: Double, _ decimals: Int) -> String {
  guard value.isFinite, value.magnitude < 1e12 else { return "-" }
  var scale: Int64 = 1
  for _ in 0..<decimals { scale *= 10 }
  let scaled = Int64((value.magnitude * Double(scale)).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard decimals > 0 else { return "\(sign)\(scaled)" }
  return "\(sign)\(scaled / scale).\(padded(scaled % scale, decimals))"
}

/// A whole number with leading zeros.
func padded(_ value: Int64, _ width: Int) -> String {
  let digits = "\(value.magnitude)"
  let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
  return (value < 0 ? "-" : "") + zeros + digits
}

extension Tempo {
  /// The shortest decimal that acts the same: what comes from a peer is 60e6/540541 for somebody's 111.
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
