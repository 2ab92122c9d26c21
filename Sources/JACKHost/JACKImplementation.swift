// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK

/// Which libjack is loaded, and all that differs between them. Nothing else in the product asks.
///
/// The facts: jack2's clock is CLOCK_MONOTONIC_RAW, as Link's; PipeWire's is CLOCK_MONOTONIC, hundreds of
/// milliseconds away and drifting. jackd1 and jack2 before 1.9.13 have CLOCK_MONOTONIC too, `jackd -c hpet`
/// a third one, so the clock map is always measured and only its first guess comes from here.
public enum JACKImplementation: Equatable, Sendable {
  case jack2(version: String)
  case pipeWire(version: String)

  /// What this process is linked with. [any]
  public static var loaded: JACKImplementation {
    guard let text = jack_get_version_string() else { return .jack2(version: "unknown") }
    return JACKImplementation(versionString: String(cString: text))
  }

  /// PipeWire says `3.0.0.0 (using PipeWire 0.3.65)`, jack2 `1.9.21`.
  init(versionString: String) {
    let words = versionString.split(separator: " ")
    if let place = words.firstIndex(where: { $0.hasSuffix("PipeWire") }) {
      let version = place + 1 < words.count ? words[place + 1].filter { $0 != ")" } : "unknown"
      self = .pipeWire(version: version)
    } else {
      self = .jack2(version: versionString)
    }
  }
}

extension JACKImplementation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .jack2(let version): "jack2 \(version)"
    case .pipeWire(let version): "PipeWire \(version)"
    }
  }
}

extension JACKImplementation {
  private var isPipeWire: Bool { if case .pipeWire = self { true } else { false } }

  /// Whether the timebase master is called with this cycle's position, and its answer shown in the next, a period
  /// late for everyone who does not know. jack2 calls for the next cycle (facts: jack 1).
  var showsTimebaseLate: Bool { isPipeWire }

  /// What `jack_set_sync_timeout` has to be told. PipeWire puts the number where nanoseconds are expected, and would
  /// let a held start go a thousand times too early (facts: jack 4).
  func syncTimeout(_ duration: Micros) -> UInt64 {
    UInt64(clamping: duration.count) &* (isPipeWire ? 1000 : 1)
  }

  /// What holds before anybody has said otherwise; it cannot be asked (facts: jack 4).
  var usualSyncLimit: Micros { Micros(isPipeWire ? 5_000_000 : 10_000_000) }

  /// How long the server holds a start at most, whatever a client asks; nil: as long as a client asks (facts: jack 4).
  var longestHold: Micros? { isPipeWire ? usualSyncLimit : nil }

  /// Whether a stopped transport rolls from the frame that it shows. PipeWire does so behind a locate only (facts: jack 3).
  var rollsFromWhereItStands: Bool { !isPipeWire }

  /// Whether a name that is taken comes back with a number. PipeWire gives it to both, and a connection by
  /// name then goes to either.
  var keepsClientNamesApart: Bool { !isPipeWire }

  /// Whether a program of the desktop has this output: PipeWire shows its streams to JACK clients as `NAME:output_FL` (facts: jack 9).
  func isDesktop(port: String) -> Bool {
    guard isPipeWire, let colon = port.firstIndex(of: ":") else { return false }
    let name = port[port.index(after: colon)...]
    let channel = name.dropFirst("output_".count)
    return name.hasPrefix("output_") && !channel.isEmpty
      && channel.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
  }

  /// Whether what is sent to this MIDI port really leaves a period later although the port reports no latency:
  /// jack2's ALSA bridges do that (facts: jack 9). PipeWire's schedule events for their own time.
  func isSilentlyLateMIDI(port: String) -> Bool {
    !isPipeWire && (port.hasPrefix("system:midi_") || port.hasPrefix("a2j:"))
  }
}
