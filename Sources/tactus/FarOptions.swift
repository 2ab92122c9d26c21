// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
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

  var isWanted: Bool { !calls.isEmpty || accept != .off }
}

extension Configuration {
  static let farOptions: [Option<Configuration>] = [
    Option(
      "link-to", in: .far, .value("HOST", .farHost, \.far.calls), reach: .start,
      help:
        "Be in one session with the tactus at HOST or HOST:PORT, which accepts calls, wherever it is. \"HOST offset=3\" is one that is "
        + "3 ms earlier than measured, as --link-offset says it of all; far/offset changes that. Can be repeated."
    ),
    Option(
      "link-accept", in: .far, .value("PORT", .port, \.far.accept, bare: "on"), reach: .start,
      help:
        "Let other rooms call, at this UDP port (default: off; without a port \(FarSettings.usualPort)). One of two rooms "
        + "must be reachable so."),
    Option(
      "link-key", in: .far, .value("FILE", .keyFile, \.far.key), reach: .start,
      help:
        "The key that all rooms have in common (default: what tactus far-key has made). none: no key, for a VPN; then only "
        + "private addresses are heard."),
  ]

  /// nil: no other rooms are wanted. Stretching the key takes a tenth of a second.
  func farSettings() throws(Complaint) -> FarSettings? {
    guard far.isWanted else { return nil }
    let key = try far.key == "none" ? FarKey.ofNobody : FarKeyFile.key(at: far.key)
    let port = far.accept == .off ? nil : far.accept.port ?? FarSettings.usualPort
    var settings = FarSettings(
      calls: far.calls.compactMap { FarCall($0, offsets: FarChoices.offsets) }, port: port, key: key,
      cipher: Sodium.self)
    settings.isKeyPublic = far.key == "none"
    settings.correction = choices.far.offset
    settings.distance = choices.far.distance.beats(in: choices.meter)
    return settings
  }
}

extension SurfaceState {
  /// Of a room that is called, as it is written or shown.
  mutating func setOffset(_ offset: Micros, of room: String) throws(Refusal) {
    let place = calls.firstIndex { line in
      guard let host = FarHost(room) else { return false }
      return FarCall(line, offsets: FarChoices.offsets)?.host == host
    }
    guard let place else { throw Refusal(.notNow, "no room of this name is called (--link-to)") }
    let name = calls[place].prefix { $0 != " " }
    calls[place] = offset == .zero ? "\(name)" : "\(name) offset=\(shortest(offset.milliseconds))"
  }
}

extension Allowed {
  static let farHost = Allowed(
    "a host such as studio.example.org, 203.0.113.7:\(FarSettings.usualPort) or \"203.0.113.7 offset=3\" (milliseconds, up to \(Int(FarChoices.offsets.upperBound)))"
  ) { FarCall($0, offsets: FarChoices.offsets) != nil }
}
