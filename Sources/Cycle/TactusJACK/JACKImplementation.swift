// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath

/// Which libjack is loaded, and all differences between implementations. No other code asks which libjack is
/// loaded.
///
/// jack2's clock is CLOCK_MONOTONIC_RAW, like Link's; PipeWire's is CLOCK_MONOTONIC, hundreds of milliseconds
/// away and drifting. jackd1 and jack2 before 1.9.13 use CLOCK_MONOTONIC too, `jackd -c hpet` a third clock,
/// so the clock map is always measured.
public enum JACKImplementation: Equatable, Sendable {
  case jack2(version: String)
  case pipeWire(version: String)

  /// The libjack of this process. [any]
  public static var loaded: JACKImplementation {
    guard let text = jack_get_version_string() else { return .jack2(version: "unknown") }
    return JACKImplementation(versionString: String(cString: text))
  }

  /// The version as libjack tells it: PipeWire says `3.0.0.0 (using PipeWire 0.3.65)`, jack2 `1.9.21`.
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

  /// Whether the server calls the timebase master with the present cycle's position, and shows the answer in
  /// the next cycle, a period late. jack2 calls the master with the next cycle's position (facts: jack 1).
  var showsTimebaseLate: Bool { isPipeWire }

  /// The argument for `jack_set_sync_timeout`. PipeWire takes the number as nanoseconds instead of
  /// microseconds, and would end a held start a thousand times too early (facts: jack 4).
  func syncTimeout(_ duration: Micros) -> UInt64 {
    UInt64(clamping: duration.count) &* (isPipeWire ? 1000 : 1)
  }

  /// JACK's timeout for a held start before any client has set it. JACK has no call to read the timeout
  /// (facts: jack 4).
  var usualSyncLimit: Micros { Micros(isPipeWire ? 5_000_000 : 10_000_000) }

  /// The longest time for which the server holds a start; nil: the server holds it as long as a client asks
  /// (facts: jack 4).
  var longestHold: Micros? { isPipeWire ? usualSyncLimit : nil }

  /// Whether a stopped transport rolls from the frame that it shows. PipeWire does so only after a locate
  /// (facts: jack 3).
  var rollsFromWhereItStands: Bool { !isPipeWire }

  /// Whether JACK adds a number to a client name that is taken. PipeWire gives both clients the same name,
  /// and then a connection by that name may reach either client.
  var keepsClientNamesApart: Bool { !isPipeWire }

  /// Whether this output belongs to a desktop program: PipeWire shows such streams to JACK clients as
  /// `NAME:output_FL` (facts: jack 9).
  func isDesktop(port: String) -> Bool {
    guard isPipeWire, let colon = port.firstIndex(of: ":") else { return false }
    let name = port[port.index(after: colon)...]
    let channel = name.dropFirst("output_".count)
    return name.hasPrefix("output_") && !channel.isEmpty
      && channel.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
  }

  /// Whether MIDI sent to this port leaves a period late although the port reports no latency: jack2's ALSA
  /// bridges do that (facts: jack 9). PipeWire's bridges schedule events for their own time.
  func isSilentlyLateMIDI(port: String) -> Bool {
    !isPipeWire && (port.hasPrefix("system:midi_") || port.hasPrefix("a2j:"))
  }
}
