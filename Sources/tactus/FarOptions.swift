// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import FarLink
import Link
import Sodium

/// Which other rooms the session is to be in, as the command line says it.
struct FarChoice: Equatable, Sendable {
  var calls: [String] = []
  var accept = PortChoice.off
  /// A file, or `none`; nil: the usual file.
  var key: String?
  var offset = 0.0
  var distance = FarDistance.beats(0)

  var isWanted: Bool { !calls.isEmpty || accept != .off }
}

extension Configuration {
  static let farOptions: [Option<Configuration>] = [
    Option(
      "link-to", in: .far, .value("HOST", .farHost, \.far.calls), reach: .start,
      help:
        "Be in one session with the tactus at HOST or HOST:PORT, which accepts calls, wherever it is. Can be repeated."
    ),
    Option(
      "link-accept", in: .far, .value("PORT", .port, \.far.accept, bare: "on"), reach: .start,
      help:
        "Let other rooms call, at this UDP port (default: off; without a port \(FarSettings.usualPort)). One of two rooms "
        + "must be reachable so."),
    Option(
      "link-key", in: .far, .value("FILE", .file, \.far.key), reach: .start,
      help:
        "The key that all rooms have in common (default: what tactus far-key has made). none: no key, for a VPN; then only "
        + "private addresses are heard."),
    Option(
      "link-offset", in: .far, .value("MS", .number(-250...250), \.far.offset), reach: .start,
      help:
        "The other rooms are so much earlier than measured: half of what the way there is known to take longer than the way back."
    ),
    Option(
      "link-distance", in: .far, .value("Nbeats|Nbars", .farDistance, \.far.distance), reach: .start,
      help:
        "The grids of the other rooms are so much later (default: 0): sound from here that takes that long is in time there. On one side only."
    ),
  ]

  /// nil: no other rooms are wanted. Stretching the key takes a tenth of a second.
  func farSettings() throws(Complaint) -> FarSettings? {
    guard far.isWanted else { return nil }
    let key = try far.key == "none" ? FarKey.ofNobody : FarKeyFile.key(at: far.key)
    let port = far.accept == .off ? nil : far.accept.port ?? FarSettings.usualPort
    var settings = FarSettings(
      calls: far.calls.compactMap { FarHost($0) }, port: port, key: key, cipher: Sodium.self)
    settings.isKeyPublic = far.key == "none"
    settings.correction = Micros(rounding: far.offset * 1000)
    settings.distance = far.distance.beats(inBarsOf: choices.quantum)
    return settings
  }
}

/// Whole beats or bars, so that what is heard later is heard on a beat, or on a bar.
enum FarDistance: Equatable, Sendable {
  case beats(Int)
  case bars(Int)

  static let most = 64

  /// `4beats`, `1bar`; nil: it is neither, or more than `most`.
  init?(_ text: some StringProtocol) {
    let digits = text.prefix { "0"..."9" ~= $0 }
    guard let count = Int(digits), (0...Self.most).contains(count) else { return nil }
    switch text.dropFirst(digits.count).lowercased() {
    case "beat", "beats": self = .beats(count)
    case "bar", "bars": self = .bars(count)
    case "" where count == 0: self = .beats(0)
    default: return nil
    }
  }

  func beats(inBarsOf bar: Double) -> Beats {
    switch self {
    case .beats(let count): Beats(Double(count))
    case .bars(let count): Beats(Double(count) * bar)
    }
  }
}

extension FarDistance: Typed {
  var texts: [String] {
    switch self {
    case .beats(0), .bars(0): ["0"]
    case .beats(let count): ["\(count)beats"]
    case .bars(let count): ["\(count)bars"]
    }
  }

  mutating func take(_ text: String) { self = FarDistance(text) ?? self }
}

extension Allowed {
  static let farHost = Allowed("a host such as studio.example.org or 203.0.113.7:\(FarSettings.usualPort)") {
    FarHost($0) != nil
  }
  static let farDistance = Allowed("0, or as 4beats or 2bars, up to \(FarDistance.most)") {
    FarDistance($0) != nil
  }
}
